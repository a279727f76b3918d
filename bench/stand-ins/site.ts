import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { pdfFile } from "../../test/knowledge/extract/pdf-file.ts";

/** A request that the site answered. */
interface ReceivedRequest {
  path: string;
  status: number;
  isConditional: boolean;
  atMs: number;
}

/** A website on this machine, with what sites have: maps, rules, links that are broken, that loop and that never end. */
export interface Site {
  origin: string;
  /** In order. */
  requests: ReceivedRequest[];
  /** Says something else on an article from now on. */
  edit(article: number): void;
  /** Takes an article away. */
  remove(article: number): void;
  close(): Promise<void>;
}

interface Page {
  status?: number;
  headers?: Record<string, string>;
  body: string | Uint8Array;
}

const SUBJECTS = ["parcel", "refund", "invoice", "account", "password", "warranty", "subscription", "delivery", "discount", "return"];
const VERBS = ["changes", "cancels", "confirms", "delays", "extends", "replaces", "reviews", "sends", "tracks", "updates"];
const SENTENCES = 24;
const LINKS = 5;
/** Parts of a site that a crawl meets beside its articles. */
const BROKEN = 5;
const MOVED = 5;
const PRIVATE = 5;

/**
 * Serves a site of so many pages to read: a start, articles and a PDF; beside them the things that a crawl must not follow,
 * must not read or cannot.
 * @param port a free one unless given.
 */
export async function serveSite(pages: number, port = 0): Promise<Site> {
  const site = new LocalSite(pages - 2);
  const server = createServer((request, response) => site.answer(request, response)).listen(port, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  return site.listening(server);
}

class LocalSite {
  private readonly requests: ReceivedRequest[] = [];
  private readonly versions = new Map<number, number>();
  private readonly removed = new Set<number>();
  private readonly articles: number;
  private origin = "";

  constructor(articles: number) {
    this.articles = articles;
  }

  listening(server: Server): Site {
    this.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return {
      origin: this.origin,
      requests: this.requests,
      edit: (article) => void this.versions.set(article, (this.versions.get(article) ?? 1) + 1),
      remove: (article) => void this.removed.add(article),
      close: () =>
        new Promise((resolve) => {
          server.close(() => resolve());
          server.closeAllConnections();
        }),
    };
  }

  answer({ url = "/", headers }: IncomingMessage, response: ServerResponse): void {
    const { status = 200, headers: own = {}, body } = this.pageOf(url);
    const isConditional = headers["if-none-match"] !== undefined;
    const isSame = isConditional && headers["if-none-match"] === own["ETag"];
    this.requests.push({ path: url, status: isSame ? 304 : status, isConditional, atMs: Date.now() });
    response.writeHead(isSame ? 304 : status, own);
    response.end(isSame ? undefined : body);
  }

  private pageOf(url: string): Page {
    const { pathname, searchParams } = new URL(url, this.origin);
    const [, kind = "", name = ""] = pathname.split("/");
    const number = Number.parseInt(name.replace(/^\D+/, ""), 10);
    switch (kind) {
      case "":
        return this.start();
      case "articles":
        return this.article(number);
      case "handbook.pdf":
        return { headers: { "Content-Type": "application/pdf", ETag: '"pdf"' }, body: HANDBOOK };
      case "robots.txt":
        return { headers: { "Content-Type": "text/plain" }, body: this.robots() };
      case "maps":
        return this.map(name);
      case "moved":
        return { status: 301, headers: { Location: articlePath(number) }, body: "" };
      case "loop":
        return { status: 302, headers: { Location: `/loop/${number === 1 ? 2 : 1}` }, body: "" };
      case "away":
        return { status: 302, headers: { Location: "http://localhost:9/elsewhere" }, body: "" };
      case "calendar":
        return calendar(searchParams.get("date") ?? "2026-01-01");
      case "private":
        return html("Private", "Nobody but people may read this.", []);
      default:
        return { status: 404, headers: { "Content-Type": "text/html" }, body: "<title>Not found</title>" };
    }
  }

  private robots(): string {
    return `User-agent: *\nDisallow: /private/\n\nSitemap: ${this.origin}/maps/index.xml\n`;
  }

  /** The maps hold every second article: the others are found by links alone. */
  private map(name: string): Page {
    const locations = (paths: string[], of: string) => paths.map((path) => `<${of}><loc>${this.origin}${path}</loc></${of}>`).join("");
    if (name === "index.xml") {
      return {
        headers: { "Content-Type": "application/xml" },
        body: `<sitemapindex>${locations(["/maps/articles.xml.gz"], "sitemap")}</sitemapindex>`,
      };
    }
    const paths = Array.from({ length: Math.ceil(this.articles / 2) }, (_, at) => articlePath(2 * at));
    return { headers: { "Content-Type": "application/gzip" }, body: gzipSync(`<urlset>${locations(paths, "url")}</urlset>`) };
  }

  private start(): Page {
    const numbered = (kind: string, count: number) => Array.from({ length: count }, (_, at) => `/${kind}/${at}`);
    const odd = [
      "/handbook.pdf",
      "/loop/1",
      "/away",
      "/calendar?date=2026-01-01",
      `${articlePath(0)}?utm_source=start`,
      `${articlePath(0)}#top`,
      `${articlePath(0)}/`,
    ];
    const links = [
      ...Array.from({ length: 10 }, (_, at) => articlePath(at)),
      ...numbered("missing", BROKEN),
      ...numbered("moved", MOVED),
      ...numbered("private", PRIVATE),
      ...odd,
    ];
    return html("Start", "Welcome to the help centre. It has an article for everything.", links, '"start"');
  }

  private article(number: number): Page {
    if (!(number < this.articles) || this.removed.has(number)) return { status: 404, body: "gone" };
    const version = this.versions.get(number) ?? 1;
    const sentences = Array.from({ length: SENTENCES }, (_, at) => {
      const word = (list: string[], by: number) => list[(number * by + at * 7) % list.length]!;
      return `Rule ${number}.${at}: the ${word(SUBJECTS, 3)} of case ${number} ${word(VERBS, 11)} the ${word(SUBJECTS, 13)} after ${(number * 17 + at) % 60} days.`;
    });
    const text = `This is version ${version} of article ${number}. ${sentences.join(" ")}`;
    const links = Array.from({ length: LINKS }, (_, at) => articlePath((number * 2 + at + 1) % this.articles));
    return html(`Article ${number}`, text, links, `"${number}-${version}"`);
  }
}

function articlePath(number: number): string {
  return `/articles/case-${number}`;
}

function html(title: string, text: string, links: string[], etag?: string): Page {
  const anchors = links.map((link) => `<li><a href="${link}">${link}</a></li>`).join("");
  const body = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title} | Help centre</title></head><body>
    <nav><a href="/">Help centre</a></nav><main><h1>${title}</h1><p>${text}</p><ul>${anchors}</ul></main><footer>All rights reserved.</footer></body></html>`;
  return { headers: { "Content-Type": "text/html; charset=utf-8", ...(etag !== undefined && { ETag: etag }) }, body };
}

function calendar(date: string): Page {
  const next = new Date(Date.parse(date) + 24 * 60 * 60_000).toISOString().slice(0, 10);
  return html(`Events of ${date}`, `Nothing happens on ${date}, as on most days.`, [`/calendar?date=${next}`], `"${date}"`);
}

const HANDBOOK = pdfFile({
  pages: [[{ text: "The handbook speaks of walruses on the ice of the north.", y: 700, size: 12 }]],
  title: "Handbook",
});
