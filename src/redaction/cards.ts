import { isDigit, skipSeparator, type Span } from "./spans.ts";

/**
 * The ranges of the first digits of payment cards, with the lengths of their numbers. The ranges are those of ISO/IEC 7812 as the networks
 * publish them: Visa, Mastercard, American Express, Discover (with Diners Club, JCB and UnionPay), Maestro, Mir, RuPay and Troy. The
 * lengths are those of https://en.wikipedia.org/wiki/Payment_card_number (2026) and of the package credit-card-type 10.
 */
const ISSUERS: readonly { from: number; to: number; lengths: readonly number[] }[] = [
  { from: 4, to: 4, lengths: [13, 16, 18, 19] },
  { from: 51, to: 55, lengths: [16] },
  { from: 2221, to: 2720, lengths: [16] },
  { from: 34, to: 34, lengths: [15] },
  { from: 37, to: 37, lengths: [15] },
  { from: 300, to: 305, lengths: [14, 16, 19] },
  { from: 3095, to: 3095, lengths: [14, 16, 19] },
  { from: 36, to: 36, lengths: [14, 16, 19] },
  { from: 38, to: 39, lengths: [14, 16, 19] },
  { from: 3528, to: 3589, lengths: [16, 17, 18, 19] },
  { from: 6011, to: 6011, lengths: [16, 19] },
  { from: 644, to: 649, lengths: [16, 19] },
  { from: 65, to: 65, lengths: [16, 19] },
  { from: 60, to: 60, lengths: [16] },
  { from: 62, to: 62, lengths: [16, 17, 18, 19] },
  { from: 81, to: 81, lengths: [16, 17, 18, 19] },
  { from: 508, to: 508, lengths: [16] },
  { from: 50, to: 50, lengths: [16, 17, 18, 19] },
  { from: 56, to: 58, lengths: [16, 17, 18, 19] },
  { from: 63, to: 63, lengths: [16, 17, 18, 19] },
  { from: 67, to: 67, lengths: [16, 17, 18, 19] },
  { from: 2200, to: 2204, lengths: [16, 17, 18, 19] },
  { from: 9792, to: 9792, lengths: [16] },
];

const MIN_DIGITS = 13;
const MAX_DIGITS = 19;
/** The most digits of a phone number, without the plus sign before them (ITU-T E.164). */
const MAX_PHONE_DIGITS = 15;

/** A run of digits without anything between them, and the separator before it. */
interface Group extends Span {
  separator: string;
}

/**
 * Finds payment card numbers. The digits may be in groups, as they are printed on cards or otherwise, also over several lines. The issuer,
 * the length and the check digit must be right, so that few other numbers are taken for cards.
 */
export function findCards(text: string): Span[] {
  return runsOf(text).flatMap((groups) => findInRun(text, groups));
}

/** The runs of groups that are divided by nothing but separators. */
function runsOf(text: string): Group[][] {
  const runs: Group[][] = [];
  let at = 0;
  while (at < text.length) {
    if (!isDigit(text[at])) {
      at++;
      continue;
    }
    const run: Group[] = [];
    for (let start = at; isDigit(text[start]); start = skipSeparator(text, at)) {
      const separator = text.slice(at, start);
      at = start;
      while (isDigit(text[at])) at++;
      run.push({ start, end: at, separator });
    }
    runs.push(run);
  }
  return runs;
}

function findInRun(text: string, groups: readonly Group[]): Span[] {
  const sizes = groups.map(({ start, end }) => end - start);
  const digits = sizes.reduce((sum, size) => sum + size, 0);
  if (digits < MIN_DIGITS) return [];
  if (isAfterPlus(text, groups[0]!.start) && digits <= MAX_PHONE_DIGITS) return [];
  const found: Span[] = [];
  let first = 0;
  /** Whether a card ends directly before `first`. */
  let isAfterCard = false;
  while (first < groups.length) {
    const last = lastOfCard(text, groups, first, isAfterCard);
    if (last !== undefined) found.push({ start: groups[first]!.start, end: groups[last]!.end });
    isAfterCard = last !== undefined;
    first = (last ?? first) + 1;
  }
  return found;
}

function isAfterPlus(text: string, start: number): boolean {
  return text[start - 1] === "+" || (text[start - 1] === " " && text[start - 2] === "+");
}

/** The last group of the card number that begins with a group; undefined if none begins there. A longer number is preferred. */
function lastOfCard(text: string, groups: readonly Group[], first: number, isAfterCard: boolean): number | undefined {
  let digits = "";
  const sizes: number[] = [];
  let found: number | undefined;
  for (let last = first; last < groups.length; last++) {
    const { start, end } = groups[last]!;
    sizes.push(end - start);
    digits += text.slice(start, Math.min(end, start + MAX_DIGITS + 1));
    if (digits.length > MAX_DIGITS) break;
    const isPlausible = last === first || isWhole(groups, first, last) || (isPrinted(sizes) && mayBegin(groups, first, isAfterCard));
    if (isPlausible && isCard(digits)) found = last;
  }
  return found;
}

/** Whether groups begin and end where a run or a line does. The digits may then be in groups of any size. */
function isWhole(groups: readonly Group[], first: number, last: number): boolean {
  const isBreak = ({ separator }: Group) => separator.length > 1 || separator.includes("\n");
  return (first === 0 || isBreak(groups[first]!)) && (last === groups.length - 1 || isBreak(groups[last + 1]!));
}

/** Whether groups have the sizes that they have on cards: 4-4-4-4, 4-6-5 or 4-6-4, or the like. */
function isPrinted(sizes: readonly number[]): boolean {
  const inner = sizes.slice(0, -1);
  const last = sizes.at(-1)!;
  if (sizes.length === 3 && sizes[0] === 4 && sizes[1] === 6) return last === 4 || last === 5;
  return sizes.length >= 4 && last <= 4 && inner.every((size) => size === 4);
}

/**
 * Whether a card may begin with a group that follows others. It may not in the middle of a longer number whose groups all have four digits,
 * such as that of a parcel.
 */
function mayBegin(groups: readonly Group[], first: number, isAfterCard: boolean): boolean {
  const [before, own, next] = [groups[first - 1], groups[first]!, groups[first + 1]];
  return !before || isAfterCard || before.end - before.start !== 4 || own.separator !== next?.separator;
}

function isCard(digits: string): boolean {
  return hasIssuer(digits) && hasLuhnDigit(digits) && !isProductNumber(digits);
}

function hasIssuer(digits: string): boolean {
  return ISSUERS.some(({ from, to, lengths }) => {
    const prefix = Number(digits.slice(0, String(from).length));
    return prefix >= from && prefix <= to && lengths.includes(digits.length);
  });
}

/** Whether the last digit is the check digit of ISO/IEC 7812-1, annex B. */
function hasLuhnDigit(digits: string): boolean {
  const sum = Array.from(digits, Number)
    .reverse()
    .reduce((total, digit, at) => total + (at % 2 === 0 ? digit : luhnDouble(digit)), 0);
  return sum % 10 === 0;
}

const luhnDouble = (digit: number) => (digit > 4 ? 2 * digit - 9 : 2 * digit);

/**
 * Whether 13 digits are an EAN, which is on every product, and has another check digit than a card. Cards with 13 digits have not been
 * issued for decades.
 */
function isProductNumber(digits: string): boolean {
  if (digits.length !== 13) return false;
  const sum = Array.from(digits, Number).reduce((total, digit, at) => total + (at % 2 === 0 ? digit : 3 * digit), 0);
  return sum % 10 === 0;
}
