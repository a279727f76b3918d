import { readdir, readFile } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";

/*
 * The sets of questions: the trades of bench/trades (their README has the format), and files of measuring data, which contain
 * either passages with tasks or curated answers with queries. All become sets of the same form.
 */

/** `miss`: the texts do not answer it. `follow`: it needs the message before it. `talk`: small talk. `human`: a request for a human. */
export type Kind = "answer" | "follow" | "miss" | "talk" | "human";

export interface Question {
  /** The same in each run, and unique in the set. */
  id: string;
  kind: Kind;
  /** The visitor's messages; the last one is the question. */
  messages: string[];
  /** Whether a text answers the question, by the text and the ids of the set's texts that it is from. */
  isRight: (given: { text: string; sources: readonly string[] }) => boolean;
  /** The ids of all texts that answer it, where they are known. */
  relevant?: ReadonlySet<string>;
}

interface SetText {
  id: string;
  name: string;
  text: string;
}

export interface QuestionSet {
  name: string;
  /** Sets whose figures are also given together. */
  group: string;
  language: string;
  texts: SetText[];
  /** Curated answers. */
  pairs: { question: string; answer: string }[];
  questions: Question[];
}

const TRADES = new URL("../trades/", import.meta.url);
const REPLIES = new URL("../../src/text/languages/", import.meta.url);

/** The trades of a folder in some languages, or in all, by name. */
export async function readTrades(languages?: readonly string[], folder = TRADES): Promise<QuestionSet[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith(".questions")).sort();
  const trades = await Promise.all(files.map((file) => readTrade(file.slice(0, -".questions".length), folder)));
  return trades.filter(({ language }) => languages?.includes(language) ?? true);
}

