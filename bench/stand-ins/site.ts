import { gzipSync } from "node:zlib";
import { pdfFile } from "../../test/knowledge/extract/pdf-file.ts";
import { serve } from "./serve.ts";

/** A website on this machine with what websites have: sitemaps, rules, and links that are broken, that loop and that never end. */
export interface Site {
  origin: string;
  /** Returns how many requests the site answered. */
  requests(): number;
  /** Changes the text of an article. */
  edit(article: number): void;
  close(): Promise<void>;
}

interface Page {
  status?: number;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
}

const SUBJECTS = ["parcel", "refund", "invoice", "account", "password", "warranty", "subscription", "delivery", "discount", "return"];
const VERBS = ["changes", "cancels", "confirms", "delays", "extends", "replaces", "reviews", "sends", "tracks", "updates"];
const SENTENCES = 24;
const LINKS = 5;
/** How many broken, moved and forbidden links the start page has, of each. */
const ODD_LINKS = 5;

/** Serves a site of so many pages to read: a start page, articles and a PDF, beside pages that a crawl must not read or cannot. */
export async function serveSite(pages: number): Promise<Site> {
  const articles = pages - 2;
  const versions = new Map<number, number>();
  let requests = 0;
  const { origin, close } = await serve(({ url = "/", headers }, response) => {
    requests++;
    const { status = 200, headers: own = {}, body } = pageOf(new URL(url, `http://${headers.host}`), articles, versions);
    const isSame = own["ETag"] !== undefined && headers["if-none-match"] === own["ETag"];
    response.writeHead(isSame ? 304 : status, own).end(isSame ? undefined : body);
  });
  const edit = (article: number) => void versions.set(article, (versions.get(article) ?? 1) + 1);
  return { origin, requests: () => requests, edit, close };
}

function pageOf({ origin, pathname, searchParams }: URL, articles: number, versions: ReadonlyMap<number, number>): Page {
  const [, kind = "", name = ""] = pathname.split("/");
  const number = Number.parseInt(name.replace(/^\D+/, ""), 10);
  switch (kind) {
    case "":
      return startPage();
    case "articles":
      return number < articles ? articlePage(number, articles, versions.get(number) ?? 1) : { status: 404 };
    case "handbook.pdf":
      return { headers: { "Content-Type": "application/pdf", ETag: '"pdf"' }, body: HANDBOOK };
    case "robots.txt":
      return {
        headers: { "Content-Type": "text/plain" },
        body: `User-agent: *\nDisallow: /private/\n\nSitemap: ${origin}/maps/index.xml\n`,
      };
    case "maps":
      return sitemap(name, origin, articles);
    case "moved":
      return { status: 301, headers: { Location: articlePath(number) } };
    case "loop":
      return { status: 302, headers: { Location: `/loop/${number === 1 ? 2 : 1}` } };
    case "away":
      return { status: 302, headers: { Location: "http://localhost:9/elsewhere" } };
    case "calendar":
      return calendarPage(searchParams.get("date") ?? "2026-01-01");
    case "private":
      return html("Private", "Robots must not read this.", []);
    default:
      return { status: 404, headers: { "Content-Type": "text/html" }, body: "<title>Not found</title>" };
  }
}

/** The sitemaps hold every second article: a crawl finds the others by links alone. */
function sitemap(name: string, origin: string, articles: number): Page {
  const locations = (paths: string[], tag: string) => paths.map((path) => `<${tag}><loc>${origin}${path}</loc></${tag}>`).join("");
  if (name === "index.xml") {
    const index = `<sitemapindex>${locations(["/maps/articles.xml.gz"], "sitemap")}</sitemapindex>`;
    return { headers: { "Content-Type": "application/xml" }, body: index };
  }
  const paths = Array.from({ length: Math.ceil(articles / 2) }, (_, at) => articlePath(2 * at));
  return { headers: { "Content-Type": "application/gzip" }, body: gzipSync(`<urlset>${locations(paths, "url")}</urlset>`) };
}

function startPage(): Page {
  const numbered = (kind: string) => Array.from({ length: ODD_LINKS }, (_, at) => `/${kind}/${at}`);
  const special = ["/handbook.pdf", "/loop/1", "/away", "/calendar?date=2026-01-01"];
  const links = [
    ...Array.from({ length: 10 }, (_, at) => articlePath(at)),
    ...["missing", "moved", "private"].flatMap(numbered),
    ...special,
    ...["?utm_source=start", "#top", "/"].map((end) => articlePath(0) + end),
  ];
  return html("Start", "Welcome to the help centre. It has an article for everything.", links, '"start"');
}

function articlePage(number: number, articles: number, version: number): Page {
  const sentences = Array.from({ length: SENTENCES }, (_, at) => {
    const word = (list: string[], by: number) => list[(number * by + at * 7) % list.length]!;
    return `Rule ${number}.${at}: the ${word(SUBJECTS, 3)} of case ${number} ${word(VERBS, 11)} the ${word(SUBJECTS, 13)} after ${(number * 17 + at) % 60} days.`;
  });
  const text = `This is version ${version} of article ${number}. ${sentences.join(" ")}`;
  const links = Array.from({ length: LINKS }, (_, at) => articlePath((number * 2 + at + 1) % articles));
  return html(`Article ${number}`, text, links, `"${number}-${version}"`);
}

function articlePath(number: number): string {
  return `/articles/case-${number}`;
}

function calendarPage(date: string): Page {
  const next = new Date(Date.parse(date) + 24 * 60 * 60_000).toISOString().slice(0, 10);
  return html(`Events of ${date}`, `Nothing happens on ${date}, as on most days.`, [`/calendar?date=${next}`], `"${date}"`);
}

function html(title: string, text: string, links: string[], etag?: string): Page {
  const anchors = links.map((link) => `<li><a href="${link}">${link}</a></li>`).join("");
  const body = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title} | Help centre</title></head><body>
    <nav><a href="/">Help centre</a></nav><main><h1>${title}</h1><p>${text}</p><ul>${anchors}</ul></main><footer>All rights reserved.</footer></body></html>`;
  return { headers: { "Content-Type": "text/html; charset=utf-8", ...(etag !== undefined && { ETag: etag }) }, body };
}

const HANDBOOK = pdfFile({
  pages: [[{ text: "The handbook is about walruses on the ice of the north.", y: 700, size: 12 }]],
  title: "Handbook",
});
