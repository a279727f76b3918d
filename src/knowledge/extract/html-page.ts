import { type Element, isTag, type Text } from "domhandler";
import { existsOne, getElementsByTagName, getElementsByTagType } from "domutils";
import { ElementType } from "htmlparser2";
import { parsedJson } from "../../platform/json.ts";
import { pacer } from "../../platform/time.ts";
import { cleanLine, MAX_TEXT_CHARS, truncateText } from "./clean.ts";
import { hasClass, type PageFacts } from "./html-rules.ts";
import { isMain, textLength, MarkdownRenderer } from "./html-text.ts";
import { parseHtml, parsePage } from "./html-tree.ts";
import { resolveLink } from "./links.ts";
import { canonicalOfHeader, type PageHead, pageTitle, readHead } from "./page-head.ts";
import { directivesOfHeader } from "./robots-directives.ts";
import { decodeText, type ExtractedPage, type FetchedResponse, type PageLink } from "./response.ts";

/** The description is added to a page with less text: a landing page, or one that scripts fill. */
const THIN_CHARS = 300;
/** The beginning of a description that is looked for in the text. */
const DESCRIPTION_HEAD_CHARS = 40;

/** Reads a page of HTML. */
export async function extractHtml({ url, headers, bytes }: FetchedResponse): Promise<ExtractedPage> {
  const { root, truncated } = await parsePage(decodeText(bytes, headers.get("content-type")));
  // Each of these visits all elements.
  const pause = pacer();
  const head = readHead(root);
  await pause();
  const facts = pageFacts(root);
  await pause();
  const main = await mainText(root, facts);
  await pause();
  const text = truncateText(withQuestions(withDescription(main.text, head.description), head.structuredData));
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
    truncated: truncated || ((main.truncated || text.truncated) && "length"),
  };
}

function canonicalOf(head: PageHead, headers: Headers, url: string): string | null {
  const base = resolveLink(head.baseHref ?? "", url) ?? url;
  return (head.canonical === null ? null : resolveLink(head.canonical, base)) ?? canonicalOfHeader(headers, url);
}

function withDescription(text: string, description: string): string {
  const isContained = text.replace(/\s+/g, " ").includes(description.slice(0, DESCRIPTION_HEAD_CHARS));
  if (description === "" || text.length >= THIN_CHARS || isContained) return text;
  // The description goes below the page's own heading.
  const heading = /^# .*\n*/.exec(text)?.[0] ?? "";
  return [heading.trim(), description, text.slice(heading.length)].filter((part) => part !== "").join("\n\n");
}

/** A page with more links is an index of the whole site, which the sitemap has too. */
const MAX_LINKS = 5_000;

/** The distinct http(s) links of a page, in order. */
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
  // A link within the page leads to no other page.
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

/** The most questions of a page that are looked at. Each is parsed as HTML, and so is its answer. */
const MAX_QUESTIONS = 200;
const MAX_DEPTH = 8;

/** Adds the questions and answers in a page's JSON-LD (FAQPage, QAPage) that are not in its text, as sections. */
function withQuestions(text: string, structuredData: string[]): string {
  const nodes: Record<string, unknown>[] = [];
  for (const json of structuredData) collectQuestions(parsedJson(json), 0, nodes);
  const found = nodes.flatMap(questionOf);
  const missing = found.filter(({ question, answer }) => !text.includes(answer.slice(0, 60)) || !text.includes(question));
  return [text, ...missing.map(({ question, answer }) => `## ${question}\n\n${answer}`)].join("\n\n").trim();
}

function collectQuestions(value: unknown, depth: number, found: Record<string, unknown>[]): void {
  if (depth > MAX_DEPTH || found.length >= MAX_QUESTIONS || typeof value !== "object" || value === null) return;
  const node = value as Record<string, unknown>;
  if ([node["@type"]].flat().includes("Question")) found.push(node);
  else for (const inner of Array.isArray(value) ? value : [node["@graph"], node["mainEntity"]]) collectQuestions(inner, depth + 1, found);
}

function questionOf(node: Record<string, unknown>): QuestionAndAnswer[] {
  const accepted = [node["acceptedAnswer"]].flat()[0] as Record<string, unknown> | undefined;
  const question = plain(node["name"]);
  const answer = plain(accepted?.["text"]);
  return question === "" || answer === "" ? [] : [{ question, answer }];
}

/** The text of a value of structured data, which may be HTML. */
function plain(value: unknown): string {
  if (typeof value !== "string") return "";
  const texts = getElementsByTagType(ElementType.Text, parseHtml(value).root) as Text[];
  return cleanLine(texts.map(({ data }) => data).join(" "));
}

