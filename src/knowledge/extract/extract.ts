import { withoutClosingHashes } from "../../text/blocks.ts";
import { cleanLine, truncateText } from "./clean.ts";
import { extractHtml } from "./html-page.ts";
import { MAX_CANDIDATE_CHARS, titleOfUrl } from "./page-head.ts";
import { directivesOfHeader } from "./robots-directives.ts";
import { decodeText, type ExtractedPage, type Extraction, type FetchedResponse, mediaKind } from "./response.ts";

/**
 * Reads a response: HTML, PDF, plain text and Markdown as a page; other types are skipped with a reason. It never throws, and takes
 * bounded time and memory for any input. The caller limits the size of the response.
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
/** The first heading of a Markdown file is its title if it begins within these characters. */
const TITLE_WITHIN_CHARS = 2_000;

/** Reads plain text. Its URLs are not followed, since they may be mere examples. */
function extractText(response: FetchedResponse): ExtractedPage {
  return pageOf(response, normalised(response), titleOfUrl(response.url));
}

/** Reads Markdown without its front matter. The title comes from the front matter or the first heading. */
function extractMarkdown(response: FetchedResponse): ExtractedPage {
  const whole = normalised(response);
  const text = withoutFrontMatter(whole);
  const named = titleIn(FRONT_MATTER.exec(whole)?.[1] ?? "");
  const [, heading = ""] = HEADING.exec(text.slice(0, TITLE_WITHIN_CHARS)) ?? [];
  return pageOf(response, text, cleanLine(named ?? withoutClosingHashes(heading)) || titleOfUrl(response.url));
}

/** Removes the settings that a Markdown file may begin with. */
export function withoutFrontMatter(text: string): string {
  return text.slice(FRONT_MATTER.exec(text)?.[0].length ?? 0);
}

/** The title in the front matter, without quotes; undefined if there is none. */
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
  return { kind: "page", title, canonicalUrl: null, ...robots, text, links: [], truncated: truncated && "length" };
}
