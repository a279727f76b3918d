import { withoutClosingHashes } from "../../text/blocks.ts";
import { cleanLine, truncateText } from "./clean.ts";
import { extractHtml } from "./html-page.ts";
import { MAX_CANDIDATE_CHARS, titleOfUrl } from "./page-head.ts";
import { directivesOfHeader } from "./robots-directives.ts";
import { decodeText, type ExtractedPage, type Extraction, type FetchedResponse, mediaKind } from "./response.ts";

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
    case "pdf": {
      const { extractPdf } = await import("./pdf.ts");
      return extractPdf(response);
    }
    case "text":
      return extractText(response);
    case "markdown":
      return extractMarkdown(response);
    case "unsupported":
      return { kind: "skipped", reason: "unsupported_type" };
  }
}

const FRONT_MATTER = /^---[ \t]*\n([\s\S]{0,20000}?)\n(?:---|\.\.\.)[ \t]*(?:\n|$)/;
const TITLE = /^title[ \t]*:(.*)$/im;
const QUOTED = /^(["'])(.+)\1$/;
const HEADING = /^#{1,6}[ \t]+(\S.*)$/m;
/** Where a Markdown file has its first heading, if it is the title. */
const TITLE_WITHIN_CHARS = 2_000;

/** A response of plain text, as it is. Its links are not read: nothing tells which are meant as such. */
function extractText(response: FetchedResponse): ExtractedPage {
  return pageOf(response, normalised(response), titleOfUrl(response.url));
}

/** A response of Markdown, without its front matter; titled by that or by its first heading. */
function extractMarkdown(response: FetchedResponse): ExtractedPage {
  const whole = normalised(response);
  const text = withoutFrontMatter(whole);
  const named = titleIn(FRONT_MATTER.exec(whole)?.[1] ?? "");
  const [, heading = ""] = HEADING.exec(text.slice(0, TITLE_WITHIN_CHARS)) ?? [];
  return pageOf(response, text, cleanLine(named ?? withoutClosingHashes(heading)) || titleOfUrl(response.url));
}

/** A text without the settings that Markdown files begin with. */
export function withoutFrontMatter(text: string): string {
  return text.slice(FRONT_MATTER.exec(text)?.[0].length ?? 0);
}

/** What front matter names as the title, without its quotes; undefined where it names none. */
function titleIn(frontMatter: string): string | undefined {
  const value = TITLE.exec(frontMatter)?.[1]?.trim() ?? "";
  if (value === "" || value.length > MAX_CANDIDATE_CHARS) return undefined;
  return QUOTED.exec(value)?.[2] ?? value;
}

function normalised({ bytes, headers }: FetchedResponse): string {
  return decodeText(bytes, headers.get("content-type")).replace(/\r\n?/g, "\n");
}

function pageOf({ headers }: FetchedResponse, whole: string, title: string): ExtractedPage {
  const { text, truncated } = truncateText(whole.trim());
  const robots = directivesOfHeader(headers.get("x-robots-tag"));
  return { kind: "page", title, canonicalUrl: null, ...robots, text, links: [], truncated };
}
