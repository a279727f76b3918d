import { directivesOfHeader } from "../crawl/directives.ts";
import { decodeText } from "./charset.ts";
import { readHead, type PageHead } from "./html-head.ts";
import { mainText, pageFacts } from "./html-main.ts";
import { readHtml } from "./html-tree.ts";
import { linksOf, resolveLink } from "./links.ts";
import type { ExtractedPage, FetchedResponse } from "./response.ts";
import { questionsBeside } from "./structured-data.ts";
import { bounded } from "./text-page.ts";
import { pageTitle } from "./title.ts";

/** A page with less text than this is told by its description too: a landing page, or one that scripts fill. */
const THIN_CHARS = 300;
/** As much of a description as shows whether the text holds it. */
const DESCRIPTION_HEAD_CHARS = 40;

/** Reads a page of HTML. */
export async function extractHtml({ url, headers, bytes }: FetchedResponse): Promise<ExtractedPage> {
  const { root, truncated } = await readHtml(decodeText(bytes, headers.get("content-type")));
  const head = readHead(root);
  const main = mainText(root, pageFacts(root));
  const text = bounded(withQuestions(withDescription(main, head.description), head.structuredData));
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
    language: head.language ?? headers.get("content-language")?.split(",")[0]?.trim().toLowerCase() ?? null,
    text: text.text,
    links,
    truncated: truncated || text.truncated,
  };
}

/** The address that a Link header names as canonical, as PDFs do too; null where none does. */
export function canonicalOfHeader(headers: Headers, url: string): string | null {
  const canonical = /<([^<>]{1,2000})>\s*;[^,<]*\brel\s*=\s*"?canonical\b/i.exec((headers.get("link") ?? "").slice(0, 8_000));
  return canonical ? resolveLink(canonical[1]!, url) : null;
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
