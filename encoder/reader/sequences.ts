import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { send } from "../../bench/load.ts";
import { forEach } from "../../bench/measure.ts";
import { buildBare, useTemporaryFolder, withWorker } from "../../bench/service.ts";
import { runMain, UserError } from "../../scripts/shared/cli.ts";

/*
 * `node encoder/reader/sequences.ts FILE [COLLECTION ...]`: writes what the reader reads of each message, for train.py: a line of JSON for
 * each. The messages are those of the help centres in `centres` and of public collections: a `.jsonl` file is in the format of CLAPNQ, any
 * other file in that of SQuAD 2.0. The service finds and arranges the sentences, so that the reader is trained with what it reads later.
 */

const CENTRES = join(import.meta.dirname, "centres");
/** Each epoch of the training reads other excerpts, or another question of a collection. */
const VARIANTS = 4;
/** In as many messages there is one that follows an unrelated message. The number is odd, so that half of these are answered. */
const UNRELATED_EVERY = 11;

/** A sentence, list item or table row of a help centre, in lower-case words. */
interface Unit {
  heading: string;
  /** The cells of a row; one text otherwise. */
  parts: string[];
  /** The words in it that answer, if not all of it does. */
  span?: string;
}

interface Centre {
  name: string;
  texts: Text[];
  /** The texts with the sentences that would answer the messages which `texts` do not answer. */
  fullTexts?: Text[];
  /** Each entry is a line of the output. Its messages take turns in the epochs. */
  messages: Message[][];
}

interface Text {
  id: string;
  title: string;
  text: string;
}

interface Message {
  text: string;
  /** The units that answer it; empty for a message that the texts do not answer. */
  answers: Unit[];
  /** The unit of the full texts that answers a message which the texts do not answer. */
  fullAnswer?: Unit;
  previous: string | undefined;
}

interface Arranged {
  tokens: number[];
  excerpts: { title: string; text: string; rows: number[]; score: number }[];
}

const TAG = /\[([a-z]{1,3})\]\s*/;

async function readCentre(name: string): Promise<Centre> {
  const [markdown, lines] = await Promise.all([".md", ".tsv"].map((end) => readFile(join(CENTRES, name + end), "utf8")));
  const units = new Map<string, Unit>();
  const sections = markdown!
    .split(/^#+ /m)
    .slice(1)
    .map((section) => {
      const [title = "", ...body] = section.trim().split("\n");
      return { title: title.trim(), body };
    });
  for (const { title, body } of sections) for (const line of body) addUnits(units, title, line);
  const texts = sections.map(({ title, body }) => ({
    id: title,
    title,
    text: body.join("\n").replaceAll(new RegExp(TAG, "g"), "").trim(),
  }));
  const rows = lines!
    .trim()
    .split("\n")
    .map((line) => line.split("\t").map((part) => part.trim()));
  const unknown = rows.find(([, , , , section]) => section !== undefined && !sections.some(({ title }) => title === section));
  if (unknown) throw new UserError(`${name}: «${unknown[1]}» names «${unknown[4]}», which is no section.`);
  const added = (title: string): string[] => rows.flatMap(([, , , , section, sentence = ""]) => (section === title ? [sentence] : []));
  return {
    name,
    texts,
    fullTexts: texts.map((each) => ({ ...each, text: [each.text, ...added(each.title)].join("\n\n") })),
    messages: rows.map((row) => [toMessage(name, row, units)]),
  };
}

function addUnits(units: Map<string, Unit>, heading: string, line: string): void {
  const [, ...parts] = line.split(TAG);
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const text = parts[at + 1]!;
    units.set(parts[at]!, { heading, parts: line.trimStart().startsWith("|") ? text.split("|").map(words) : [words(text)] });
  }
}

function toMessage(name: string, row: readonly string[], units: ReadonlyMap<string, Unit>): Message {
  const [, text = "", tags = "", previous = "", section = "", sentence = ""] = row;
  const answers = (tags === "-" ? [] : tags.split(" ")).map((tag) => {
    const unit = units.get(tag);
    if (!unit) throw new UserError(`${name}: «${text}» names [${tag}], which no sentence has.`);
    return unit;
  });
  return {
    text,
    answers,
    previous: previous === "" ? undefined : previous,
    ...(sentence !== "" && { fullAnswer: { heading: section, parts: [words(sentence)] } }),
  };
}

/** The parts that are read of a file in the format of SQuAD 2.0. */
interface Squad {
  data: { title: string; paragraphs: { context: string; qas: SquadQuestion[] }[] }[];
}

interface SquadQuestion {
  question: string;
  is_impossible?: boolean;
  answers: { text: string; answer_start: number }[];
}

/** Returns the articles of a file, and their questions. A line of the output has four questions, so that each epoch reads another one. */
async function readSquad(file: string): Promise<Centre[]> {
  const { data } = JSON.parse(await readFile(file, "utf8")) as Squad;
  return data.map(({ title, paragraphs }) => {
    const messages = paragraphs.flatMap(({ context, qas }) =>
      qas.map((asked) => ({ text: asked.question.trim(), answers: squadAnswers(title, context, asked), previous: undefined })),
    );
    const groups = Math.floor(messages.length / VARIANTS);
    return {
      name: title,
      texts: paragraphs.map(({ context }, at) => ({ id: `${title} ${at}`, title, text: context })),
      messages: Array.from({ length: groups }, (_, at) => messages.filter((_each, index) => index % groups === at).slice(0, VARIANTS)),
    };
  });
}

function squadAnswers(heading: string, context: string, { is_impossible: isImpossible = false, answers }: SquadQuestion): Unit[] {
  if (isImpossible) return [];
  const sentences = new Intl.Segmenter("en", { granularity: "sentence" }).segment(context);
  return answers.map(({ text, answer_start: start }) => ({
    heading,
    parts: [words(sentences.containing(start)!.segment)],
    span: words(text),
  }));
}

