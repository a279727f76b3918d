import { type ChildNode, type Element, isTag, isText } from "domhandler";
import { existsOne, nextElementSibling, prevElementSibling, textContent } from "domutils";

/** Elements that are never content: scripts, controls, navigation, deleted text. */
const NON_CONTENT = new Set(
  (
    "head title script style template noscript svg annotation rt rp canvas iframe object embed audio video map " +
    "input select textarea option datalist output progress meter dialog nav menu del s strike"
  ).split(" "),
);
const NON_CONTENT_ROLES = new Set(
  "navigation banner contentinfo search dialog alertdialog menu menubar toolbar tablist tooltip progressbar".split(" "),
);
/** Words of a class or id that mark boilerplate: whole words between hyphens, underscores or capitals. */
const BOILERPLATE = new RegExp(
  `(?:^|-)(?:${[
    "cookies?(?:-\\w+)*|cookiebar|cookieconsent|consent|gdpr|onetrust",
    "breadcrumbs?",
    "sidebar|side-?nav|side-?bar|off-?canvas|left-?nav|right-?nav",
    "toc|tocbot|table-?of-?contents|on-this-page|page-?outline|aside-outline",
    "nav|navbar|nav-?menu|navigation|topbar|masthead|site-header|site-footer|page-footer|footer-links|mobile-nav",
    "social-?links|sharedaddy|addtoany",
    "related-?(?:posts|articles|pages|content)|recent-?(?:posts|articles)|see-also-widget|read-next|up-next",
    "pagination|pager|paginator|prev-next|previous-next|post-navigation|page-?nav|nav-links|pagination-nav",
    "edit-?(?:page|link|this-page|this|on-github)|improve-this-page|last-?(?:updated|modified)|lastmod|page-?meta(?:data)?|source-?link|view-source",
    "feedback|helpful|was-this-helpful|article-votes|article-more-questions|article-return-to-top|page-rating",
    "skip-?(?:link|nav|to-content|to-main|to-main-content)|skiplink|screen-reader-text|sr-only|visually-?hidden|visuallyhidden",
    "newsletter|signup-form|search-?(?:form|box|bar|field|input|results)|searchbox",
    "comments|comment-list|comment-respond|respond|disqus\\w*|giscus|utterances",
    "ads?|advert(?:isement)?s?|adsbygoogle|sponsored|announcement-?bar|site-banner|top-banner",
    "modal|popup|pop-?over|lightbox|toast|chat-?widget|intercom-\\w+",
    "copy-?(?:button|btn|code(?:-button)?)|clipboard(?:-\\w+)?|btn-clipboard|copybtn|btn-copy|button-group|code-?toolbar-?button",
    "headerlink|header-anchor|hash-link|heading-?anchor|heading-link|anchorjs-link|anchor-link|permalink",
    "version-?(?:selector|switcher|picker)|language-?(?:selector|switcher|picker)|lang-switcher|theme-(?:toggle|switcher)",
    "author-?(?:box|bio|card)|article-(?:meta|author)|meta-data|post-meta|entry-meta|entry-footer|byline|tag-?(?:list|cloud)|post-tags|cat-links|tags-links",
    "back-?to-?top|scroll-?top|return-to-top|reading-time|read-time|material-icons|material-symbols(?:-\\w+)?",
  ].join("|")})(?:-|$)`,
);
/** Words that mark boilerplate outside of the main part. Within it they may be the subject: the menu of a restaurant, a promo code. */
const SOMETIMES_BOILERPLATE =
  /(?:^|-)(?:crumbs|drawer|outline|menu|share|sharing|shares|social|related|recommended|rating|subscribe|sponsor|promo|announcement)(?:-|$)/;
/** Words with which a class describes a layout that has such a part: `has-sidebar`, `sidebar-layout`. */
const LAYOUT = /(?:^|-)(?:has|with|no|without|is|layout|wrap|page|main|content|body|app|root|open|enabled|visible)(?:-|$)/;
/** Words that mark boilerplate even next to a layout word. */
const ALWAYS_BOILERPLATE =
  /(?:^|-)(?:pagination|breadcrumbs?|tocbot|toc|cookie|cookies|skip-?link|sr-only|headerlink|hash-link|header-anchor|edit-this-page|edit-page|page-nav|page-meta|page-metadata|lastmod)(?:-|$)/;
const BOILERPLATE_HEADING = /(?:^|-)(?:feedback|related|comments?|reply|share|sd|newsletter|toc|outline)-(?:title|heading|headline)(?:-|$)/;
const SECTION_TAGS = /^(?:section|article|main|dt|dd|li|a|span|p)$/;
const HEADING = /^h[1-6]$/;
/** Elements that are never boilerplate, whatever their class. */
const NEVER_BOILERPLATE = /^(?:html|body|main|pre|code)$/;
const CONTROLS = /^(?:a|button|label)$/;
const HIDDEN_STYLE = /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)/i;
const ADMONITION =
  /(?:^|-)(?:admonition|callout|note|tip|info|warning|caution|danger|important|alert|notice|hint|custom-block|aside|infobox|panel)(?:-|$)/;
