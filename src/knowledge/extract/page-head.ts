import { type Element, isTag } from "domhandler";
import { textContent } from "domutils";
import { cleanLine, withoutLinkSign } from "./clean.ts";
import { decoded, resolveLink } from "./links.ts";
import { directivesOfMeta, type RobotsDirectives } from "./robots-directives.ts";

/** The metadata of a page. */
export interface PageHead {
  titles: TitleCandidates;
  siteName: string;
  description: string;
  /** The URL as it is written; null if there is none. */
  canonical: string | null;
  baseHref: string | null;
  /** The target of a meta refresh that redirects. */
  refreshTo: string | null;
  robots: RobotsDirectives;
  /** The texts of its JSON-LD scripts. */
  structuredData: string[];
}

const JSON_LD = /^application\/ld\+json\s*(?:;|$)/i;
/** A longer script describes a catalogue, not a page of questions. */
const MAX_JSON_LD_CHARS = 200_000;
/** A slower refresh reloads a page; one within these seconds is a redirect. */
const MAX_REFRESH_IN_SECONDS = 10;
const REFRESH = /^\s*(\d+)(?:\.\d*)?\s*[;,]\s*(?:url\s*=\s*)?["']?([^"']+)/i;

/** Reads a page's metadata from all its elements: many pages have no head, or two. */
export function readHead(root: Element): PageHead {
  const reader = new HeadReader();
  reader.visit(root, false);
  return reader.head();
}

class HeadReader {
  private readonly metas: { name: string; content: string }[] = [];
  private readonly structuredData: string[] = [];
  private title = "";
  private h1 = "";
  private canonical: string | null = null;
  private baseHref: string | null = null;
  private refresh = "";

  visit(element: Element, inSvg: boolean): void {
    if (!inSvg) this.read(element);
    const isSvg = inSvg || element.name === "svg";
    for (const child of element.children) if (isTag(child)) this.visit(child, isSvg);
  }

  head(): PageHead {
    const refresh = REFRESH.exec(this.refresh);
    return {
      titles: { og: this.meta("og:title"), title: this.title, h1: this.h1 },
      siteName: this.meta("og:site_name") || this.meta("application-name"),
      description: this.meta("description") || this.meta("og:description"),
      canonical: this.canonical,
      baseHref: this.baseHref,
      refreshTo: refresh && Number(refresh[1]) <= MAX_REFRESH_IN_SECONDS ? refresh[2]!.trim() : null,
      robots: directivesOfMeta(this.metas),
      structuredData: this.structuredData,
    };
  }

  private read(element: Element): void {
    const { name, attribs } = element;
    if (name === "title") this.title ||= cleanLine(textContent(element));
    else if (name === "h1") this.h1 ||= withoutLinkSign(cleanLine(textContent(element)));
    else if (name === "base") this.baseHref ??= attribs["href"] ?? null;
    else if (name === "meta") this.readMeta(element);
    else if (name === "link" && /(?:^|\s)canonical(?:\s|$)/i.test(attribs["rel"] ?? "")) this.canonical ??= attribs["href"] ?? null;
    else if (name === "script" && JSON_LD.test(attribs["type"] ?? "")) this.readScript(textContent(element));
  }

  private readMeta({ attribs }: Element): void {
    const content = attribs["content"] ?? "";
    const name = (attribs["name"] ?? attribs["property"] ?? attribs["http-equiv"] ?? "").toLowerCase();
    if (name === "refresh") this.refresh ||= content;
    else if (name !== "") this.metas.push({ name, content });
  }

  private readScript(text: string): void {
    if (text.length <= MAX_JSON_LD_CHARS) this.structuredData.push(text);
  }

  private meta(name: string): string {
    return cleanLine(this.metas.find((meta) => meta.name === name && meta.content.trim() !== "")?.content ?? "");
  }
}

/** The canonical URL of a Link header, which PDFs may have too. */
export function canonicalOfHeader(headers: Headers, url: string): string | null {
  const canonical = /<([^<>]{1,2000})>\s*;[^,<]*\brel\s*=\s*"?canonical\b/i.exec((headers.get("link") ?? "").slice(0, 8_000));
  return canonical ? resolveLink(canonical[1]!, url) : null;
}

/** The texts that may be a page's title; "" for none. */
interface TitleCandidates {
  og: string;
  title: string;
  h1: string;
}

const MAX_TITLE_CHARS = 300;
/** A longer text in the place of a title is no title. */
export const MAX_CANDIDATE_CHARS = 1_000;
/** The separator between the names of page and site. A hyphen counts only between spaces, since it may be part of a name. */
const SEPARATOR = /(?<!\s)\s+[-–—|·•»«:/]+\s+|[|»·—]/;
/** Words that sites add to their own name. */
const SITE_WORDS =
  /\b(?:docs?|documentation|help|support|cent(?:er|re)|hc|blog|knowledge|base|guides?|handbook|manual|wiki|com|org|net|io|dev|inc|ltd|gmbh|the|official|site|website|home)\b/g;

/**
 * Returns a page's title without its site's name: from `og:title` or `title`, or the first heading where these contain only the name
 * of the site. Falls back to the last part of the URL's path, then to its host.
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

/** Makes a title of a URL: the last part of its path as words, otherwise its host. */
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

/** Removes the site's name from a title; "" if nothing else is left. */
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

/** The text after the last bar is the name of a site, even an unknown one. */
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

/** A name for comparison: "Acme Help Center" and "acme.com" are equal. */
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