/** Content containers of common site generators and help centres, for pages without a main element. */
const CONTENT_CLASS =
  /^(?:theme-doc-markdown|md-content|rst-content|document|vp-doc|entry-content|post-content|page-content|article-body|article-content|article-text|markdown-body|docs-content|doc-content|main-content|content-body|td-content|article-container|intercom-force-break|mw-parser-output)$/;
const CONTENT_ID =
  /^(?:main|content|main-content|maincontent|page-content|article|article-body|docs-content|mw-content-text|readme|post|bodycontent)$/i;
/** A main part with less text counts as empty. */
const MIN_MAIN_CHARS = 120;
/** An element with a smaller share of the body's text is not the main part. */
const MIN_MAIN_SHARE = 0.2;
/** If more elements have a known name, they are a list of articles. */
const MAX_CANDIDATES = 20;

/** Collects the facts that the rules need. */
function pageFacts(root: Element): PageFacts {
  const controlled = new Set<string>();
  const mainAncestors = new Set<Element>();
  const hasMain = existsOne(isOnlyMain, root.children);
  const visit = (element: Element, withinMain: boolean, withinFrame: boolean): boolean => {
    if (opensPanels(element)) for (const id of (element.attribs["aria-controls"] ?? "").split(/\s+/)) controlled.add(id);
    const inMain = withinMain || isOnlyMain(element);
    const inFrame = withinFrame || /^(?:nav|footer|dialog)$/.test(element.name);
    let holds = isOnlyMain(element) || (element.name === "h1" && (inMain || !hasMain) && !inFrame);
    for (const child of element.children) if (isTag(child) && visit(child, inMain, inFrame)) holds = true;
    if (holds) mainAncestors.add(element);
    return holds;
  };
  visit(root, false, false);
  return { controlled, tabs: tabsOf(root), mainAncestors };
}

/** The tabs of a page by the ids that refer to them or to their panels, without tabs in others, whose text would be read for each. */
function tabsOf(root: Element): Map<string, Element> {
  const tabs = find(root, ({ attribs }) => attribs["role"] === "tab");
  return new Map(
    tabs.flatMap((tab) => {
      const ids = [tab.attribs["id"] ?? "", ...(tab.attribs["aria-controls"] ?? "").split(/\s+/)];
      return ids.filter((id) => id !== "").map((id) => [id, tab] as const);
    }),
  );
}

/**
 * Renders a page's main part: its main element, its only article or a container with a known name, otherwise the body without
 * boilerplate, or with boilerplate if nearly no other text is left.
 */
async function mainText(root: Element, facts: PageFacts): Promise<{ text: string; truncated: boolean }> {
  const renderer = new MarkdownRenderer(facts, true, MAX_TEXT_CHARS);
  const body = find(root, (element) => element.name === "body")[0] ?? root;
  const ofBody = await renderer.render([body]);
  const pause = pacer();
  for (const candidate of candidates(body)) {
    await pause();
    const main = await renderer.render(candidate);
    if (main.text.length >= Math.max(MIN_MAIN_CHARS, ofBody.text.length * MIN_MAIN_SHARE)) return main;
  }
  if (ofBody.text.length >= MIN_MAIN_CHARS || textLength(body) < MIN_MAIN_CHARS) return ofBody;
  const whole = await new MarkdownRenderer(facts, false, MAX_TEXT_CHARS).render([body]);
  return whole.text.length >= MIN_MAIN_CHARS ? whole : ofBody;
}

/** Candidates for the main part, the most likely first; a candidate without elements is no main part. */
function* candidates(body: Element): Generator<Element[]> {
  yield find(body, isOnlyMain);
  const articles = find(body, (element) => element.name === "article");
  yield articles.length === 1 ? articles : [];
  const named = find(body, (element) => hasClass(element, CONTENT_CLASS) || CONTENT_ID.test(element.attribs["id"] ?? ""));
  yield named.length <= MAX_CANDIDATES ? named : [];
}

/** The outermost matching elements, in order. */
function find(root: Element, fits: (element: Element) => boolean): Element[] {
  return root.children.filter(isTag).flatMap((child) => (fits(child) ? [child] : find(child, fits)));
}

function isOnlyMain(element: Element): boolean {
  return element.name !== "article" && isMain(element);
}

function opensPanels({ name, attribs }: Element): boolean {
  return (
    attribs["aria-controls"] !== undefined && (attribs["aria-expanded"] !== undefined || attribs["role"] === "tab") && name !== "input"
  );
}