/** Roles of panels that a click opens: their text is content although it is hidden. */
const PANEL_ROLES = new Set(["tabpanel", "region"]);
/** Blocks that a checkbox may open. */
const PANEL_TAGS = /^(?:div|section|article|p|ul|ol|dl)$/;
const LINE_NUMBERS = /(?:^|-)(?:linenos?|line-number|line-numbers-(?:rows|wrapper)|gutter|ln|hljs-ln-numbers|blob-num)$/;

/** Facts about the whole page that the rules need. */
export interface PageFacts {
  /** Ids that a button or tab of the page opens and closes. */
  controlled: ReadonlySet<string>;
  /** The tabs by their own ids and those of the panels that they open. */
  tabs: ReadonlyMap<string, Element>;
  /** Elements around the page's heading or its main element, which are never boilerplate. */
  mainAncestors: ReadonlySet<Element>;
}

/** Each class is tested against several patterns. */
const MAX_CLASSES = 30;

/** An element's first classes in lower case with hyphens between words: `navBar_x1` and `nav-bar` both begin with `nav-bar`. */
function classWords(element: Element): string[] {
  const names = (element.attribs["class"] ?? "").trim();
  return names === "" ? [] : names.split(/\s+/, MAX_CLASSES).map(words);
}

/** The id in the same form, unless it was made from a heading: a chapter "Cookies" has the same id as a cookie bar. */
function idWords(element: Element): string[] {
  const id = element.attribs["id"];
  if (!id || SECTION_TAGS.test(element.name) || (element.attribs["class"] ?? "").split(" ").includes("section")) return [];
  const first = element.children.find((child) => isTag(child));
  return first && HEADING.test(first.name) ? [] : [words(id)];
}

/** Whether an element is never content, by its name or role, or is hidden. */
export function isNonContent(element: Element, facts: PageFacts): boolean {
  const role = element.attribs["role"]?.toLowerCase() ?? "";
  return NON_CONTENT.has(element.name) || NON_CONTENT_ROLES.has(role) || isHidden(element, facts);
}

/** Whether the name, class or id of an element marks boilerplate: side bars, tables of contents, share buttons. */
export function isBoilerplate(element: Element, facts: PageFacts, withinMain: boolean): boolean {
  if (facts.mainAncestors.has(element) || NEVER_BOILERPLATE.test(element.name)) return false;
  if (element.name === "header") return !withinMain;
  if (element.name === "footer") return true;
  if (HEADING.test(element.name)) return hasClass(element, BOILERPLATE_HEADING);
  const names = classWords(element);
  if (element.name === "aside" || element.attribs["role"] === "complementary") return !names.some((name) => ADMONITION.test(name));
  if (isSphinxContents(element) || (element.name === "span" && names.includes("lang"))) return true;
  const marks = [...names, ...idWords(element)].filter((name) => ALWAYS_BOILERPLATE.test(name) || !LAYOUT.test(name));
  if (marks.some((name) => BOILERPLATE.test(name))) return true;
  return marks.some((name) => SOMETIMES_BOILERPLATE.test(name)) && !(withinMain && isMostlyText(element));
}

/** Whether most of an element's text is outside of its links and controls. */
function isMostlyText(element: Element): boolean {
  const { all, outside } = textCounts(element);
  return outside * 2 > all;
}

/** The characters of text in an element, and those outside of links and controls. */
interface TextCounts {
  all: number;
  outside: number;
}

/** The counts of elements, which are within each other, so that the text of a page is counted once. */
const knownCounts = new WeakMap<Element, TextCounts>();

function textCounts(element: Element): TextCounts {
  const known = knownCounts.get(element);
  if (known) return known;
  const counts = { all: 0, outside: 0 };
  for (const child of element.children) {
    const length = isText(child) ? child.data.trim().length : 0;
    const inside = isTag(child) && !NON_CONTENT.has(child.name) ? textCounts(child) : { all: length, outside: length };
    counts.all += inside.all;
    counts.outside += inside.outside;
  }
  if (CONTROLS.test(element.name)) counts.outside = 0;
  knownCounts.set(element, counts);
  return counts;
}

/** Whether an element holds the numbers beside lines of code. */
export function isLineNumbers(element: Element): boolean {
  if (element.name === "pre" || element.name === "code") return false;
  return hasClass(element, LINE_NUMBERS);
}

/** Whether a class of the element matches, as words in lower case between hyphens. */
export function hasClass(element: Element, pattern: RegExp): boolean {
  return classWords(element).some((name) => pattern.test(name));
}

function isHidden(element: Element, { controlled }: PageFacts): boolean {
  const { attribs } = element;
  const hidden = attribs["hidden"];
  const isMarked = hidden !== undefined || attribs["aria-hidden"] === "true" || HIDDEN_STYLE.test(attribs["style"] ?? "");
  if (!isMarked || hidden === "until-found") return false;
  return !PANEL_ROLES.has(attribs["role"] ?? "") && !controlled.has(attribs["id"] ?? "");
}

