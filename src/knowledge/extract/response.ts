/** A response as the crawler read it: whole, or cut at the crawler's own limit of size. */
export interface FetchedResponse {
  /** Where the last redirect led. */
  url: string;
  headers: Headers;
  bytes: Uint8Array;
}

/** A link of a page: absolute, http or https, not yet normalised. */
export interface PageLink {
  url: string;
  nofollow: boolean;
}

/** What a page says. */
export interface ExtractedPage {
  kind: "page";
  title: string;
  /** What the page names as its own address; null where it names none. */
  canonicalUrl: string | null;
  /** Whether the page may not be indexed; its links may still be followed. */
  noindex: boolean;
  /** Whether none of its links may be followed. */
  nofollow: boolean;
  /** BCP 47, lower case. */
  language: string | null;
  /** Markdown-like, as `chunks` reads it. Empty where the page holds nothing but links. */
  text: string;
  links: PageLink[];
  /** Whether a limit cut the page: what is here is its beginning. */
  truncated: boolean;
}

/** Why a response holds no page. Each is a stable word for counters and messages. */
type SkipReason = "unsupported_type" | "empty" | "pdf_encrypted" | "pdf_damaged" | "pdf_without_text" | "pdf_too_large";

interface SkippedResponse {
  kind: "skipped";
  reason: SkipReason;
}

export type Extraction = ExtractedPage | SkippedResponse;
