import { isDigit, isLetter, skipSeparator, type Span } from "./spans.ts";

/**
 * The lengths of the IBANs of each country: those of the IBAN registry of SWIFT (release 100), and of the countries that use IBANs without
 * being in it. The table is compared with that of the package ibantools 4.5.4.
 */
const COUNTRIES_BY_LENGTH: Readonly<Record<number, string>> = {
  15: "NO",
  16: "BE",
  18: "AX DK FI FK FO GL NL SD",
  19: "MK SI",
  20: "AT BA EE KZ LT LU MN XK",
  21: "CH HR LI LV",
  22: "BG BH CR DE GB GE IE ME RS VA",
  23: "AE GI IL IQ OM SO TL",
  24: "AD CZ ES MD PK RO SA SE SK TN VG",
  25: "AO CV GW LY MZ PT ST",
  26: "DZ IR IS TR",
  27: "BI BL CF CG CM DJ FR GA GF GP GQ GR IT KM MC MF MG MQ MR NC PF PM RE SM TD TF WF YT",
  28: "AL AZ BF BJ BY CI CY DO GT HN HU LB MA ML NE NI PL SN SV TG",
  29: "BR EG PS QA UA",
  30: "JO KW MU YE",
  31: "MT SC",
  32: "LC",
  33: "RU",
};

const LENGTHS: ReadonlyMap<string, number> = new Map(
  Object.entries(COUNTRIES_BY_LENGTH).flatMap(([length, countries]) => countries.split(" ").map((country) => [country, Number(length)])),
);

/** Finds IBANs, with or without separators, in upper or lower case. Country, length and check digits must be right. */
export function findIbans(text: string): Span[] {
  const found: Span[] = [];
  for (let at = 0; at < text.length; at++) {
    const end = endOfIban(text, at);
    if (end === undefined) continue;
    found.push({ start: at, end });
    at = end - 1;
  }
  return found;
}

/** The end of the IBAN that begins at a position; undefined if none does. */
function endOfIban(text: string, start: number): number | undefined {
  if (!isLetter(text[start]) || !isLetter(text[start + 1]) || isDigit(text[start - 1])) return undefined;
  const length = LENGTHS.get(text.slice(start, start + 2).toUpperCase());
  if (length === undefined) return undefined;
  let iban = "";
  let at = start;
  while (iban.length < length) {
    const next = iban.length === 0 ? at : skipSeparator(text, at);
    const character = text[next];
    const isFitting = isDigit(character) || (isLetter(character) && (iban.length < 2 || iban.length >= 4));
    if (!isFitting) return undefined;
    iban += character;
    at = next + 1;
  }
  return !isDigit(text[at]) && isIban(iban.toUpperCase()) ? at : undefined;
}

/** Whether a text of the right length is an IBAN. A sentence is none: most of an IBAN are digits. */
function isIban(iban: string): boolean {
  const digits = Array.from(iban).filter(isDigit).length;
  return digits * 2 > iban.length && remainderOf97(iban.slice(4) + iban.slice(0, 4)) === 1;
}

/** The remainder of ISO 13616, in which a letter stands for a number from 10 to 35. */
function remainderOf97(text: string): number {
  let remainder = 0;
  for (const character of text) {
    const value = Number.parseInt(character, 36);
    remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97;
  }
  return remainder;
}