async function readTrade(file: string, from: URL): Promise<QuestionSet> {
  const [name, language = "en"] = file.split(".");
  const read = (path: string, folder: URL): Promise<string> => readFile(new URL(path, folder), "utf8");
  const [texts, lines, service] = await Promise.all([
    read(`${file}.md`, from),
    read(`${file}.questions`, from),
    read(`${language}.json`, REPLIES),
  ]);
  const { replies } = JSON.parse(service) as { replies: Record<string, string> };
  return {
    name: name!,
    group: basename(fileURLToPath(from)),
    language,
    texts: texts
      .split(/^# /m)
      .slice(1)
      .map((section) => {
        const { name, text } = titled(section);
        return { id: name, name, text };
      }),
    pairs: [],
    questions: lines
      .trim()
      .split("\n")
      .map((line) => toQuestion(line, replies)),
  };
}

/** Splits a text into its first line, which is its name, and the rest. */
function titled(text: string): { name: string; text: string } {
  const end = text.indexOf("\n");
  return { name: text.slice(0, end).trim(), text: text.slice(end).trim() };
}

function toQuestion(line: string, replies: Readonly<Record<string, string>>): Question {
  const [kind, message, holds = "", previous = ""] = line.split("|").map((part) => part.trim()) as [Kind, string, string?, string?];
  // Of a reply to small talk, what stands before the agent's own words is always the same.
  const isRight = (text: string): boolean =>
    kind === "talk" ? text.startsWith(replies[holds]!.split("{")[0]!) : holds !== "" && holdsAll(holds, text);
  return {
    id: `${kind} | ${message} | ${previous}`,
    kind,
    messages: previous === "" ? [message] : [previous, message],
    isRight: ({ text }) => isRight(text),
  };
}

/** Whether a text holds one alternative of each part. */
function holdsAll(holds: string, text: string): boolean {
  const given = plain(text);
  return holds.split(" & ").every((alternatives) => alternatives.split(" / ").some((part) => given.includes(plain(part.trim()))));
}

function plain(text: string): string {
  return text.toLowerCase().replaceAll("*", "").replaceAll(/\s+/g, " ");
}

/**
 * Makes two sets of a trade: each lacks the sentences and rows that answer one half of its questions. The same messages are answerable in one
 * set and unanswerable in the other, so that nothing but the texts tells which. All other questions are left out.
 */
export function withoutAnswers(trade: QuestionSet): QuestionSet[] {
  const asked = trade.questions.filter(({ kind }) => kind === "answer");
  const halves = [0, 1].map((half) => {
    const removed = asked.filter((_, at) => at % 2 === half);
    const unanswerable = new Set<Question>();
    const isKept = (text: string): boolean => {
      const answered = removed.filter(({ isRight }) => isRight({ text, sources: [] }));
      for (const question of answered) unanswerable.add(question);
      return answered.length === 0;
    };
    const linesOf = (text: string): string[] =>
      text.split("\n").map((line) => (line.startsWith("|") ? [line] : sentencesOf(line)).filter(isKept).join(""));
    const texts = trade.texts.map((each) => ({ ...each, text: linesOf(each.text).join("\n") }));
    const rest = texts.map(({ text }) => text).join("\n");
    const questions = asked.flatMap((question): Question[] => {
      if (unanswerable.has(question)) return [{ ...question, kind: "miss" }];
      return !removed.includes(question) && question.isRight({ text: rest, sources: [] }) ? [question] : [];
    });
    return { ...trade, name: `${trade.name}, half ${half + 1}`, texts, questions };
  });
  const isInBoth = ({ id }: Question): boolean => {
    const kinds = new Set(halves.map(({ questions }) => questions.find((each) => each.id === id)?.kind));
    return kinds.has("answer") && kinds.has("miss");
  };
  return halves.map((half) => ({ ...half, questions: half.questions.filter(isInBoth) }));
}

function sentencesOf(line: string): string[] {
  return [...new Intl.Segmenter("en", { granularity: "sentence" }).segment(line)].map(({ segment }) => segment);
}

interface Collection {
  name: string;
  /** English by default. */
  language?: string;
  passages: { id: string; text: string }[];
  tasks: {
    id: string;
    turns: { role: "user" | "assistant"; text: string }[];
    answerability: "answerable" | "partial" | "underspecified" | "unanswerable";
    /** Ids of the passages that answer it. */
    relevant: string[];
  }[];
}

interface Curated {
  name: string;
  answers: { intent: string; questions: string[] }[];
  /** `intent` is null if no answer fits. */
  queries: { text: string; intent: string | null }[];
}

export async function readData(file: string): Promise<QuestionSet> {
  const data = JSON.parse(await readFile(file, "utf8")) as Partial<Collection & Curated>;
  if (Array.isArray(data.passages) && Array.isArray(data.tasks)) return ofCollection(data as Collection);
  if (Array.isArray(data.answers) && Array.isArray(data.queries)) return ofCurated(data as Curated);
  throw new Error(`${file} holds neither passages and tasks nor answers and queries.`);
}

/** The most characters of a title. A longer first line belongs to the text. */
const MAX_TITLE_LENGTH = 120;

/** A task that first needs a question back is neither answerable nor not, and is left out. */
function ofCollection({ name, language = "en", passages, tasks }: Collection): QuestionSet {
  const questions = tasks
    .filter(({ answerability }) => answerability !== "underspecified")
    .map(({ id, turns, answerability, relevant }): Question => ({
      id,
      kind: answerability === "unanswerable" ? "miss" : "answer",
      messages: turns.filter(({ role }) => role === "user").map(({ text }) => text.trim() || "?"),
      isRight: ({ sources }) => sources.some((source) => relevant.includes(source)),
      relevant: new Set(relevant),
    }));
  const areTitled = passages.every(({ text }) => text.includes("\n") && text.indexOf("\n") <= MAX_TITLE_LENGTH);
  const texts = passages.map(({ id, text }) => ({ id, ...(areTitled ? titled(text) : { name, text }) }));
  return { name, group: name, language, texts, pairs: [], questions };
}

function ofCurated({ name, answers, queries }: Curated): QuestionSet {
  const questions = queries.map(({ text, intent }): Question => ({
    id: text,
    kind: intent === null ? "miss" : "answer",
    messages: [text],
    isRight: (given) => given.text === intent,
  }));
  const pairs = answers.flatMap(({ intent, questions }) => questions.map((question) => ({ question, answer: intent })));
  return { name, group: name, language: "en", texts: [], pairs, questions };
}
