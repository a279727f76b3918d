import type { Unit } from "./units.ts";

/** What form of answer a question asks for. */
export type Shape = "number" | "definition" | "steps" | "any";

const NUMBER =
  /\bhow (?:long|many|much|often|far|fast|big|large|old|soon|quickly)\b|\bwhen\b|\bwhat time\b|\b(?:price|cost|costs|limit|maximum|minimum)\b/i;
const DEFINITION =
  /^\W*(?:so|and|ok(?:ay)?|but|by the way|hi|hello)?\W*(?:what|who)(?:['’]s| is| are| was| were| does| do)\b(?=(?:\W+[\p{L}\p{N}'’-]+){1,6}\W*$)/iu;
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
  return DEFINITION.test(question) ? "definition" : "any";
}

/** Whether a unit has that form. `names` are the terms of what is asked about. */
export function hasShape(shape: Shape, { kind, text, ordered }: Unit, startsWithTopic: boolean): boolean {
  if (shape === "number") return HAS_NUMBER.test(text.replace(/^[ \t]*\(?\d{1,3}[.)]/, ""));
  if (shape === "definition") return kind === "sentence" && startsWithTopic && DEFINES.test(text);
  if (shape === "steps") return ordered || kind === "code" || INSTRUCTS.test(text.replace(/^[\s*+\-•]+/, ""));
  return false;
}
