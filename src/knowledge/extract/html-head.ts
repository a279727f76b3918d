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
  language: string | null;
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
const LANGUAGE = /^[a-z]{2,3}(?:[-_][a-z0-9]{2,8}){0,3}$/i;
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
  private htmlLanguage = "";
  private canonical: string | null = null;
  private baseHref: string | null = null;
  private refresh = "";

  visit(element: Element, withinDrawing: boolean): void {
    if (!withinDrawing) this.read(element);
    const isDrawing = withinDrawing || element.name === "svg";
    for (const child of element.children) if (isTag(child)) this.visit(child, isDrawing);
  }

  head(): PageHead {
    const language = this.htmlLanguage || this.meta("content-language") || this.meta("og:locale");
    const refresh = REFRESH.exec(this.refresh);
    return {
      titles: { og: this.meta("og:title"), title: this.title, h1: this.h1 },
      siteName: this.meta("og:site_name") || this.meta("application-name"),
      description: this.meta("description") || this.meta("og:description"),
      language: LANGUAGE.test(language) ? language.replaceAll("_", "-").toLowerCase() : null,
      canonical: this.canonical,
      baseHref: this.baseHref,
      refreshTo: refresh && Number(refresh[1]) <= MAX_REFRESH_IN_SECONDS ? refresh[2]!.trim() : null,
      robots: directivesOfMeta(this.metas),
      structuredData: this.structuredData,
    };
  }

  private read(element: Element): void {
    const { name, attribs } = element;
    if (name === "html") this.htmlLanguage ||= attribs["lang"] ?? attribs["xml:lang"] ?? "";
    else if (name === "title") this.title ||= cleanLine(textContent(element));
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
