import { parsedJson } from "../platform/json.ts";
import { parseHeader } from "./header.ts";

/*
 * Replies that are JSON objects: some models were trained to write them, and some servers make them.
 */

const START = /^\s*(?:(?:```|~~~)\w*\s*)?\{\s*(?:"|$)/;
const ANSWER_FIELDS = ["answer", "reply", "response", "text", "message", "content", "output"];
const ANSWER_IN_BROKEN_JSON = new RegExp(`"(?:${ANSWER_FIELDS.join("|")})"\\s*:\\s*("(?:[^"\\\\]|\\\\.)*")`);
const ID = /\b[pt]\d+\b/gi;
const CITING_FIELD = /cit|source|passage|reference|ids?$|evidence|result/i;
const MAX_DEPTH = 3;

/** Whether a reply begins as a JSON object, which has to be read to its end. */
export function looksStructured(text: string): boolean {
  return START.test(text);
}

/**
 * Converts a reply that is a JSON object, in a fence or not, to the text that the prompt asks for; undefined for any other reply.
 * @param isId whether an id is one of the evidence.
 */
export function textOfStructuredReply(reply: string, isId: (id: string) => boolean): string | undefined {
  if (!looksStructured(reply)) return undefined;
  const object = parsedJson(reply.slice(reply.indexOf("{"), reply.lastIndexOf("}") + 1));
  if (typeof object !== "object" || object === null) {
    const answer = parsedJson(ANSWER_IN_BROKEN_JSON.exec(reply)?.[1] ?? "");
    return typeof answer === "string" ? answer : undefined;
  }
  const fields = Object.entries(object);
  const answer = answerOf(fields);
  const kind = kindOf(fields) ?? (answer.trim() === "" ? "unknown" : undefined);
  if (kind !== undefined) return `@${kind}\n${answer}`;
  const ids = idsOf(fields).filter(isId);
  return ids.length > 0 ? `@sources ${ids.join(" ")}\n${answer}` : answer;
}

type Fields = [name: string, value: unknown][];

/** Finds the text in the first of the usual fields, or in an object in one of them. It may be a whole reply with a header. */
function answerOf(fields: Fields, depth = 0): string {
  for (const name of ANSWER_FIELDS) {
    const value = fields.find(([key]) => key.toLowerCase() === name)?.[1];
    if (typeof value === "string") return value;
    if (typeof value === "object" && value !== null && depth < MAX_DEPTH) return answerOf(Object.entries(value), depth + 1);
  }
  return "";
}

function idsOf(fields: Fields): string[] {
  const cited = fields.filter(([name]) => CITING_FIELD.test(name));
  const written = cited.flatMap(([, value]) => JSON.stringify(value).match(ID) ?? []);
  return [...new Set(written.map((id) => id.toLowerCase()))];
}

/** Finds the kind of reply that the object names, such as `"status": "unknown"`. */
function kindOf(fields: Fields): string | undefined {
  for (const [, value] of fields) {
    const found = typeof value === "string" ? parseHeader(value.startsWith("@") ? value : `@${value}`) : undefined;
    if (found && found.header.kind !== "sources" && found.rest === "") return found.header.kind;
  }
  return undefined;
}
