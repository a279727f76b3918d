import { type Element, isTag } from "domhandler";
import { textContent } from "domutils";
import { cleanLine, withoutLinkSign } from "./clean.ts";
import { directivesOfMeta, type RobotsDirectives } from "./robots-directives.ts";

/** What a page says of itself outside its text. */
export interface PageHead {
  /** The texts that may be its title; "" where there is none. */
  titles: { og: string; title: string; h1: string };
  siteName: string;
  description: string;
  /** As written; null where there is none. */
  canonical: string | null;
  baseHref: string | null;
  /** The address of a meta refresh that sends the visitor on. */
  refreshTo: string | null;
  robots: RobotsDirectives;
  /** The texts of its JSON-LD scripts. */
  structuredData: string[];
}

const JSON_LD = /^application\/ld\+json\s*(?:;|$)/i;
/** A longer one is a catalogue, no page of questions. */
const MAX_JSON_LD_CHARS = 200_000;
/** A slower refresh re-reads a page; a quicker one leads away from it. */
const MAX_REFRESH_IN_SECONDS = 10;
const REFRESH = /^\s*(\d+)(?:\.\d*)?\s*[;,]\s*(?:url\s*=\s*)?["']?([^"']+)/i;

/** Reads what stands in a page's head, wherever its elements stand: many pages have none, or two. */
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

  visit(element: Element, withinDrawing: boolean): void {
    if (!withinDrawing) this.read(element);
    const isDrawing = withinDrawing || element.name === "svg";
    for (const child of element.children) if (isTag(child)) this.visit(child, isDrawing);
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

/** The address that a Link header names as canonical, as PDFs do too; null where none does. */
export function canonicalOfHeader(headers: Headers, url: string): string | null {
  const canonical = /<([^<>]{1,2000})>\s*;[^,<]*\brel\s*=\s*"?canonical\b/i.exec((headers.get("link") ?? "").slice(0, 8_000));
  return canonical ? resolveLink(canonical[1]!, url) : null;
}

const MAX_URL_CHARS = 2_000;

/** The absolute http(s) URL of an address as it is written in a page; null for every other kind. */
export function resolveLink(written: string, base: string): string | null {
  const address = written.trim();
  if (address.length > MAX_URL_CHARS || !URL.canParse(address, base)) return null;
  const url = new URL(address, base);
  return (url.protocol === "https:" || url.protocol === "http:") && url.href.length <= MAX_URL_CHARS ? url.href : null;
}
