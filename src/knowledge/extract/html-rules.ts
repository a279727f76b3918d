import { type Element, isTag } from "domhandler";

/** Never text of the page, wherever they stand. */
const NO_TEXT = new Set(
  (
    "head title script style template noscript svg annotation rt rp canvas iframe object embed audio video map " +
    "input select textarea option datalist output progress meter dialog nav menu"
  ).split(" "),
);
const NO_TEXT_ROLES = new Set(
  "navigation banner contentinfo search dialog alertdialog menu menubar toolbar tablist tooltip progressbar".split(" "),
);
/** Words of a class or id that name what surrounds a page's text. Whole words between hyphens, underscores or humps. */
const FURNITURE = new RegExp(
  `(?:^|-)(?:${[
    "cookies?(?:-\\w+)*|cookiebar|cookieconsent|consent|gdpr|onetrust",
    "breadcrumbs?|crumbs",
    "sidebar|side-?nav|side-?bar|drawer|off-?canvas|left-?nav|right-?nav",
    "toc|tocbot|table-?of-?contents|on-this-page|page-?outline|outline|aside-outline",
    "nav|navbar|nav-?menu|navigation|menu|topbar|masthead|site-header|site-footer|page-footer|footer-links|mobile-nav",
    "share|sharing|shares|social|social-?links|sharedaddy|addtoany",
    "related|related-?(?:posts|articles|pages|content)|recommended|recent-?(?:posts|articles)|see-also-widget|read-next|up-next",
    "pagination|pager|paginator|prev-next|previous-next|post-navigation|page-?nav|nav-links|pagination-nav",
    "edit-?(?:page|link|this-page|this|on-github)|improve-this-page|last-?(?:updated|modified)|lastmod|page-?meta(?:data)?|source-?link|view-source",
    "feedback|helpful|was-this-helpful|article-votes|article-more-questions|article-return-to-top|page-rating|rating",
    "skip-?(?:link|nav|to-content|to-main|to-main-content)|skiplink|screen-reader-text|sr-only|visually-?hidden|visuallyhidden",
    "newsletter|subscribe|signup-form|search-?(?:form|box|bar|field|input|results)|searchbox",
    "comments|comment-list|comment-respond|respond|disqus\\w*|giscus|utterances",
    "ads?|advert(?:isement)?s?|adsbygoogle|sponsor(?:ed)?|promo|announcement-?bar|announcement|site-banner|top-banner",
    "modal|popup|pop-?over|lightbox|toast|chat-?widget|intercom-\\w+",
    "copy-?(?:button|btn|code(?:-button)?)|clipboard(?:-\\w+)?|btn-clipboard|copybtn|btn-copy|button-group|code-?toolbar-?button",
    "headerlink|header-anchor|hash-link|heading-?anchor|heading-link|anchorjs-link|anchor-link|permalink",
    "version-?(?:selector|switcher|picker)|language-?(?:selector|switcher|picker)|lang-switcher|theme-(?:toggle|switcher)",
    "author-?(?:box|bio|card)|article-(?:meta|author)|meta-data|post-meta|entry-meta|entry-footer|byline|tag-?(?:list|cloud)|post-tags|cat-links|tags-links",
    "back-?to-?top|scroll-?top|return-to-top|reading-time|read-time|material-icons|material-symbols(?:-\\w+)?",
  ].join("|")})(?:-|$)`,
);
/** Words that make a class the name of a layout with such a part, not of the part: `has-sidebar`, `sidebar-layout`. */
const LAYOUT = /(?:^|-)(?:has|with|no|without|is|layout|wrap|page|main|content|body|app|root|open|enabled|visible)(?:-|$)/;
/** Parts that are furniture whatever else the class says. */
const SURE =
  /(?:^|-)(?:pagination|breadcrumbs?|tocbot|toc|cookie|cookies|skip-?link|sr-only|headerlink|hash-link|header-anchor|edit-this-page|edit-page|page-nav|page-meta|page-metadata|lastmod)(?:-|$)/;
