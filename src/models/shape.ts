import type { Unit } from "./units.ts";

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
