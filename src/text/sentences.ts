/** The offsets of a sentence in its text. */
export interface Span {
  start: number;
  end: number;
}

const CANDIDATE = /[.!?…。！？｡؟۔।\n]/g;
const CLOSING = "\"'”’)]」』）*_`";
const IDEOGRAPHIC = "。！？｡";
/** A line of at least this length was probably wrapped by an editor, so its end does not end the sentence. */
const MIN_WRAPPED_LENGTH = 60;
const ABBREVIATION =
  /(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|aprox|incl|inkl|zzgl|bzw|no|nr|fig|dr|mr|mrs|ms|prof|st|inc|ltd|co|u\.s|[A-Z])$/i;
/** Abbreviations that stand before a number. Elsewhere, most of them are words or end a sentence. */
const ABBREVIATION_OF_NUMBER =
  /(?:^|[\s(])(?:\p{L}*str|ca|tel|max|min|art|sec|abs|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|okt|nov|dec|dez)$/iu;
const NUMBER_AFTER = /^\s+[+(]?\d/;
/** A German date such as "24. Dezember" or "1. Jan." */
const ORDINAL = /(?:^|[^\d.,])\d{1,2}$/;
const GERMAN_MONTH_AFTER = /^\s+(?:Jan|Jän|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)/;
/** A longer sentence is a list or data. It ends at its next line or full stop, so that a text is read in parts of bounded length. */
const MAX_SENTENCE_CHARS = 8_192;
/**
 * The end and the beginning of two sentences without a space between them, as in "Open the menu.Click Save.", which extracted texts often
 * have. Names with a capital letter, such as "Math.Round", and names in code marks do not match. Other names, such as "threading.Lock", do.
 */
const WORD_BEFORE_GLUE = /(?:^|[\s(])\p{Ll}{2,}\)?$/u;
const WORD_AFTER_GLUE = /^\p{Lu}\p{Ll}*\s/u;
/** The number of characters that are read before and after the end of such a sentence. */
const MAX_WORD_LENGTH = 32;
/** The length of the longest abbreviation, including the white space before it. */
const MAX_ABBREVIATION_LENGTH = 8;

/** Finds the sentences of a paragraph lazily and in linear time, since a text may be 5 MiB of full stops. */
export function* sentenceSpans(text: string): Generator<Span> {
  let start = 0;
  let from = 0;
  while (from < text.length) {
    CANDIDATE.lastIndex = from;
    const match = CANDIDATE.exec(text);
    if (!match) break;
    const end = endOfSentence(text, match.index, start);
    from = Math.max(end.next, match.index + 1);
    if (!end.ends && from - start < MAX_SENTENCE_CHARS) continue;
    const span = trimmed(text, start, from);
    if (span) yield span;
    start = from;
  }
  const last = trimmed(text, start, text.length);
  if (last) yield last;
}

/** The sentences of a paragraph. */
export function sentences(text: string): string[] {
  return [...sentenceSpans(text)].map(({ start, end }) => text.slice(start, end));
}

function endOfSentence(text: string, at: number, start: number): { ends: boolean; next: number } {
  if (text[at] === "\n") return { ends: lineEnds(text, at), next: at + 1 };
  let next = at + 1;
  while (next < text.length && next - at < MAX_SENTENCE_CHARS && isTerminator(text[next]!)) next++;
  while (next < text.length && next - at < MAX_SENTENCE_CHARS && CLOSING.includes(text[next]!)) next++;
  if (IDEOGRAPHIC.includes(text[at]!)) return { ends: true, next };
  if (next < text.length && !/\s/.test(text[next]!) && !isGlued(text, at, next)) return { ends: false, next };
  const single = text[at] === "." && next === at + 1;
  if (single && isAbbreviated(text.slice(Math.max(start, at - MAX_ABBREVIATION_LENGTH), at), text.slice(next, next + 6)))
    return { ends: false, next };
  return { ends: !/^\s+\p{Ll}/u.test(text.slice(next, next + 4)), next };
}

/** Returns whether the punctuation ends a sentence although no space follows it. */
function isGlued(text: string, at: number, next: number): boolean {
  const [before, after] = [text.slice(Math.max(0, at - MAX_WORD_LENGTH), at), text.slice(next, next + MAX_WORD_LENGTH)];
  return WORD_BEFORE_GLUE.test(before) && WORD_AFTER_GLUE.test(after);
}

/** Whether a full stop belongs to an abbreviation or ordinal. @param before, after the characters next to it. */
function isAbbreviated(before: string, after: string): boolean {
  if (ABBREVIATION.test(before)) return true;
  if (ABBREVIATION_OF_NUMBER.test(before) && NUMBER_AFTER.test(after)) return true;
  return ORDINAL.test(before) && GERMAN_MONTH_AFTER.test(after);
}

function isTerminator(character: string): boolean {
  return ".!?…。！？｡؟۔।".includes(character);
}

/** A line break ends a sentence unless the next line starts in lower case or this one was wrapped. */
function lineEnds(text: string, at: number): boolean {
  const lineStart = text.lastIndexOf("\n", at - 1) + 1;
  if (/^[ \t]*\p{Ll}/u.test(text.slice(at + 1, at + 12))) return false;
  return at - lineStart < MIN_WRAPPED_LENGTH;
}

function trimmed(text: string, from: number, to: number): Span | undefined {
  let start = from;
  let end = to;
  while (start < end && isSpace(text.charCodeAt(start))) start++;
  while (end > start && isSpace(text.charCodeAt(end - 1))) end--;
  return start < end ? { start, end } : undefined;
}

function isSpace(code: number): boolean {
  return code <= 0x20 || code === 0xa0 || code === 0x3000;
}
