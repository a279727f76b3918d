import type { HtmlElement } from "./html-tree.ts";
import type { PageLink } from "./response.ts";

/** More links than this on one page are a list of everything: the sitemap has them. */
const MAX_LINKS = 5_000;
const MAX_URL_CHARS = 2_000;

/** A page's links in order, each once, absolute by its `base`. Links to mail, telephone, scripts and data are none. */
export function linksOf(root: HtmlElement, pageUrl: string, baseHref: string | null): PageLink[] {
  const base = resolveLink(baseHref ?? "", pageUrl) ?? pageUrl;
  const found = new Map<string, PageLink>();
  collect(root, base, found);
  return [...found.values()];
}

/** The absolute http(s) URL of an address as it is written in a page; null for every other kind. */
export function resolveLink(written: string, base: string): string | null {
  const address = written.trim();
  if (address.length > MAX_URL_CHARS || !URL.canParse(address, base)) return null;
  const url = new URL(address, base);
  return (url.protocol === "https:" || url.protocol === "http:") && url.href.length <= MAX_URL_CHARS ? url.href : null;
}

function collect(element: HtmlElement, base: string, found: Map<string, PageLink>): void {
  if (found.size >= MAX_LINKS) return;
  if (element.tag === "a" || element.tag === "area") add(element, base, found);
  for (const child of element.children) if (typeof child !== "string") collect(child, base, found);
}

function add({ attributes }: HtmlElement, base: string, found: Map<string, PageLink>): void {
  const href = attributes.get("href");
  // A link within the page leads to nothing new.
  if (!href || href.startsWith("#")) return;
  const url = resolveLink(href, base);
  if (url === null) return;
  const nofollow = /(?:^|\s)(?:nofollow|ugc|sponsored)(?:\s|$)/i.test(attributes.get("rel") ?? "");
  const known = found.get(url);
  if (known) known.nofollow &&= nofollow;
  else found.set(url, { url, nofollow });
}
