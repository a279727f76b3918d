import { stemmer } from "stemmer";
import { LruCache } from "../platform/lru-cache.ts";

/** Reads a list of words that are separated by white space. */
function wordSet(list: string): ReadonlySet<string> {
  return new Set(list.trim().split(/\s+/));
}

/** Function words, without apostrophes. They are neither indexed nor searched for. */
const STOP_WORDS = wordSet(`
  a about after again all also although am an and another any anybody anyhow anyone anything are arent as at be because been
  before being both but by can cannot cant could couldnt did didnt do does doesnt doing done dont each either else ever every
  everyone everything few for from further had hadnt has hasnt have havent having he hello her here hers herself hey hi him
  himself his how howd however hows i if im in into is isnt it its itself ive just kindly least less let lets lot lots many
  may maybe me might mine more most much must my myself neither no nobody none nor not nothing now of off oh ok okay on once
  one only onto or other others ought our ours ourselves out over own per perhaps please pls quite rather really same shall
  shant she should shouldnt since so some somebody somehow someone something soon still such sure than thank thanks that thats
  the their theirs them themselves then there theres these they theyre theyve this those though through thus to together too
  under until up upon us very was wasnt we well were werent weve what whatever whats when whenever where wheres whether which
  while who whoever whom whos whose why will with within without wont would wouldnt yes yet you youd youll your youre yours
  yourself yourselves youve
`);

/** Words that occur in any support question: whether a text contains them says little about whether it answers the question. */
const WEAK_WORDS = wordSet(`
  able actually allow anyway ask available begin believe best better bit bring call called case cause change come correct
  current currently detail different difference describe easy example exactly exist explain fact feel find first follow
  following future general get gets getting give given go goes going gonna good got great guess guide happen happened
  happening happens hear help helpful hope idea information info involve issue keep kind know last learn like little long look
  looking made main make makes making matter mean means meant mention mentioned method need needed needs new next nice nope
  old option order part particular people place possible possibly problem properly provide put question quick reason regard
  heard sorry oops sense confused confusing regarding require required right say saying second see seem seems show simple situation specific start stop stuff take
  takes taking talk tell thing things think thought time tried trouble try trying type understand use used user useful uses
  using usually various view wanna want wanted wants way ways wish wonder wondering work working works wrong
`);

/** One word of a text, in the form in which it is indexed and searched for. */
export interface Token {
  /** The stem; of a compound, the stem of its joined parts: `webhookid` for `webhook-id`. */
  term: string;
  /** The stems of a compound's parts: `webhook`, `id`. Empty for a plain word. */
  parts: readonly string[];
  /** A stop word says nothing about the subject of a text, a weak word ("work", "need") says little. */
  kind: "content" | "weak" | "stop";
}

/** Longer words are hashes and keys, of which the beginning is enough. */
const MAX_TERM_LENGTH = 48;
/** A compound with more parts is a path or a list rather than a name. */
const MAX_PARTS = 6;
/** About as many as the distinct words of a long text. */
const CACHED_WORDS = 20_000;

