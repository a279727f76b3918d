import robotsParser from "robots-parser";
import { BOT_TOKEN } from "../extract/robots-directives.ts";
import { normalisedEscapes } from "./urls.ts";

/** RFC 9309 requires crawlers to read at least 500 KiB. */
export const MAX_ROBOTS_BYTES = 500 * 1024;
/** Each rule is matched against each URL. A rule with stars takes up to its length times the URL's length, so fewer of them are kept. */
const MAX_RULES = 2_000;
const MAX_STAR_RULES = 200;
const MAX_RULE_CHARS = 500;
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
  const parsed = robotsParser(robotsUrl, ownRules(text));
  const delay = parsed.getCrawlDelay(BOT_TOKEN);
  return {
    isAllowed: (url) => new URL(url).pathname === "/robots.txt" || parsed.isAllowed(encoded(url), BOT_TOKEN) === true,
    delayInSeconds: delay === undefined || !(delay >= 0) ? null : Math.min(delay, MAX_DELAY_IN_SECONDS),
    sitemaps: absolute(parsed.getSitemaps(), robotsUrl),
  };
}

/** Replaces the rules of other crawlers, and ours beyond the limits, by empty ones, since a rule also ends the list of a group's names. */
function ownRules(text: string): string {
  const lines = text.replace(/^\ufeff/, "").split(/\r\n|\r|\n/);
  // The group for all crawlers applies only if no group names ours.
  const own = lines.some((line) => crawlerIn(line) === BOT_TOKEN.toLowerCase()) ? BOT_TOKEN.toLowerCase() : "*";
  let [rules, starRules] = [0, 0];
  let [isNaming, isOwn] = [false, false];
  const read = (line: string): string => {
    const [name, value] = fieldOf(line);
    if (value === undefined) return line;
    const crawler = crawlerIn(line);
    if (crawler !== undefined) {
      isOwn = (isNaming && isOwn) || crawler === own;
      isNaming = true;
      return line;
    }
    isNaming = false;
    if (name !== "allow" && name !== "disallow") return line;
    if (isOwn) rules++;
    if (isOwn && line.includes("*")) starRules++;
    const isKept = isOwn && rules <= MAX_RULES && line.length <= MAX_RULE_CHARS && (starRules <= MAX_STAR_RULES || !line.includes("*"));
    return isKept ? normalisedEscapes(line) : "Disallow:";
  };
  return lines.map(read).join("\n");
}

/** The name and the value of a line, in lower case. A value ends at a second colon. */
function fieldOf(line: string): [name: string, value: string | undefined] {
  const [name = "", value] = line
    .split("#", 1)[0]!
    .split(":", 2)
    .map((part) => part.trim().toLowerCase());
  return [name, value];
}

/** The crawler for which a line begins rules, in lower case and without its version; undefined for other lines. */
function crawlerIn(line: string): string | undefined {
  const [name, value] = fieldOf(line);
  return name === "user-agent" ? value?.split("/", 1)[0]!.trim() : undefined;
}

/** Encodes the characters of a URL that the parser encodes in rules, such as brackets in a query. */
function encoded(url: string): string {
  return encodeURI(url).replaceAll("%25", "%");
}

function absolute(urls: string[], base: string): string[] {
  return urls.flatMap((url) => (URL.canParse(url, base) ? [new URL(url, base).href] : []));
}
