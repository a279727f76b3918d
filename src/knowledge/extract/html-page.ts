import type { Element, Text } from "domhandler";
import { getElementsByTagName, getElementsByTagType } from "domutils";
import { ElementType } from "htmlparser2";
import { cleanLine, truncateText } from "./clean.ts";
import { canonicalOfHeader, type PageHead, readHead, resolveLink } from "./html-head.ts";
import { mainText, pageFacts } from "./html-main.ts";
import { parseHtml } from "./html-tree.ts";
import { decodeText, type ExtractedPage, type FetchedResponse, type PageLink } from "./response.ts";
import { directivesOfHeader } from "./robots-directives.ts";
import { pageTitle } from "./title.ts";

/** A page with less text than this is told by its description too: a landing page, or one that scripts fill. */
const THIN_CHARS = 300;
/** As much of a description as shows whether the text holds it. */
const DESCRIPTION_HEAD_CHARS = 40;

/** Reads a page of HTML. */
export async function extractHtml({ url, headers, bytes }: FetchedResponse): Promise<ExtractedPage> {
  const { root, truncated } = parseHtml(decodeText(bytes, headers.get("content-type")));
  const head = readHead(root);
  const main = mainText(root, pageFacts(root));
  const text = truncateText(withQuestions(withDescription(main, head.description), head.structuredData));
  const links = linksOf(root, url, head.baseHref);
  const refreshTo = head.refreshTo === null ? null : resolveLink(head.refreshTo, url);
  if (refreshTo !== null) links.unshift({ url: refreshTo, nofollow: false });
  const fromHeader = directivesOfHeader(headers.get("x-robots-tag"));
  return {
    kind: "page",
    title: pageTitle(head.titles, head.siteName, url),
    canonicalUrl: refreshTo ?? canonicalOf(head, headers, url),
    noindex: head.robots.noindex || fromHeader.noindex,
    nofollow: head.robots.nofollow || fromHeader.nofollow,
    text: text.text,
    links,
    truncated: truncated || text.truncated,
  };
}

function canonicalOf(head: PageHead, headers: Headers, url: string): string | null {
  const base = resolveLink(head.baseHref ?? "", url) ?? url;
  return (head.canonical === null ? null : resolveLink(head.canonical, base)) ?? canonicalOfHeader(headers, url);
}

function withDescription(text: string, description: string): string {
  const isTold = text.replace(/\s+/g, " ").includes(description.slice(0, DESCRIPTION_HEAD_CHARS));
  if (description === "" || text.length >= THIN_CHARS || isTold) return text;
  // Below the page's own heading, so that it stands under it.
  const heading = /^# .*\n*/.exec(text)?.[0] ?? "";
  return [heading.trim(), description, text.slice(heading.length)].filter((part) => part !== "").join("\n\n");
}

function withQuestions(text: string, structuredData: string[]): string {
  const questions = questionsBeside(text, structuredData);
  return questions === "" ? text : `${text}\n\n${questions}`.trim();
}

/** More links than this on one page are a list of everything: the sitemap has them. */
const MAX_LINKS = 5_000;

/** A page's links in order, each once, absolute by its `base`. Links to mail, telephone, scripts and data are none. */
function linksOf(root: Element, pageUrl: string, baseHref: string | null): PageLink[] {
  const base = resolveLink(baseHref ?? "", pageUrl) ?? pageUrl;
  const found = new Map<string, PageLink>();
  for (const element of getElementsByTagName((name) => name === "a" || name === "area", root)) {
    if (found.size >= MAX_LINKS) break;
    add(element, base, found);
  }
  return [...found.values()];
}

function add({ attribs }: Element, base: string, found: Map<string, PageLink>): void {
  const href = attribs["href"];
  // A link within the page leads to nothing new.
  if (!href || href.startsWith("#")) return;
  const url = resolveLink(href, base);
  if (url === null) return;
  const nofollow = /(?:^|\s)(?:nofollow|ugc|sponsored)(?:\s|$)/i.test(attribs["rel"] ?? "");
  const known = found.get(url);
  if (known) known.nofollow &&= nofollow;
  else found.set(url, { url, nofollow });
}

interface QuestionAndAnswer {
  question: string;
  answer: string;
}

const MAX_QUESTIONS = 200;
const MAX_DEPTH = 8;

/** The questions that a page's JSON-LD answers (FAQPage, QAPage) and its text does not hold, as sections. */
function questionsBeside(text: string, structuredData: string[]): string {
  const found = structuredData.flatMap((json) => questionsIn(parsed(json), 0)).slice(0, MAX_QUESTIONS);
  return found
    .filter(({ question, answer }) => !text.includes(answer.slice(0, 60)) || !text.includes(question))
    .map(({ question, answer }) => `## ${question}\n\n${answer}`)
    .join("\n\n");
}

function questionsIn(value: unknown, depth: number): QuestionAndAnswer[] {
  if (depth > MAX_DEPTH || typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.slice(0, MAX_QUESTIONS).flatMap((item) => questionsIn(item, depth + 1));
  const node = value as Record<string, unknown>;
  if ([node["@type"]].flat().includes("Question")) return questionOf(node);
  return [...questionsIn(node["@graph"], depth + 1), ...questionsIn(node["mainEntity"], depth + 1)];
}

function questionOf(node: Record<string, unknown>): QuestionAndAnswer[] {
  const accepted = [node["acceptedAnswer"]].flat()[0] as Record<string, unknown> | undefined;
  const question = plain(node["name"]);
  const answer = plain(accepted?.["text"]);
  return question === "" || answer === "" ? [] : [{ question, answer }];
}

/** Structured data holds HTML in its texts. */
function plain(value: unknown): string {
  if (typeof value !== "string") return "";
  const texts = getElementsByTagType(ElementType.Text, parseHtml(value).root) as Text[];
  return cleanLine(texts.map(({ data }) => data).join(" "));
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}
