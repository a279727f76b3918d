import robotsParser from "robots-parser";
import { BOT_TOKEN } from "../extract/robots-directives.ts";

/** RFC 9309: at least 500 KiB are to be read; what comes after is not. */
export const MAX_ROBOTS_BYTES = 500 * 1024;
/** Each rule is tried on each URL. One with stars costs up to its own length times the URL's, so there may be fewer of those. */
const MAX_RULES = 2_000;
const MAX_STAR_RULES = 200;
const MAX_RULE_CHARS = 500;
const MAX_SITEMAPS = 100;
/** A site that wants longer pauses than this would never be read to its end. */
const MAX_DELAY_IN_SECONDS = 30;

/** The rules of one site for our robot. */
export interface RobotsRules {
  isAllowed(url: string): boolean;
  /** The pause between requests that the site asks for; null where it asks for none. */
  delayInSeconds: number | null;
  /** Absolute URLs, not yet checked to be of the host. */
  sitemaps: string[];
}

/** How robots.txt was answered: its text, or that there is none, or that the site could not say. */
export type RobotsAnswer = { kind: "rules"; rules: RobotsRules } | { kind: "unreachable" };

/**
 * What to make of the answer to a request of `robotsUrl` (RFC 9309): any 4xx but 429 allows everything; 429, 5xx and no answer
 * (`status` null) forbid everything for now.
 */
export function readRobots(robotsUrl: string, status: number | null, bytes: Uint8Array): RobotsAnswer {
  if (status === null || status >= 500 || status === 429) return { kind: "unreachable" };
  const isRules = status >= 200 && status < 300;
  return { kind: "rules", rules: parseRobots(robotsUrl, isRules ? textOf(bytes) : "") };
}

/** The rules in a robots.txt. A page of HTML in its place holds none. */
export function parseRobots(robotsUrl: string, text: string): RobotsRules {
  const parsed = robotsParser(robotsUrl, bounded(text));
  const delay = parsed.getCrawlDelay(BOT_TOKEN);
  return {
    isAllowed: (url) => new URL(url).pathname === "/robots.txt" || parsed.isAllowed(url, BOT_TOKEN) === true,
    delayInSeconds: delay === undefined || !(delay >= 0) ? null : Math.min(delay, MAX_DELAY_IN_SECONDS),
    sitemaps: absolute(parsed.getSitemaps().slice(0, MAX_SITEMAPS), robotsUrl),
  };
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes.subarray(0, MAX_ROBOTS_BYTES));
}

/** The lines that matter, without rules beyond what can be tried on each URL. */
function bounded(text: string): string {
  let rules = 0;
  let starRules = 0;
  const isKept = (line: string): boolean => {
    if (!/^\s*(?:dis)?allow\s*:/i.test(line)) return true;
    if (line.includes("*")) starRules++;
    rules++;
    return rules <= MAX_RULES && line.length <= MAX_RULE_CHARS && (starRules <= MAX_STAR_RULES || !line.includes("*"));
  };
  return text
    .replace(/^\ufeff/, "")
    .split(/\r\n|\r|\n/)
    .filter(isKept)
    .join("\n");
}

function absolute(urls: string[], base: string): string[] {
  return urls.flatMap((url) => (URL.canParse(url, base) ? [new URL(url, base).href] : []));
}