const ASCII = /^[\0-\x7f]*$/;
const ASCII_WORD = /[A-Za-z0-9_]+(?:[-.'][A-Za-z0-9_]+|,\d{3}(?!\d))*/g;
const WORD = /[\p{L}\p{N}\p{M}_]+(?:[-.'’‐‑][\p{L}\p{N}\p{M}_]+|,\d{3}(?!\d))*/gu;
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const LATIN_MARKS = /[\u0300-\u036f]/g;
const VERSION = /^v?\d+(?:\.\d+)+$/i;
const CLITIC = /['’](?:s|ll|re|ve|d|m)$/i;
/** Where `camelCase` and `HTTPServer` are split. */
const CAMEL_CASE = /(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/;
const PLURAL_ACRONYM = /^[A-Z]{2,}s$/;

const tokenCache = new LruCache<string, readonly Token[]>(CACHED_WORDS);
let segmenter: Intl.Segmenter | undefined;

/** The tokens of a text in order, without stop words. Indexing, queries and answers all use this analysis. */
export function tokens(text: string): Token[] {
  return allTokens(text).filter((token) => token.kind !== "stop");
}

/** The tokens of a text in order, including stop words. The terms of stop words start with `_`, so that they equal no stem. */
export function allTokens(text: string): Token[] {
  const ascii = ASCII.test(text);
  const plain = ascii ? text : text.normalize("NFKC");
  const found: Token[] = [];
  for (const [word] of plain.matchAll(ascii ? ASCII_WORD : WORD)) {
    if (!ascii && UNSPACED.test(word)) for (const part of segments(word)) found.push(...cachedTokens(part));
    else found.push(...cachedTokens(word));
  }
  return found;
}

/** The terms of a text in order. A compound gives the term of the whole, then those of its parts. */
export function terms(text: string): string[] {
  return tokens(text).flatMap((token) => [token.term, ...token.parts]);
}

function cachedTokens(word: string): readonly Token[] {
  const cached = tokenCache.get(word);
  if (cached) return cached;
  const analysed = analyse(word);
  if (word.length <= MAX_TERM_LENGTH) tokenCache.set(word, analysed);
  return analysed;
}

function analyse(word: string): Token[] {
  if (VERSION.test(word)) return [{ term: word.toLowerCase().slice(0, MAX_TERM_LENGTH), parts: [], kind: "content" }];
  const parts = partsOf(word.replace(CLITIC, ""));
  if (parts.length > MAX_PARTS) return parts.map(plainToken);
  const whole = parts.join("");
  if (whole === "") return [];
  if (parts.length === 1 || STOP_WORDS.has(whole)) return [plainToken(whole)];
  const kept = parts.filter((part) => !STOP_WORDS.has(part));
  return [{ term: stem(whole), parts: kept.map(stem), kind: "content" }];
}

function plainToken(word: string): Token {
  if (STOP_WORDS.has(word)) return { term: `_${word}`, parts: [], kind: "stop" };
  return { term: stem(word), parts: [], kind: WEAK_WORDS.has(word) ? "weak" : "content" };
}

/** Splits a compound into its parts, in lower case and without Latin diacritics. */
function partsOf(word: string): string[] {
  const joined = word.replaceAll(/['’,]/g, "");
  const pieces = joined.split(/[-._‐‑]+/).filter((piece) => piece !== "");
  return pieces.flatMap(camelParts).map(fold);
}

function camelParts(piece: string): string[] {
  if (PLURAL_ACRONYM.test(piece)) return [piece];
  const parts = piece.split(CAMEL_CASE);
  // A single letter is not split off: iPhone, eSIM, OAuth.
  return parts.some((part) => part.length < 2) ? [piece] : parts;
}

function fold(word: string): string {
  const lower = word.toLowerCase();
  return ASCII.test(lower) ? lower : lower.normalize("NFD").replace(LATIN_MARKS, "").normalize("NFC");
}

/** Words that are their own stem: Porter stems "exceed" to "exce" but "exceeded" to "exceed". Porter2 has the same exceptions. */
const STEM_EXCEPTION = /^(exceed|proceed|succeed)s?$/;

/** The stems of words that are separated by white space, including stop words. */
export function stems(words: string): string[] {
  return words.trim().split(/\s+/).map(stem);
}

function stem(word: string): string {
  const short = word.length > MAX_TERM_LENGTH ? word.slice(0, MAX_TERM_LENGTH) : word;
  const exception = STEM_EXCEPTION.exec(short)?.[1];
  return exception ?? (/^[a-z]+$/.test(short) ? stemmer(short) : short);
}

function* segments(run: string): Generator<string> {
  segmenter ??= new Intl.Segmenter("zh", { granularity: "word" });
  for (const { segment, isWordLike } of segmenter.segment(run)) if (isWordLike) yield segment;
}