/** The parts that are read of a line in the format of CLAPNQ. */
interface ClapnqQuestion {
  input: string;
  passages: { title: string; text: string }[];
  output: { selected_sentences: string[] }[];
}

/** Returns the questions of a file over all of its passages. */
async function readClapnq(file: string): Promise<Centre> {
  const lines = (await readFile(file, "utf8")).trim().split("\n");
  const questions = lines.map((line) => JSON.parse(line) as ClapnqQuestion);
  return {
    name: basename(file),
    texts: questions.flatMap(({ passages }, at) => passages.map(({ title, text }) => ({ id: `${title} ${at}`, title, text }))),
    messages: questions.map(({ input, passages, output }) => {
      const sentences = output.flatMap((answer) => answer.selected_sentences);
      return [
        { text: input, answers: sentences.map((each) => ({ heading: passages[0]!.title, parts: [words(each)] })), previous: undefined },
      ];
    }),
  };
}

function readCollection(file: string): Promise<Centre[]> {
  return file.endsWith(".jsonl") ? readClapnq(file).then((centre) => [centre]) : readSquad(file);
}

function words(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}€$£%]+/gu, " ")
    .trim();
}

/** A shorter text may be a part of another one by chance. */
const MIN_PART_LENGTH = 12;

/** Whether an excerpt is a unit; the service may split a text into other sentences, and writes the names of the columns into a row. */
function isUnit({ heading, parts, span = "" }: Unit, { title, text }: { title: string; text: string }): boolean {
  const excerpt = words(text);
  const [first = "", ...cells] = parts;
  if (heading !== title || !excerpt.includes(span)) return false;
  if (cells.length > 0) return excerpt.startsWith(first) && cells.every((cell) => excerpt.includes(cell));
  const holds = (whole: string, part: string): boolean => part.length > MIN_PART_LENGTH && whole.includes(part);
  return excerpt === first || holds(excerpt, first) || holds(first, excerpt);
}

/**
 * Returns the lines of a help centre. Of a message that the texts answer, two variants lack the answers. For a near miss that has a sentence
 * of its own, two variants are of the full texts. So the message by itself does not tell whether it is answered.
 */
async function sequencesOf(port: number, { name, texts, fullTexts = [], messages }: Centre): Promise<string[]> {
  const request = <Answer>(method: string, path: string, body: unknown) =>
    send<Answer>(port, { method, path: `/${encodeURIComponent(path)}`, headers: { Connection: "close" }, body });
  const [path, fullPath] = [name, `${name} (full)`];
  for (const [at, some] of [[path, texts] as const, [fullPath, fullTexts] as const]) {
    for (let isMissing = some.length > 0 && (await request("PUT", at, some)); isMissing;) isMissing = await request("PUT", at, []);
  }
  const arrange = async ({ text, answers, previous }: Message, from: string, variant: number, without: readonly string[]) => {
    const previousQuestions = previous === undefined ? [] : [previous];
    const { tokens, excerpts } = await request<Arranged>("PATCH", from, { question: text, previousQuestions, variant, without });
    return { tokens, excerpts: excerpts.map((excerpt) => ({ ...excerpt, isAnswer: answers.some((unit) => isUnit(unit, excerpt)) })) };
  };
  return forEach([...messages.entries()], async ([index, turns]) => {
    const variants: unknown[] = [];
    for (let variant = 0; variant < VARIANTS; variant++) {
      const message = turns[variant % turns.length]!;
      const isUnrelated = message.previous === undefined && variant > 0 && (index + variant) % UNRELATED_EVERY === 0;
      const asked = isUnrelated ? { ...message, previous: messages.at(index - 7)![0]!.text } : message;
      const turnVariant = Math.floor(variant / turns.length);
      const isOther = (index + variant) % 2 === 0;
      const fullAnswer = isOther ? message.fullAnswer : undefined;
      const whole = fullAnswer
        ? await arrange({ ...asked, answers: [fullAnswer] }, fullPath, turnVariant, [])
        : await arrange(asked, path, turnVariant, []);
      const answering = whole.excerpts.filter(({ isAnswer }) => isAnswer).map(({ text }) => text);
      const lacksAnswers = isOther && message.answers.length > 0 && turns.length === 1;
      const { tokens, excerpts } = lacksAnswers ? await arrange(asked, path, turnVariant, answering) : whole;
      variants.push({
        tokens,
        excerpts: excerpts.map(({ rows, score, isAnswer }) => ({ first: rows[0], count: rows.length, score, isAnswer })),
      });
    }
    return JSON.stringify({ variants });
  });
}

await runMain(async () => {
  const [file, ...collections] = process.argv.slice(2);
  if (file === undefined) throw new UserError("Usage: node encoder/reader/sequences.ts FILE [COLLECTION ...]");
  const files = (await readdir(CENTRES)).filter((name) => name.endsWith(".tsv")).sort();
  const own = await Promise.all(files.map((name) => readCentre(name.slice(0, -".tsv".length))));
  const others = await Promise.all(collections.map(readCollection));
  const centres = [...own, ...others.flat()];
  useTemporaryFolder();
  process.env["WRANGLER_LOG"] = "error";
  await withWorker({ ...(await buildBare("signals")), hasEncoder: true }, {}, async ({ port }) => {
    const lines = (await forEach(centres, (centre) => sequencesOf(port, centre))).flat();
    await writeFile(file, `${lines.join("\n")}\n`);
    console.log(
      `${lines.length} messages of ${centres.length} help centres, SHA-256 ${createHash("sha256").update(lines.join()).digest("hex")}`,
    );
  });
});