/** Headings are dropped for names of what no chapter is called by its class. */
const FURNITURE_HEADING = /(?:^|-)(?:feedback|related|comments?|reply|share|sd|newsletter|toc|outline)-(?:title|heading|headline)(?:-|$)/;
const SECTION_TAGS = /^(?:section|article|main|dt|dd|li|a|span|p)$/;
const HEADING = /^h[1-6]$/;
/** Elements that no class name makes furniture. */
const NEVER_FURNITURE = /^(?:html|body|main|pre|code)$/;
const HIDDEN_STYLE = /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)/i;
const ADMONITION =
  /(?:^|-)(?:admonition|callout|note|tip|info|warning|caution|danger|important|alert|notice|hint|custom-block|aside|infobox|panel)(?:-|$)/;
/** Panels that a click opens: their text is the page's, however they are hidden. */
const PANEL_ROLES = new Set(["tabpanel", "region"]);
const LINE_NUMBERS = /(?:^|-)(?:linenos?|line-number|line-numbers-(?:rows|wrapper)|gutter|ln|hljs-ln-numbers|blob-num)$/;

/** What is known of the page before its text is read. */
export interface PageFacts {
  /** Ids that a button or tab of the page opens and closes. */
  controlled: ReadonlySet<string>;
  /** Elements that hold the page's heading or its main element: a class name never drops those. */
  holdsMain: ReadonlySet<Element>;
}

/** An element's classes as words: `navBar_x1` and `nav-bar` both begin with `nav-bar`. */
function classWords(element: Element): string[] {
  const names = (element.attribs["class"] ?? "").trim();
  return names === "" ? [] : names.split(/\s+/).map(words);
}

/** An id names furniture only where it was not made of a heading: a chapter "Cookies" has the id of a cookie bar. */
function idWords(element: Element): string[] {
  const id = element.attribs["id"];
  if (!id || SECTION_TAGS.test(element.name) || (element.attribs["class"] ?? "").split(" ").includes("section")) return [];
  const first = element.children.find((child) => isTag(child));
  return first && HEADING.test(first.name) ? [] : [words(id)];
}

/** Whether an element is no text of the page whatever the page is: scripts, controls, navigation, what is hidden. */
export function isNoText(element: Element, facts: PageFacts): boolean {
  const role = element.attribs["role"]?.toLowerCase() ?? "";
  return NO_TEXT.has(element.name) || NO_TEXT_ROLES.has(role) || isHidden(element, facts);
}

/** Whether an element's name or kind says that it surrounds the text: side bars, tables of contents, share buttons. */
export function isFurniture(element: Element, facts: PageFacts, withinMain: boolean): boolean {
  if (facts.holdsMain.has(element) || NEVER_FURNITURE.test(element.name)) return false;
  if (element.name === "header") return !withinMain;
  if (element.name === "footer") return true;
  if (HEADING.test(element.name)) return isNamed(element, FURNITURE_HEADING);
  const names = classWords(element);
  if (element.name === "aside" || element.attribs["role"] === "complementary") return !names.some((name) => ADMONITION.test(name));
  if (isSphinxContents(element) || (element.name === "span" && names.includes("lang"))) return true;
  return [...names, ...idWords(element)].some((name) => FURNITURE.test(name) && (SURE.test(name) || !LAYOUT.test(name)));
}

/** Whether an element holds the numbers beside lines of code. */
export function isLineNumbers(element: Element): boolean {
  if (element.name === "pre" || element.name === "code") return false;
  return isNamed(element, LINE_NUMBERS);
}

/** Whether a class of the element matches, as words in lower case between hyphens. */
export function isNamed(element: Element, pattern: RegExp): boolean {
  return classWords(element).some((name) => pattern.test(name));
}

function isHidden(element: Element, { controlled }: PageFacts): boolean {
  const { attribs } = element;
  const hidden = attribs["hidden"];
  const isMarked = hidden !== undefined || attribs["aria-hidden"] === "true" || HIDDEN_STYLE.test(attribs["style"] ?? "");
  if (!isMarked || hidden === "until-found") return false;
  return !PANEL_ROLES.has(attribs["role"] ?? "") && !controlled.has(attribs["id"] ?? "");
}

/** Sphinx calls its table of contents "contents", as others call the page's text. */
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
