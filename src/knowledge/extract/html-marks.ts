import { isNamed } from "./html-rules.ts";
import type { HtmlElement, HtmlNode } from "./html-tree.ts";

const ANCHOR_CLASS =
  /(?:^|-)(?:headerlink|header-anchor|hash-link|anchor|anchorjs-link|heading-link|permalink|anchor-link|heading-anchor)(?:-|$)/;
const ANCHOR_LABEL = /^(?:permalink|permanent link|direct link|link to|anchor|copy link)\b/i;
/** Texts of links that stand for the heading they are in. */
const ANCHOR_TEXT = /^[\s#¶§🔗⚓\u200b\u2060\ufeff\u00a0\uf0c1]*$/u;
const ACCORDION_CLASS = /(?:^|-)(?:accordion|faq|question|collapse|collapsible|toggle|expander|disclosure)(?:-|$)/;
const FOOTNOTE_TEXT = /^\s*(?:\[?\d{1,3}\]?|[*†‡↩]+\ufe0e?)\s*$/u;
const QUESTION = /[?？]\s*$/;
/** Two links to headings are already a table of contents; one may be an item. */
const MIN_LINKS_WITHIN = 2;

/** Whether an element in a heading is the link to that heading and none of its text. */
export function isAnchorMark(element: HtmlElement): boolean {
  if (element.tag !== "a" && element.tag !== "button") return false;
  if (element.tag === "button") return !isAccordionButton(element) && !QUESTION.test(rawText(element));
  const isWithin = (element.attributes.get("href") ?? "").includes("#") || !element.attributes.has("href");
  if (!isWithin) return false;
  const text = rawText(element);
  if (ANCHOR_TEXT.test(text)) return true;
  const label = element.attributes.get("aria-label") ?? element.attributes.get("title") ?? text;
  return isNamed(element, ANCHOR_CLASS) && ANCHOR_LABEL.test(label) && (text.length < 3 || ANCHOR_LABEL.test(text));
}

/** Whether a button is the question or title of a panel that it opens. */
export function isAccordionButton(element: HtmlElement): boolean {
  const text = rawText(element);
  if (!/\p{L}/u.test(text)) return false;
  if (QUESTION.test(text)) return true;
  return element.attributes.has("aria-expanded") && (element.attributes.has("aria-controls") || isNamed(element, ACCORDION_CLASS));
}

/** Whether a text asks. */
export function hasQuestion(text: string): boolean {
  return QUESTION.test(text);
}

/** Whether an element is the number of a footnote, or the way back from one. */
export function isFootnoteMark(element: HtmlElement): boolean {
  if (element.tag !== "sup" && element.tag !== "a") return false;
  const link = element.tag === "a" ? element : soleChild(element);
  if (link?.tag !== "a" || !(link.attributes.get("href") ?? "").startsWith("#")) return false;
  return FOOTNOTE_TEXT.test(rawText(link)) && (element.tag === "sup" || /foot|fn|backref/i.test(link.attributes.get("class") ?? ""));
}

/** Whether a list holds nothing but links into its own page: a table of contents. */
export function isLinkListWithin(list: HtmlElement): boolean {
  const links = { within: 0 };
  return onlyLinksWithin(list.children, links) && links.within >= MIN_LINKS_WITHIN;
}

function onlyLinksWithin(nodes: HtmlNode[], links: { within: number }): boolean {
  return nodes.every((node) => {
    if (typeof node === "string") return node.trim() === "";
    if (node.tag !== "a") return onlyLinksWithin(node.children, links);
    links.within++;
    return (node.attributes.get("href") ?? "").startsWith("#");
  });
}

/** Whether a list's items are sections with headings or accordions: then it is a layout. */
export function holdsSections(element: HtmlElement): boolean {
  return element.children.some((child) => {
    if (typeof child === "string") return false;
    return /^h[1-6]$/.test(child.tag) || (child.tag === "button" && isAccordionButton(child)) || holdsSections(child);
  });
}

/** The only element within, where no text stands beside it. */
function soleChild(element: HtmlElement): HtmlElement | undefined {
  const [child, ...others] = element.children.filter((node) => typeof node !== "string" || node.trim() !== "");
  return others.length === 0 && typeof child === "object" ? child : undefined;
}

/** All characters within, as they stand. */
export function rawText(element: HtmlElement): string {
  return element.children.map((child) => (typeof child === "string" ? child : rawText(child))).join("");
}
