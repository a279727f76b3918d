import { extractHtml } from "./html-page.ts";
import { extractPdf } from "./pdf.ts";
import { type Extraction, type FetchedResponse, mediaKind } from "./response.ts";
import { extractMarkdown, extractText } from "./text-page.ts";

/**
 * What a response says: HTML, PDF, plain text and Markdown as a page, all else skipped with its reason. Never throws for what a
 * site sent, and takes bounded time and memory whatever that is. The caller limits the response's size.
 */
export async function extract(response: FetchedResponse): Promise<Extraction> {
  const { url, headers, bytes } = response;
  if (bytes.length === 0) return { kind: "skipped", reason: "empty" };
  switch (mediaKind(headers.get("content-type"), url, bytes)) {
    case "html":
      return extractHtml(response);
    case "pdf":
      return extractPdf(response);
    case "text":
      return extractText(response);
    case "markdown":
      return extractMarkdown(response);
    case "unsupported":
      return { kind: "skipped", reason: "unsupported_type" };
  }
}
