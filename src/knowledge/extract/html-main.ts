import { type Element, isTag } from "domhandler";
import { existsOne } from "domutils";
import { isMain, TextMaker, textLength } from "./html-text.ts";
import { isNamed, type PageFacts } from "./html-rules.ts";

/** Containers of the text in common generators and help centres, for pages without a main element. */
const CONTENT_CLASS =
  /^(?:theme-doc-markdown|md-content|rst-content|document|vp-doc|entry-content|post-content|page-content|article-body|article-content|article-text|markdown-body|docs-content|doc-content|main-content|content-body|td-content|article-container|intercom-force-break|mw-parser-output)$/;
const CONTENT_ID =
  /^(?:main|content|main-content|maincontent|page-content|article|article-body|docs-content|mw-content-text|readme|post|bodycontent)$/i;
/** A main part with less text than this is empty, or the text was put elsewhere. */
const MIN_MAIN_CHARS = 120;
/** A main part with less than this share of the body's text is a part that only bears the name. */
const MIN_MAIN_SHARE = 0.2;
/** Of several candidates of one kind, more than this many is a list of articles. */
const MAX_CANDIDATES = 20;

/** What has to be known of a page before its text is read. */
export function pageFacts(root: Element): PageFacts {
  const controlled = new Set<string>();
  const holdsMain = new Set<Element>();
  const hasMain = existsOne(isOnlyMain, root.children);
  const visit = (element: Element, withinMain: boolean, withinFrame: boolean): boolean => {
    if (opensPanels(element)) for (const id of (element.attribs["aria-controls"] ?? "").split(/\s+/)) controlled.add(id);
    const inMain = withinMain || isOnlyMain(element);
    const inFrame = withinFrame || /^(?:nav|footer|dialog)$/.test(element.name);
    let holds = isOnlyMain(element) || (element.name === "h1" && (inMain || !hasMain) && !inFrame);
    for (const child of element.children) if (isTag(child) && visit(child, inMain, inFrame)) holds = true;
    if (holds) holdsMain.add(element);
    return holds;
  };
  visit(root, false, false);
  return { controlled, holdsMain };
}

/**
 * The text of the part of a page that says what the page is about: its main element, else its only article, else a container
 * that is known by name, else all of the body; and where leaving out furniture leaves nearly nothing, the body with it.
 */
export function mainText(root: Element, facts: PageFacts): string {
  const maker = new TextMaker(facts, true);
  const body = find(root, (element) => element.name === "body")[0] ?? root;
  const ofBody = maker.textOf(body);
  for (const candidate of candidates(body)) {
    const text = candidate.map((element) => maker.textOf(element)).join("\n\n");
    if (text.length >= Math.max(MIN_MAIN_CHARS, ofBody.length * MIN_MAIN_SHARE)) return text;
  }
  if (ofBody.length >= MIN_MAIN_CHARS || textLength(body) < MIN_MAIN_CHARS) return ofBody;
  const whole = new TextMaker(facts, false).textOf(body);
  return whole.length >= MIN_MAIN_CHARS ? whole : ofBody;
}

/** Parts that may be the main one, the likeliest first. */
function candidates(body: Element): Element[][] {
  const mains = find(body, isOnlyMain);
  const articles = find(body, (element) => element.name === "article");
  const named = find(body, (element) => isNamed(element, CONTENT_CLASS) || CONTENT_ID.test(element.attribs["id"] ?? ""));
  return [mains, articles.length === 1 ? articles : [], named.length <= MAX_CANDIDATES ? named : []].filter((found) => found.length > 0);
}

/** The outermost elements that fit, in order. */
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
