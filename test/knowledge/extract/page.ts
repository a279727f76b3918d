import { extract } from "../../../src/knowledge/extract/extract.ts";
import type { ExtractedPage, Extraction } from "../../../src/knowledge/extract/response.ts";

/** Extracts the text of a response with these headers. */
export function read(
  body: string | Uint8Array,
  contentType: string | null,
  url = "https://site.example/guide/page",
  headers = {},
): Promise<Extraction> {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  return extract({ url, headers: new Headers({ ...(contentType === null ? {} : { "content-type": contentType }), ...headers }), bytes });
}

/** The page that a piece of HTML is. */
export async function pageOf(html: string, url?: string, headers = {}): Promise<ExtractedPage> {
  const extraction = await read(html, "text/html; charset=utf-8", url, headers);
  if (extraction.kind !== "page") throw new Error(`skipped: ${extraction.reason}`);
  return extraction;
}

/** The text of a page with this body. */
export async function textOf(body: string): Promise<string> {
  return (await pageOf(`<!doctype html><html><head><title>T</title></head><body>${body}</body></html>`)).text;
}
