import robotsParser from "robots-parser";
import { BOT_TOKEN } from "../extract/robots-directives.ts";

/** RFC 9309 requires crawlers to read at least 500 KiB. */
export const MAX_ROBOTS_BYTES = 500 * 1024;
/** Each rule is matched against each URL. A rule with stars takes up to its length times the URL's length, so fewer of them are kept. */
const MAX_RULES = 2_000;
const MAX_STAR_RULES = 200;
const MAX_RULE_CHARS = 500;
const MAX_SITEMAPS = 100;
/** With a longer delay, a crawl would take days. */
const MAX_DELAY_IN_SECONDS = 30;

/** The rules of one site for our crawler. */
export interface RobotsRules {
  isAllowed(url: string): boolean;
  /** The Crawl-delay; null without one. */
  delayInSeconds: number | null;
  /** Absolute URLs, which may be of other hosts. */
  sitemaps: string[];
}

/**
 * Returns the text of a robots.txt from the response to its request (RFC 9309, 2.3.1): "" (no rules) for any 4xx except 429;
 * undefined for 429 and 5xx, when nothing may be fetched for now.
 */
export function robotsTextOf(status: number, bytes: Uint8Array): string | undefined {
  if (status >= 500 || status === 429) return undefined;
  return status >= 200 && status < 300 ? new TextDecoder().decode(bytes.subarray(0, MAX_ROBOTS_BYTES)) : "";
}

/** Parses a robots.txt. An HTML page in its place has no rules. */
export function parseRobots(robotsUrl: string, text: string): RobotsRules {
  const parsed = robotsParser(robotsUrl, withinLimits(text));
  const delay = parsed.getCrawlDelay(BOT_TOKEN);
  return {
    isAllowed: (url) => new URL(url).pathname === "/robots.txt" || parsed.isAllowed(url, BOT_TOKEN) === true,
    delayInSeconds: delay === undefined || !(delay >= 0) ? null : Math.min(delay, MAX_DELAY_IN_SECONDS),
    sitemaps: absolute(parsed.getSitemaps().slice(0, MAX_SITEMAPS), robotsUrl),
  };
}

/** Removes the rules beyond the limits. */
function withinLimits(text: string): string {
  let rules = 0;
  let starRules = 0;
  const keeps = (line: string): boolean => {
    if (!/^\s*(?:dis)?allow\s*:/i.test(line)) return true;
    if (line.includes("*")) starRules++;
    rules++;
    return rules <= MAX_RULES && line.length <= MAX_RULE_CHARS && (starRules <= MAX_STAR_RULES || !line.includes("*"));
  };
  return text
    .replace(/^\ufeff/, "")
    .split(/\r\n|\r|\n/)
    .filter(keeps)
    .join("\n");
}

function absolute(urls: string[], base: string): string[] {
  return urls.flatMap((url) => (URL.canParse(url, base) ? [new URL(url, base).href] : []));
}
