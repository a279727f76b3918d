import { AGENT_MARK, FIELD_SEPARATOR, type Needle, type SearchText } from "./search-text.ts";

/** An entry as the full-text tables hold it. Removing an entry needs the same again, so a change here needs a new index. */
export interface Grams {
  /** For the trigram table: the agent, then all fields. */
  text: string;
  digits: string;
  /** For the table of short ones: one word for each character and pair of characters that there is. */
  short: string;
}

/** Where to look, and the FTS5 expression for it. */
export interface Match {
  table: "trigrams" | "short_grams";
  expression: string;
}

/** Fewer characters than this make no trigram. */
const TRIGRAM = 3;
/** A phrase of more trigrams than this is looked up by this many of the rarest. */
const RAREST = 4;
/** The characters that write an agent's number: two of them, of this many each, from this one on. */
const AGENT_BASE = 4096;
const AGENT_FIRST = 0x100;

/** What of an entry goes into the full-text tables. */
export function gramsOf({ text, digits }: SearchText, agent: number): Grams {
  const words = new Set([agentWord(agent)]);
  for (const field of text.split(FIELD_SEPARATOR)) for (const gram of shortGrams(field)) words.add(wordOf(gram));
  for (const gram of shortGrams(digits)) words.add(digitsWordOf(gram));
  return { text: `${agentTrigram(agent)}${FIELD_SEPARATOR}${text}`, digits, short: [...words].join(" ") };
}

/** The expression that finds what is looked for, of one agent where it is given. */
export function matchOf({ text, digits }: Needle, agent: number | undefined): Match {
  const isShort = Array.from(text).length < TRIGRAM;
  const alternatives = isShort
    ? [wordOf(text), ...(digits === null ? [] : [digitsWordOf(digits)])]
    : // The column of digits holds nothing else, so that a query of plain digits finds it too.
      [quote(text), ...(digits === null || digits === text ? [] : [`digits : ${quote(digits)}`])];
  const any = alternatives.length > 1 ? `(${alternatives.join(" OR ")})` : alternatives.join("");
  const expression = agent === undefined ? any : `${any} AND ${isShort ? agentWord(agent) : quote(agentTrigram(agent))}`;
  return { table: isShort ? "short_grams" : "trigrams", expression };
}

/**
 * An expression that every lead that holds a long query matches, and few others: it asks for the query's rarest trigrams
 * alone, wherever they stand. Undefined where the query is short enough to be asked for as it is.
 * @param readSample some leads, which tell how common a trigram is.
 */
export function candidatesOf({ text, digits }: Needle, readSample: () => readonly SearchText[]): Match | undefined {
  if (Array.from(text).length < RAREST + TRIGRAM) return undefined;
  const sample = readSample();
  const rarestOf = (phrase: string, column: string, isIn: (entry: SearchText, trigram: string) => boolean) => {
    const counted = trigramsOf(phrase).map((trigram) => ({ trigram, count: sample.filter((entry) => isIn(entry, trigram)).length }));
    const rarest = counted.sort((a, b) => a.count - b.count).slice(0, RAREST);
    return `(${rarest.map(({ trigram }) => column + quote(trigram)).join(" AND ")})`;
  };
  const anywhere = rarestOf(text, "", (entry, trigram) => entry.text.includes(trigram) || entry.digits.includes(trigram));
  if (digits === null || digits === text) return { table: "trigrams", expression: anywhere };
  const inDigits = rarestOf(digits, "digits : ", (entry, trigram) => entry.digits.includes(trigram));
  return { table: "trigrams", expression: `${anywhere} OR ${inDigits}` };
}

function trigramsOf(phrase: string): string[] {
  const characters = Array.from(phrase);
  return [...new Set(characters.slice(TRIGRAM - 1).map((_, at) => characters.slice(at, at + TRIGRAM).join("")))];
}

/** Each character of a field, and each pair of neighbours. */
function shortGrams(field: string): string[] {
  const characters = Array.from(field);
  const pairs = characters.slice(1).map((second, at) => characters[at]! + second);
  return [...characters, ...pairs];
}

/** A word of plain letters for characters of any kind, so that no tokenizer takes them apart. */
function wordOf(gram: string): string {
  return Array.from(gram, (character) => character.codePointAt(0)!.toString(16)).join("z");
}

function digitsWordOf(gram: string): string {
  return `x${gram}`;
}

function agentWord(agent: number): string {
  return `y${agent}`;
}

/** Three characters that stand in no lead's text. */
function agentTrigram(agent: number): string {
  return AGENT_MARK + String.fromCodePoint(AGENT_FIRST + Math.floor(agent / AGENT_BASE), AGENT_FIRST + (agent % AGENT_BASE));
}

function quote(phrase: string): string {
  return `"${phrase.replaceAll('"', '""')}"`;
}
