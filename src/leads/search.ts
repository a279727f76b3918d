import type { Entry, LeadIndexStore, Range } from "./index-store.ts";
import type { Totals } from "./index.ts";

/** A search for leads: what is looked for, what it is narrowed to, and which page. */
export interface LeadQuery {
  q: string;
  agentId?: string | undefined;
  sinceMs?: number | undefined;
  limit: number;
  offset: number;
  /** Only what stands after this lead in the list. */
  cursor?: { atMs: number; id: string } | undefined;
}

export interface LeadHits {
  /** One more than the page has room for, when there are more. */
  ids: string[];
  /** Of the whole list, wherever the page is. */
  total: number;
}

/** How common a trigram is, is told by this many of the newest leads. To ask the index would cost more the more there are. */
const SAMPLE = 100;
/** To read and compare as many takes about a millisecond. */
const MAX_COMPARED = 400;

const NOTHING: LeadHits = { ids: [], total: 0 };

/** Finds leads in a workspace's index, newest first. A page costs the same however many there are. */
export function searchLeads(store: LeadIndexStore, totals: Totals, query: LeadQuery): LeadHits {
  if (store.isEmpty) return NOTHING;
  const { q, agentId, sinceMs, cursor, limit, offset } = query;
  const agent = agentId === undefined ? undefined : store.findAgent(agentId);
  if (agentId !== undefined && agent === undefined) return NOTHING;
  const needle = toNeedle(q);
  const since: Range = { from: afterAll(store, sinceMs), to: Number.MAX_SAFE_INTEGER };
  const to = cursor ? (store.lastBefore(cursor.atMs, cursor.id) ?? -Number.MAX_SAFE_INTEGER) : since.to;
  const key = { needle, agent };
  const kept = totals.find(key);
  // What has a kept total is known not to be rare.
  const all = kept === undefined ? searchFew(store, needle, agent, since) : undefined;
  if (all) return { ids: pageOf(all, to, query), total: all.length };
  const match = matchOf(needle, agent);
  const ids = store.list(match, { ...since, to }, { limit: limit + 1, offset });
  const isWhole = !cursor && offset === 0 && ids.length <= limit;
  if (isWhole) return { ids, total: ids.length };
  // A time bounds what is counted; without one the total is kept.
  if (sinceMs !== undefined) return { ids, total: store.count(match, since) };
  const total = kept ?? store.count(match, since);
  totals.keep(key, total);
  return { ids, total };
}

/**
 * Every lead that is found, where few hold the rarest parts of what is looked for: these are read and compared. To follow
 * all trigrams of a long text, some of them in every lead, would take as long as there are leads.
 */
function searchFew(store: LeadIndexStore, needle: Needle, agent: number | undefined, since: Range): Entry[] | undefined {
  const candidates = candidatesOf(needle, () => store.listNewest(SAMPLE));
  const few = candidates && store.listFew(candidates, since, MAX_COMPARED);
  return few?.filter((entry) => (agent ?? entry.agent) === entry.agent && contains(entry, needle));
}

function pageOf(all: readonly Entry[], to: number, { limit, offset }: LeadQuery): string[] {
  return all
    .filter(({ label }) => label <= to)
    .slice(offset, offset + limit + 1)
    .map(({ id }) => id);
}

/** The first label that is not before a time. */
function afterAll(store: LeadIndexStore, sinceMs: number | undefined): number {
  const before = sinceMs === undefined ? undefined : store.lastBefore(sinceMs, "");
  return before === undefined ? -Number.MAX_SAFE_INTEGER : before + 1;
}

/** What of a lead is searched. */
export interface Searchable {
  name: string | null;
  email: string | null;
  phone: string | null;
  customFields: Record<string, unknown>;
}

/** A lead's searched fields in the form in which they are compared. */
export interface SearchText {
  /** All fields, folded, with a separator between them that no folded text contains. */
  text: string;
  /** The digits of the phone number. */
  digits: string;
}

/** What is looked for: the text in any field, or the digits in the phone number's. */
export interface Needle {
  text: string;
  digits: string | null;
}

/** Characters that the index uses for itself; a text that contains one has U+FFFD in its place. */
const FIELD_SEPARATOR = "\u001f";
const AGENT_MARK = "\u001e";
const RESERVED = new RegExp(`[\\0${FIELD_SEPARATOR}${AGENT_MARK}]`, "g");

/** What stands between the digits of a written phone number. */
const PHONE_PUNCTUATION = /[\s+()/.–-]/gu;
/** A query with punctuation and fewer digits than this is a date or a range rather than a phone number. */
const MIN_FORMATTED_DIGITS = 5;

/** The searched text of a lead. */
export function toSearchText({ name, email, phone, customFields }: Searchable): SearchText {
  const fields = [name, email, phone, ...leavesOf(customFields)];
  const folded = fields.map((field) => fold(field ?? "")).filter((field) => field !== "");
  return { text: folded.join(FIELD_SEPARATOR), digits: digitsOf(phone ?? "") };
}

/** What a query looks for. One of digits alone, or written as a phone number, also looks for its digits. */
function toNeedle(query: string): Needle {
  const digits = digitsOf(query);
  const isDigits = /^\p{Nd}+$/u.test(query);
  const isPhone = digits.length >= MIN_FORMATTED_DIGITS && /^\p{Nd}+$/u.test(query.replace(PHONE_PUNCTUATION, ""));
  return { text: fold(query), digits: isDigits || isPhone ? digits : null };
}

/** Whether a lead's text holds what is looked for. */
export function contains({ text, digits }: SearchText, needle: Needle): boolean {
  return text.includes(needle.text) || (needle.digits !== null && digits.includes(needle.digits));
}

/** Texts that differ in case or in how their accents are composed become the same. */
function fold(text: string): string {
  // By way of capitals, where ß and ss, ı and i become one; the dot is what then tells İ from I.
  const lower = text.toWellFormed().toUpperCase().toLowerCase().normalize("NFC").replaceAll("i\u0307", "i");
  // A final sigma is one by its place in the word, so a part of a word would not match it.
  return lower.replaceAll("ς", "σ").replace(RESERVED, "\ufffd");
}

/** The names and values of nested fields. A loop, since a caller decides how deep they are nested. */
function leavesOf(customFields: Record<string, unknown>): string[] {
  const found: string[] = [];
  const left: unknown[] = [customFields];
  while (left.length > 0) {
    const value = left.pop();
    if (value === null || value === undefined) continue;
    if (Array.isArray(value)) left.push(...(value as unknown[]));
    else if (typeof value === "object") {
      found.push(...Object.keys(value));
      left.push(...Object.values(value));
    } else if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") found.push(String(value));
  }
  return found;
}

/** The digits of a text, those of other scripts as 0 to 9. */
function digitsOf(text: string): string {
  return Array.from(text.matchAll(/\p{Nd}/gu), ([digit]) => valueOf(digit)).join("");
}

/** Unicode keeps the ten digits of a script in a row, from zero. */
function valueOf(digit: string): number {
  const codePoint = digit.codePointAt(0)!;
  let zero = codePoint;
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--;
  return (codePoint - zero) % 10;
}

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
function matchOf({ text, digits }: Needle, agent: number | undefined): Match {
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
function candidatesOf({ text, digits }: Needle, readSample: () => readonly SearchText[]): Match | undefined {
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
