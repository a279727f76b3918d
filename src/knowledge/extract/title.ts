import { cleanLine } from "./clean.ts";

/** What may be a page's title, as it stands in the page; "" where there is none. */
export interface TitleCandidates {
  og: string;
  title: string;
  h1: string;
}

const MAX_TITLE_CHARS = 300;
/** What is longer is a text that stands in a title's place. */
export const MAX_CANDIDATE_CHARS = 1_000;
/** Between a page's name and its site's. A hyphen may be part of a name, so it counts with spaces alone. */
const SEPARATOR = /(?<!\s)\s+[-–—|·•»«:/]+\s+|[|»·—]/;
/** Words that sites add to their own name. */
const SITE_WORDS =
  /\b(?:docs?|documentation|help|support|cent(?:er|re)|hc|blog|knowledge|base|guides?|handbook|manual|wiki|com|org|net|io|dev|inc|ltd|gmbh|the|official|site|website|home)\b/g;

/**
 * A page's title without its site's name: what `og:title` or `title` says, or the first heading where those name the site alone.
 * Falls back on the last part of the URL's path, then on its host.
 */
export function pageTitle(candidates: TitleCandidates, siteName: string, url: string): string {
  const site = siteKeys(siteName, url);
  const { og, title, h1 } = shortened(candidates);
  for (const candidate of [og, title]) {
    const plain = withoutSite(candidate, h1, site);
    if (plain !== "") return bounded(plain);
  }
  return bounded(h1 || og || title || titleOfUrl(url));
}

function shortened({ og, title, h1 }: TitleCandidates): TitleCandidates {
  const cut = (text: string): string => text.slice(0, MAX_CANDIDATE_CHARS);
  return { og: cut(og), title: cut(title), h1: cut(h1) };
}

/** A title made of a URL: its last part with words for hyphens, else its host. */
export function titleOfUrl(url: string): string {
  const { pathname, hostname } = new URL(url);
  const last = pathname.split("/").findLast((part) => part !== "") ?? "";
  const name = cleanLine(
    decoded(last)
      .replace(/\.[a-z0-9]{1,8}$/i, "")
      .replace(/[-_+]+/g, " "),
  );
  return name === "" || /^index$/i.test(name) ? hostname : name[0]!.toUpperCase() + name.slice(1);
}

/** "" where the candidate names the site alone. */
function withoutSite(candidate: string, h1: string, site: Set<string>): string {
  const parts = candidate
    .split(SEPARATOR)
    .map((part) => part.trim())
    .filter((part) => part !== "");
  if (parts.length === 0) return "";
  if (h1 !== "" && parts.some((part) => same(part, h1))) return h1;
  if (h1 !== "" && same(candidate, h1)) return h1;
  const isSite = (part: string): boolean => site.has(key(part));
  if (parts.every(isSite)) return h1 === "" ? candidate : "";
  let title = candidate;
  while (parts.length > 1 && isSite(parts.at(-1)!))
    title = title.slice(0, title.lastIndexOf(parts.pop()!)).replace(/(?<!\s)\s*(?<![-–—|·•»«:/])[-–—|·•»«:/]+\s*$/, "");
  while (parts.length > 1 && isSite(parts[0]!)) {
    const first = parts.shift()!;
    title = title.slice(title.indexOf(first) + first.length).replace(/^\s*[-–—|·•»«:/]+\s*/, "");
  }
  return cutAtBar(title);
}

/** What follows the last bar is a site's name, known or not. */
function cutAtBar(title: string): string {
  const bar = title.lastIndexOf(" | ");
  return bar > 2 ? title.slice(0, bar).trim() : title;
}

function siteKeys(siteName: string, url: string): Set<string> {
  const { hostname } = new URL(url);
  const labels = hostname
    .split(".")
    .slice(0, -1)
    .filter((label) => label !== "www");
  const keys = [siteName, ...labels, labels.join(" ")].map(key).filter((value) => value !== "");
  return new Set([...keys, ""]);
}

/** A name without what sites add to it, in lower case and without spaces: "Acme Help Center" and "acme.com" are one. */
function key(name: string): string {
  const plain = name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ");
  return plain.replace(SITE_WORDS, "").replaceAll(" ", "");
}

function same(one: string, other: string): boolean {
  const plain = (text: string): string => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");
  return plain(one) === plain(other) && plain(one) !== "";
}

function bounded(title: string): string {
  return cleanLine(title).slice(0, MAX_TITLE_CHARS).toWellFormed();
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
