import { ORDERED_ITEM } from "../text/blocks.ts";
import { expandChatSpellings } from "../text/chat-spellings.ts";
import { terms } from "../text/terms.ts";

/*
 * The type of answer that an English question asks for, and whether a text has it. Questions in other languages ask for "any".
 */

export type AnswerType = "amount" | "time" | "number" | "place" | "steps" | "contact" | "requirement" | "definition" | "any";

/** The first pattern that matches a question decides its type. */
const ASKS: readonly (readonly [AnswerType, RegExp])[] = [
  ["requirement", /\bwhat (?:\w+ )?(?:do|would|will) (?:i|we|you) need\b|\b(?:which|what) (?:documents|papers)\b|\brequirements?\b/i],
  [
    "time",
    /\bhow much time\b|\bhow (?:long|quick|quickly|soon|fast|early|late)\b|\bwhen\b|\bwhat time\b|\bopening\b|\b(?:are|is) (?:\w+ ){1,3}open\b/i,
  ],
  [
    "amount",
    /\b(?:prices?|costs?|fees?|charges?|cheap|cheaper|cheapest|expensive|discounts?|tax|interest|rate)\b|\bhow much (?:is|are|for|do|does|will|would)\b|\bpay for\b/i,
  ],
  ["number", /\bhow (?:many|much|often|old|big|large|far)\b|\b(?:maximum|minimum|limits?|size)\b/i],
  ["place", /\bwhere\b/i],
  ["contact", /\b(?:phone|telephone|number|e-?mail|contact|call)\b/i],
  [
    "steps",
    /\bhow (?:do|can|to|should|could|would|does one)\b|\bwhat (?:do|should|can) i do\b|\bwhat now\b|\b(?:steps?|instructions|set ?up|configure|install)\b/i,
  ],
];

const HAS: Readonly<Record<Exclude<AnswerType, "any">, RegExp>> = {
  amount:
    /[£$€¥]\s?\d|\d\s?(?:€|£|\$|%)|\d\s?(?:euros?|dollars?|pounds?|usd|eur|gbp|cents?|kr|chf)\b|\b(?:free|nothing|no (?:\w+ )?(?:fee|charge)s?)\b/i,
  time: /\d(?::\d\d)? ?(?:am|pm)\b|\b\d{1,2}:\d\d\b|\b(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|twelve|few)[ -](?:working |business |whole )?(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?|s|min|h)\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:january|february|march|april|june|july|august|september|october|november|december)\b|\b(?:immediately|at once|same day|next (?:working )?day|from \d+ to \d+)\b/i,
  number: /\b\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|unlimited)\b/i,
  place: / > |\b(?:under|at the|in the)\b|\/[a-z]|\.[a-z]{2,}\b/i,
  requirement: /\b(?:bring|needs?|needed|must|requires?|required|have to|has to)\b/i,
  contact: /\d{3}|@|\.[a-z]{2,}\b/i,
  steps:
    / > |^\W*(?:to|first|then|click|go|open|select|choose|enter|press|run|use|send|call|add|create|set|copy|install|tap|bring|report|book|tell|switch|change|connect|invite|export|import|register|write|ask)\b|\byou can\b/i,
  definition: /^.{0,80}?\b(?:is|are|means?|refers? to|describes?|consists? of|represents?|lets?|allows?|enables?)\b/is,
};

/** Captures what follows "what is". */
const ASKS_DEFINITION =
  /^\W{0,3}(?:(?:so|and|ok|okay|but|hi|hello)\W{1,3})?(?:what|who)(?:['’]s| is| are| was| were| does| do) ([^_]{1,60})$/i;
/** "What is a number?" asks for no number. */
const ASKS_CONCEPT = /^an? /i;
/** A question about more words asks for more than a definition. */
const MAX_DEFINED_WORDS = 6;

/** Returns the type of answer that a question asks for; `any` if no pattern matches it, as in other languages than English. */
export function answerTypeOf(question: string): AnswerType {
  const defined = ASKS_DEFINITION.exec(question.trim())?.[1] ?? "";
  const isShort = defined !== "" && defined.split(/\s+/).length <= MAX_DEFINED_WORDS;
  if (isShort && ASKS_CONCEPT.test(defined)) return "definition";
  return ASKS.find(([, pattern]) => pattern.test(question))?.[0] ?? (isShort ? "definition" : "any");
}

/** Whether a text has an answer of this type. The number of a list item does not count as a number. */
export function hasAnswerType(type: AnswerType, text: string): boolean {
  return type !== "any" && HAS[type].test(text.replace(ORDERED_ITEM, ""));
}

const CLAUSE_END = /(?<=[.!?;,:])\s+|\s[-–]\s/;
const OPENERS = "^(?:(?:and|but|so|or|ok|okay|hi|hey|hello|please|well|then|also)\\s+)*";
const AUXILIARIES = "(?:is|are|was|were|can|could|may|do|does|did|will|wo|would|should|must|has|have)(?:n?['’]t)?";
const ASKS_SOMETHING = new RegExp(`${OPENERS}(?:what|who|whos|when|where|how|why|which|any|am|${AUXILIARIES})\\b|\\?$`, "i");
/** Matches a statement, which begins like this or has an auxiliary. Other texts of one clause are requests: "kettle price", "cancel my gym". */
const TELLS_SOMETHING = new RegExp(
  `${OPENERS}(?:i|my|we|our|you|your|it|its|there|they|he|she|someone|somebody)\\b|\\b${AUXILIARIES}\\b`,
  "i",
);

/**
 * Returns the terms of the clauses of an English message that ask something: "my purse fell off the tube, how do I block the card"
 * asks about the card. A message of one clause asks too, unless it is a statement.
 */
export function askedTerms(message: string): Set<string> {
  const clauses = expandChatSpellings(message)
    .split(CLAUSE_END)
    .map((clause) => clause.trim());
  const asking = clauses.filter((clause) => ASKS_SOMETHING.test(clause));
  if (clauses.length === 1 && asking.length === 0 && !TELLS_SOMETHING.test(clauses[0]!)) asking.push(clauses[0]!);
  return new Set(asking.flatMap(terms));
}
