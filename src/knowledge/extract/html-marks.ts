import { type ChildNode, type Element, isTag, isText } from "domhandler";
import { existsOne, textContent } from "domutils";
import { isNamed } from "./html-rules.ts";

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
export function isAnchorMark(element: Element): boolean {
  if (element.name !== "a" && element.name !== "button") return false;
  if (element.name === "button") return !isAccordionButton(element) && !QUESTION.test(textContent(element));
  const isWithin = (element.attribs["href"] ?? "").includes("#") || element.attribs["href"] === undefined;
  if (!isWithin) return false;
  const text = textContent(element);
  if (ANCHOR_TEXT.test(text)) return true;
  const label = element.attribs["aria-label"] ?? element.attribs["title"] ?? text;
  return isNamed(element, ANCHOR_CLASS) && ANCHOR_LABEL.test(label) && (text.length < 3 || ANCHOR_LABEL.test(text));
}

/** Whether a button is the question or title of a panel that it opens. */
export function isAccordionButton(element: Element): boolean {
  const text = textContent(element);
  if (!/\p{L}/u.test(text)) return false;
  if (QUESTION.test(text)) return true;
  return (
    element.attribs["aria-expanded"] !== undefined && (element.attribs["aria-controls"] !== undefined || isNamed(element, ACCORDION_CLASS))
  );
}

/** Whether a text asks. */
export function hasQuestion(text: string): boolean {
  return QUESTION.test(text);
}

/** Whether an element is the number of a footnote, or the way back from one. */
export function isFootnoteMark(element: Element): boolean {
  if (element.name !== "sup" && element.name !== "a") return false;
  const link = element.name === "a" ? element : soleChild(element);
  if (link?.name !== "a" || !(link.attribs["href"] ?? "").startsWith("#")) return false;
  return FOOTNOTE_TEXT.test(textContent(link)) && (element.name === "sup" || /foot|fn|backref/i.test(link.attribs["class"] ?? ""));
}

/** Whether a list holds nothing but links into its own page: a table of contents. */
export function isLinkListWithin(list: Element): boolean {
  const links = { within: 0 };
  return onlyLinksWithin(list.children, links) && links.within >= MIN_LINKS_WITHIN;
}

function onlyLinksWithin(nodes: ChildNode[], links: { within: number }): boolean {
  return nodes.every((node) => {
    if (!isTag(node)) return !isText(node) || node.data.trim() === "";
    if (node.name !== "a") return onlyLinksWithin(node.children, links);
    links.within++;
    return (node.attribs["href"] ?? "").startsWith("#");
  });
}

/** Whether a list's items are sections with headings or accordions: then it is a layout. */
export function holdsSections(element: Element): boolean {
  return existsOne((child) => /^h[1-6]$/.test(child.name) || (child.name === "button" && isAccordionButton(child)), element.children);
}

/** The only element within, where no text stands beside it. */
function soleChild(element: Element): Element | undefined {
  const [child, ...others] = element.children.filter((node) => !isText(node) || node.data.trim() !== "");
  return others.length === 0 && child && isTag(child) ? child : undefined;
}
