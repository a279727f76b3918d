import { parseHeader, type ReplyHeader } from "./header.ts";

/** A reply that a model wrote as a JSON object, as it was trained to or as a server makes it. */
export interface StructuredReply {
  /** "" where it holds none. */
  answer: string;
  /** The ids that it cites. */
  ids: string[];
  /** What the object says of itself, as `"status": "unknown"`. */
  kind: Exclude<ReplyHeader["kind"], "sources"> | undefined;
}

const START = /^\s*(?:(?:```|~~~)\w*\s*)?\{\s*(?:"|$)/;
const ANSWER_FIELDS = ["answer", "reply", "response", "text", "message", "content", "output"];
const ANSWER_IN_BROKEN_JSON = new RegExp(`"(?:${ANSWER_FIELDS.join("|")})"\\s*:\\s*("(?:[^"\\\\]|\\\\.)*")`);
const ID = /\b[pt]\d+\b/gi;
const CITING_FIELD = /cit|source|passage|reference|ids?$|evidence|result/i;
const MAX_DEPTH = 3;

/** Whether a reply begins as a JSON object: it has to be read to its end. */
export function looksStructured(text: string): boolean {
  return START.test(text);
}

/** @returns the parts of a reply that is a JSON object, in a fence or not; undefined where it is none. */
export function parseStructuredReply(text: string): StructuredReply | undefined {
  if (!looksStructured(text)) return undefined;
  const value = parseObject(text);
  if (value) return withoutHeader({ answer: answerOf(value), ids: idsOf(value), kind: kindOf(value) });
  const answer = parseJson(ANSWER_IN_BROKEN_JSON.exec(text)?.[1] ?? "");
  return typeof answer === "string" ? { answer, ids: [], kind: undefined } : undefined;
}

/** The field may hold a whole reply, with its header. */
function withoutHeader({ answer, ids, kind }: StructuredReply): StructuredReply {
  const end = answer.search(/\n|$/);
  const found = parseHeader(answer.slice(0, end));
  if (!found) return { answer, ids, kind };
  const rest = `${found.rest}${answer.slice(end)}`;
  return found.header.kind === "sources"
    ? { answer: rest, ids: [...found.header.ids, ...ids], kind }
    : { answer: rest, ids, kind: found.header.kind };
}

function parseObject(text: string): Record<string, unknown> | undefined {
  const value = parseJson(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1));
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The text in the first of the usual fields, or in an object in one of them. */
function answerOf(value: Record<string, unknown>, depth = 0): string {
  for (const name of ANSWER_FIELDS) {
    const field = Object.entries(value).find(([key]) => key.toLowerCase() === name)?.[1];
    if (typeof field === "string") return field;
    if (typeof field === "object" && field !== null && depth < MAX_DEPTH) return answerOf(field as Record<string, unknown>, depth + 1);
  }
  return "";
}

function idsOf(value: Record<string, unknown>): string[] {
  const cited = Object.entries(value).filter(([key]) => CITING_FIELD.test(key));
  const written = cited.flatMap(([, field]) => JSON.stringify(field).match(ID) ?? []);
  return [...new Set(written.map((id) => id.toLowerCase()))];
}

function kindOf(value: Record<string, unknown>): StructuredReply["kind"] {
  for (const field of Object.values(value)) {
    const header = typeof field === "string" ? parseHeader(field.startsWith("@") ? field : `@${field}`) : undefined;
    if (header && header.header.kind !== "sources" && header.rest === "") return header.header.kind;
  }
  return undefined;
}
