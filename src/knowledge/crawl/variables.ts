import { nameOf, pageKey } from "./urls.ts";

/*
 * Finds the parts of a URL that may vary endlessly: parameters, numbers and dates in the path, the last segment. Whether a part is a
 * trap is decided by the texts of the pages (`traps.ts`), not by the URL.
 */

/** A part of a URL that may have other values in other URLs of the site. */
export interface Variable {
  /** The name of the variable in all URLs of a site: `?colour`, `/calendar/#`. */
  name: string;
  /** The URL without the variable's value, which is equal for URLs that differ only in this value. */
  rest: string;
  /** Whether the variable is the number of a page of a list. */
  isPageNumber: boolean;
}

const ANY_NUMBER = "#";
const ANY_NAME = "*";
/** The most variables of a path that are considered. */
const MAX_PATH_VARIABLES = 4;

const PAGE_NAME =
  /^(?:p|pg|paged?|page[-_]?(?:no|num|number|index)|pagenum(?:ber)?|seite|pagina|página|sida|side|strona|sayfa|offset|skip|start)$/i;
const PAGE_SEGMENT = /^(?:page|seite|pagina|p)[-_]?\d{1,5}(?:\.\w{2,5})?$/i;
const PAGE_VALUE = /^\d{1,5}$/;
const MONTH_NAME =
  /^(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:tember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)$/i;

/** Returns the variables of a normalised URL. */
export function variablesOf(normalised: string): Variable[] {
  const [base, query] = splitKey(pageKey(normalised));
  return [...pathVariables(base, query), ...parameterVariables(base, query)];
}

/** Returns the path of a URL without its numbers and its last segment, which is equal for pages that one program of the site makes. */
export function shapeOf(normalised: string): string {
  const [base] = splitKey(pageKey(normalised));
  return pathVariables(base, "").at(-1)?.name ?? "";
}

function splitKey(key: string): [base: string, query: string] {
  const at = key.indexOf("?");
  return at === -1 ? [key, ""] : [key.slice(0, at), key.slice(at)];
}

/** Finds each group of segments with digits, and the last segment. */
function pathVariables(base: string, query: string): Variable[] {
  const [host = "", ...segments] = base.split("/");
  const isNumber = segments.map(
    (segment, at) => /\d/.test(segment) || (at > 0 && MONTH_NAME.test(segment) && /\d/.test(segments[at - 1]!)),
  );
  const variables: Variable[] = [];
  const pattern: string[] = [];
  for (let from = 0; from < segments.length && variables.length < MAX_PATH_VARIABLES;) {
    let to = from + 1;
    while (isNumber[from] && isNumber[to]) to++;
    const isLast = to === segments.length;
    if (isNumber[from] || isLast) {
      const any = isNumber[from] ? ANY_NUMBER : ANY_NAME;
      const rest = [host, ...segments.slice(0, from), any, ...segments.slice(to)].join("/") + query;
      const isPageNumber = to - from === 1 && isPageSegment(segments[from]!, segments[from - 1]);
      variables.push({ name: ["", ...pattern, any].join("/"), rest, isPageNumber });
    }
    pattern.push(isNumber[from] ? ANY_NUMBER : segments[from]!);
    from = to;
  }
  return variables;
}

function isPageSegment(segment: string, before = ""): boolean {
  return PAGE_SEGMENT.test(segment) || (PAGE_VALUE.test(segment) && PAGE_NAME.test(before));
}

/** Returns each parameter, and all of them as one variable, since two session parameters change at once. */
function parameterVariables(base: string, query: string): Variable[] {
  const parameters = query === "" ? [] : query.slice(1).split("&");
  const names = [...new Set(parameters.map(nameOf))];
  const variables = names.map((name): Variable => {
    const others = parameters.filter((parameter) => nameOf(parameter) !== name);
    const isPageNumber = parameters.some((parameter) => nameOf(parameter) === name && isPageParameter(parameter));
    return { name: `?${name}`, rest: others.length === 0 ? base : `${base}?${others.join("&")}`, isPageNumber };
  });
  if (names.length < 2) return variables;
  return [...variables, { name: `?${names.join("&")}`, rest: `${base}?${ANY_NAME}`, isPageNumber: parameters.some(isPageParameter) }];
}

function isPageParameter(parameter: string): boolean {
  return PAGE_NAME.test(nameOf(parameter)) && PAGE_VALUE.test(parameter.slice(nameOf(parameter).length + 1));
}

// --- Dates ---

const DATE_PARAMETER = /^(?:.*[-_])?(?:date|day|month|year|week|cal|calendar|start|end|from|to|since|until|yr|mon|time)$/i;
const DATE_VALUE = /^(?:19|20)\d{2}(?:[-./]?(?:0?[1-9]|1[0-2]))?(?:[-./]?(?:0?[1-9]|[12]\d|3[01]))?(?:[T ].*)?$/;
/** The name of a parameter, or a segment, before a value that is part of a date. */
const DATE_PART = /^(?:day|month|year|week|date|cal|calendar|kalender|calendrier|calendario|agenda|diary|schedule|termine)s?$/i;
const YEAR = /^(?:19|20)\d{2}$/;
/** 2026-11, 2026-W47, 2026_11_21, 20261121 */
const DATE = /^(?:19|20)\d{2}(?:[-_]w?\d{1,2}(?:[-_]\d{1,2})?|(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01]))$/i;
const DAY_OR_MONTH = /^w?\d{1,2}$/i;

/** Whether a URL has a date, in its path or a parameter. */
export function hasDate(url: string): boolean {
  const { pathname, searchParams } = new URL(url);
  const isDate = ([name, value]: [string, string]): boolean =>
    DATE.test(value) || (DATE_PARAMETER.test(name) && DATE_VALUE.test(value)) || (DATE_PART.test(name) && /^-?\d{1,4}$/.test(value));
  if ([...searchParams].some(isDate)) return true;
  const segments = pathname.split("/");
  return segments.some((segment, at) => {
    const next = segments[at + 1] ?? "";
    const isYear = YEAR.test(segment) && (DAY_OR_MONTH.test(next) || MONTH_NAME.test(next));
    return isYear || DATE.test(segment) || (DATE_PART.test(segment) && /^\d/.test(next));
  });
}
