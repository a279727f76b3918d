import { decodeHTML } from "entities";
import { cleanLine } from "./clean.ts";

interface QuestionAndAnswer {
  question: string;
  answer: string;
}

const MAX_QUESTIONS = 200;
const MAX_DEPTH = 8;
const MAX_TAG_CHARS = 500;
const TAG = new RegExp(`<[/!a-z][^<>]{0,${MAX_TAG_CHARS}}>`, "gi");

/** The questions that a page's JSON-LD answers (FAQPage, QAPage) and its text does not hold, as sections. */
export function questionsBeside(text: string, structuredData: string[]): string {
  const found = structuredData.flatMap((json) => questionsIn(parsed(json), 0)).slice(0, MAX_QUESTIONS);
  return found
    .filter(({ question, answer }) => !text.includes(answer.slice(0, 60)) || !text.includes(question))
    .map(({ question, answer }) => `## ${question}\n\n${answer}`)
    .join("\n\n");
}

function questionsIn(value: unknown, depth: number): QuestionAndAnswer[] {
  if (depth > MAX_DEPTH || typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.slice(0, MAX_QUESTIONS).flatMap((item) => questionsIn(item, depth + 1));
  const node = value as Record<string, unknown>;
  if ([node["@type"]].flat().includes("Question")) return questionOf(node);
  return [...questionsIn(node["@graph"], depth + 1), ...questionsIn(node["mainEntity"], depth + 1)];
}

function questionOf(node: Record<string, unknown>): QuestionAndAnswer[] {
  const accepted = [node["acceptedAnswer"]].flat()[0] as Record<string, unknown> | undefined;
  const question = plain(node["name"]);
  const answer = plain(accepted?.["text"]);
  return question === "" || answer === "" ? [] : [{ question, answer }];
}

/** Structured data holds HTML in its texts. */
function plain(value: unknown): string {
  return typeof value === "string" ? cleanLine(decodeHTML(value.replace(TAG, " "))) : "";
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}
