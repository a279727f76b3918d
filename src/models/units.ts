import { blocks, LIST_ITEM } from "../text/blocks.ts";
import { sentences } from "../text/sentences.ts";
import { terms } from "../text/terms.ts";

/** The smallest piece of a passage that reads well by itself or with its lead-in. */
export interface Unit {
  kind: "sentence" | "item" | "code" | "table" | "heading";
  text: string;
  terms: ReadonlySet<string>;
  /** The block it stands in; the items of one list, or the sentences of one paragraph, share it. */
  block: number;
  /** Whether its block is a list of numbered steps. */
  ordered: boolean;
  /** Whether it speaks of something by a pronoun, and so of what the sentence before names. */
  leans: boolean;
  /** The terms that it stands under: the headings of its passage, the lead-in of its list, the sentence it leans on, the question it answers. */
  context: ReadonlySet<string>;
}

const ORDERED_ITEM = /^[ \t]*\(?\d{1,3}[.)]/;
const IMAGE = /!\[[^\]]*\]\([^)]*\)/g;
/** A line this short that ends like no sentence is a heading, whatever it is marked as. */
const MAX_HEADING_WORDS = 10;
const LEANS =
  /^(?:this|that|these|those|it|its|they|their|he|she|such|so|then|also|however|otherwise|instead|therefore|but|and|in this case|in that case|if so|for example)\b|\b(?:them|they|these|those)\b/i;
const ENDS_A_SENTENCE = /[.!?…:;,。！？）)"'”`*]$/;

/** The units of a passage in reading order. `about` is its title and heading. */
export function unitsOf(content: string, about: string): Unit[] {
  const units: Unit[] = [];
  const title = terms(about);
  let heading: string[] = [];
  for (const [block, { kind, text }] of [...blocks(content)].entries()) {
    const pieces = kind === "text" ? sentenceTexts(text) : kind === "list" ? listItems(text) : [text];
    const isHeading = kind === "heading" || (kind === "text" && looksLikeHeading(pieces));
    if (isHeading) heading = terms(text);
    const unitKind = isHeading ? "heading" : kind === "text" ? "sentence" : kind === "list" ? "item" : kind;
    const ordered = kind === "list" && ORDERED_ITEM.test(text);
    const announced = units.at(-1)?.text.endsWith(":") ? units.at(-1) : undefined;
    for (const [at, piece] of pieces.entries()) {
      const leans = unitKind === "sentence" && at > 0 && LEANS.test(piece);
      const answers = unitKind === "sentence" && units.at(-1)?.text.endsWith("?") === true;
      const leadIn = leans || answers ? units.at(-1) : unitKind === "sentence" ? undefined : announced;
      const context = new Set([...title, ...(isHeading ? [] : heading), ...(leadIn?.terms ?? [])]);
      units.push({ kind: unitKind, text: piece, terms: new Set(terms(piece)), block, ordered, leans, context });
    }
  }
  return units;
}

function sentenceTexts(text: string): string[] {
  const plain = sentences(text.replace(IMAGE, " ")).map((sentence) => sentence.replaceAll(/\s*\n\s*/g, " "));
  return plain.map((sentence) => sentence.replace(/^[\s:;,]+/, "")).filter((sentence) => sentence !== "");
}

function looksLikeHeading(pieces: readonly string[]): boolean {
  const [only, second] = pieces;
  if (only === undefined || second !== undefined) return false;
  return !ENDS_A_SENTENCE.test(only) && only.split(/\s+/).length <= MAX_HEADING_WORDS;
}

/** The items of a list, each with its continuation lines. */
function listItems(text: string): string[] {
  const items: string[] = [];
  for (const line of text.split("\n")) {
    if (LIST_ITEM.test(line) || items.length === 0) items.push(line.trimEnd());
    else items[items.length - 1] += `\n${line.trimEnd()}`;
  }
  return items;
}

/** What form of answer a question asks for. */
export type Shape = "number" | "definition" | "steps" | "any";

const NUMBER =
  /\bhow (?:long|many|much|often|far|fast|big|large|old|soon|quickly)\b|\bwhen\b|\bwhat time\b|\b(?:price|cost|costs|limit|maximum|minimum)\b/i;
/** What a definition is asked for by, and the words that it is asked of. */
const ASKS_WHAT =
  /^\W*(?!\W)(?:(?:so|and|ok(?:ay)?|but|by the way|hi|hello)\W*)?(?:what|who)(?:['’]s| is| are| was| were| does| do)\b(\W[^_]*)$/is;
const WORD = /[\p{L}\p{M}\p{N}]+(?:['’-]+[\p{L}\p{M}\p{N}]+)*/gu;
/** A question about more words asks for more than a definition. */
const MAX_DEFINED_WORDS = 6;
const STEPS = /\bhow (?:do|can|should|could|would|to|does one)\b|\b(?:steps?|instructions|set ?up|configure|install)\b/i;

const HAS_NUMBER =
  /\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|hundred|thousand|daily|weekly|monthly|yearly|hourly|immediately|once|twice|unlimited|free)\b/i;
const DEFINES = /^.{0,80}?\b(?:is|are|means?|refers? to|describes?|consists? of|represents?|lets?|allows?|enables?)\b/is;
const INSTRUCTS =
  /^(?:to\b|first\b|then\b|click|go to|open|select|choose|enter|press|run|use|send|call|add|create|set|copy|install|you can\b)/i;

/** The form of answer that a question asks for. */
export function shapeOf(question: string): Shape {
  if (NUMBER.test(question)) return "number";
  if (STEPS.test(question)) return "steps";
  return asksForDefinition(question) ? "definition" : "any";
}

/** Its words are counted apart: a pattern for them all would try every way to cut a long text into words. */
function asksForDefinition(question: string): boolean {
  const words = ASKS_WHAT.exec(question)?.[1]?.match(WORD) ?? [];
  return words.length > 0 && words.length <= MAX_DEFINED_WORDS;
}

/** Whether a unit has that form. `startsWithTopic` says that it names what is asked about among its first words. */
export function hasShape(shape: Shape, { kind, text, ordered }: Unit, startsWithTopic: boolean): boolean {
  if (shape === "number") return HAS_NUMBER.test(text.replace(/^[ \t]*\(?\d{1,3}[.)]/, ""));
  if (shape === "definition") return kind === "sentence" && startsWithTopic && DEFINES.test(text);
  if (shape === "steps") return ordered || kind === "code" || INSTRUCTS.test(text.replace(/^[\s*+\-•]+/, ""));
  return false;
}