/** Sphinx gives its table of contents the class "contents", which other generators give to the page's text. */
function isSphinxContents({ attribs }: Element): boolean {
  const classes = (attribs["class"] ?? "").split(/\s+/);
  return classes.includes("contents") && classes.includes("topic");
}

function words(name: string): string {
  return name
    .slice(0, 100)
    .replace(/([a-z0-9])([A-Z])/g, "$1-$2")
    .replace(/[_:./]+/g, "-")
    .replace(/-+/g, "-")
    .toLowerCase();
}

const ANCHOR_CLASS =
  /(?:^|-)(?:headerlink|header-anchor|hash-link|anchor|anchorjs-link|heading-link|permalink|anchor-link|heading-anchor)(?:-|$)/;
const ANCHOR_LABEL = /^(?:permalink|permanent link|direct link|link to|anchor|copy link)\b/i;
/** Texts of permalinks. */
const ANCHOR_TEXT = /^[\s#¶§🔗⚓\u200b\u2060\ufeff\u00a0\uf0c1]*$/u;
const ACCORDION_CLASS = /(?:^|-)(?:accordion|faq|question|collapse|collapsible|toggle|expander|disclosure)(?:-|$)/;
const FOOTNOTE_TEXT = /^\s*(?:\[?\d{1,3}\]?|[*†‡↩]+\ufe0e?)\s*$/u;
const QUESTION = /[?？]\s*$/;
/** A list with a single link to a heading may be content. */
const MIN_LINKS_WITHIN = 2;

/** Whether an element in a heading is the permalink of that heading. */
export function isPermalink(element: Element): boolean {
  if (element.name !== "a" && element.name !== "button") return false;
  if (element.name === "button") return !isAccordionButton(element) && !QUESTION.test(textContent(element));
  const isWithin = (element.attribs["href"] ?? "").includes("#") || element.attribs["href"] === undefined;
  if (!isWithin) return false;
  const text = textContent(element);
  if (ANCHOR_TEXT.test(text)) return true;
  const label = element.attribs["aria-label"] ?? element.attribs["title"] ?? text;
  return hasClass(element, ANCHOR_CLASS) && ANCHOR_LABEL.test(label) && (text.length < 3 || ANCHOR_LABEL.test(text));
}

/** Whether a button is the title of a panel that it opens. */
export function isAccordionButton(element: Element): boolean {
  const text = textContent(element);
  if (!/\p{L}/u.test(text)) return false;
  if (QUESTION.test(text)) return true;
  return (
    element.attribs["aria-expanded"] !== undefined && (element.attribs["aria-controls"] !== undefined || hasClass(element, ACCORDION_CLASS))
  );
}

/**
 * Whether a label is the title of the block after it, which its checkbox or radio button before it opens without a script. Several of them
 * in a row are the tabs of blocks that come after all of them.
 */
export function isAccordionLabel(element: Element): boolean {
  const id = element.attribs["for"];
  if (element.name !== "label" || id === undefined) return false;
  const input = prevElementSibling(element);
  const isSwitch = input?.name === "input" && /^(?:checkbox|radio)$/i.test(input.attribs["type"] ?? "");
  const opens = nextElementSibling(element)?.name ?? "";
  return isSwitch && input.attribs["id"] === id && prevElementSibling(input)?.name !== "label" && PANEL_TAGS.test(opens);
}

/** Whether a text ends with a question mark. */
export function hasQuestion(text: string): boolean {
  return QUESTION.test(text);
}

/** Whether an element links to a footnote, or from a footnote back to the text. */
export function isFootnoteLink(element: Element): boolean {
  if (element.name !== "sup" && element.name !== "a") return false;
  const link = element.name === "a" ? element : soleChild(element);
  if (link?.name !== "a" || !(link.attribs["href"] ?? "").startsWith("#")) return false;
  return FOOTNOTE_TEXT.test(textContent(link)) && (element.name === "sup" || /foot|fn|backref/i.test(link.attribs["class"] ?? ""));
}

/** Whether a list has only links to parts of its own page. */
export function isTableOfContents(list: Element): boolean {
  const links = { within: 0 };
  return hasOnlyInternalLinks(list.children, links) && links.within >= MIN_LINKS_WITHIN;
}

function hasOnlyInternalLinks(nodes: ChildNode[], links: { within: number }): boolean {
  return nodes.every((node) => {
    if (!isTag(node)) return !isText(node) || node.data.trim() === "";
    if (node.name !== "a") return hasOnlyInternalLinks(node.children, links);
    links.within++;
    return (node.attribs["href"] ?? "").startsWith("#");
  });
}

/** Whether an element contains headings or accordions. A list that does is a layout. */
export function containsSections(element: Element): boolean {
  return existsOne(
    (child) => HEADING.test(child.name) || (child.name === "button" && isAccordionButton(child)) || isAccordionLabel(child),
    element.children,
  );
}

/** The only child, if it is an element. */
function soleChild(element: Element): Element | undefined {
  const [child, ...others] = element.children.filter((node) => !isText(node) || node.data.trim() !== "");
  return others.length === 0 && child && isTag(child) ? child : undefined;
}
