import { readdir, readFile } from "node:fs/promises";

/** The folder of the trades, with the format of their files in its README. */
const FOLDER = new URL("../trades/", import.meta.url);

type CaseKind = "answer" | "follow" | "miss" | "talk" | "human";

/** A message to an agent of a trade. */
export interface TradeCase {
  kind: CaseKind;
  message: string;
  /** What a right answer holds: one alternative of each. */
  holds: string[][];
  /** The message before it. */
  previous: string[];
}

export interface Trade {
  name: string;
  texts: { title: string; text: string }[];
  cases: TradeCase[];
}

/** All trades, by name. */
export async function readTrades(): Promise<Trade[]> {
  const files = (await readdir(FOLDER)).filter((file) => file.endsWith(".questions")).sort();
  return Promise.all(files.map((file) => readTrade(file.slice(0, -".questions".length))));
}

async function readTrade(name: string): Promise<Trade> {
  const [texts, questions] = await Promise.all([`${name}.md`, `${name}.questions`].map((file) => readFile(new URL(file, FOLDER), "utf8")));
  const sections = texts!.split(/^# /m).slice(1);
  return {
    name,
    texts: sections.map((section) => {
      const end = section.indexOf("\n");
      return { title: section.slice(0, end).trim(), text: section.slice(end).trim() };
    }),
    cases: questions!.trim().split("\n").map(toCase),
  };
}

function toCase(line: string): TradeCase {
  const [kind, message, holds = "", previous = ""] = line.split("|").map((part) => part.trim());
  return {
    kind: kind as CaseKind,
    message: message!,
    holds: holds === "" ? [] : holds.split(" & ").map((alternatives) => alternatives.split(" / ").map((text) => text.trim())),
    previous: previous === "" ? [] : [previous],
  };
}

/** Whether an answer holds what a right one does. */
export function isRightAnswer({ holds }: TradeCase, answer: string): boolean {
  const given = plain(answer);
  return holds.every((alternatives) => alternatives.some((text) => given.includes(plain(text))));
}

function plain(text: string): string {
  return text.toLowerCase().replaceAll("*", "").replaceAll(/\s+/g, " ");
}
