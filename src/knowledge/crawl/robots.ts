import { BOT_TOKEN } from "../extract/robots-directives.ts";
import { normalisedEscapes } from "./urls.ts";

/** RFC 9309 requires crawlers to read at least 500 KiB. */
export const MAX_ROBOTS_BYTES = 500 * 1024;
/** Each rule is matched against each URL. */
const MAX_RULES = 2_000;
const MAX_RULE_CHARS = 500;
/** The most stars of all rules together. The text after a star is looked for in the whole URL. */
const MAX_STARS = 300;
/** The most characters in which these texts are looked for, which takes up to 0.6 ms. Longer URLs of sites with many stars are not fetched. */
const MAX_SEARCHED_CHARS = 100_000;
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

/** Parses a robots.txt (RFC 9309). An HTML page in its place has no rules. */
export function parseRobots(robotsUrl: string, text: string): RobotsRules {
  const { origin } = new URL(robotsUrl);
  const { rules, stars, delayInSeconds, sitemaps } = groupIn(text);
  // The longest rule wins, and Allow among equals.
  const byPrecedence = rules.toSorted((one, other) => other.length - one.length || Number(other.allows) - Number(one.allows));
  return {
    isAllowed(url) {
      const { origin: site, pathname, search } = new URL(url);
      if (pathname === "/robots.txt") return true;
      const path = encoded(pathname + search) + END;
      if (site !== origin || path.length * stars > MAX_SEARCHED_CHARS) return false;
      return byPrecedence.find((rule) => matches(rule, path))?.allows ?? true;
    },
    delayInSeconds,
    sitemaps: sitemaps.flatMap((url) => (URL.canParse(url, robotsUrl) ? [new URL(url, robotsUrl).href] : [])),
  };
}

/** A rule of the group for our crawler. */
interface Rule {
  allows: boolean;
  /** The length of the rule as it is written, with normalised escapes. */
  length: number;
  /** The text with which a path begins. */
  start: string;
  /** The texts after each star, which must follow one another. */
  others: string[];
}

/** The end of a path, for which a rule has `$`. No path contains this character. */
const END = "\n";

function groupIn(text: string) {
  const fields = text
    .replace(/^\ufeff/, "")
    .split(/\r\n|\r|\n/)
    .flatMap(fieldIn);
  // The group for all crawlers applies only if no group names ours.
  const token = BOT_TOKEN.toLowerCase();
  const own = fields.some((field) => crawlerOf(field) === token) ? token : "*";
  const [rules, sitemaps]: [Rule[], string[]] = [[], []];
  let delayInSeconds: number | null = null;
  let stars = 0;
  let [isNaming, isOwn] = [false, false];
  for (const field of fields) {
    const { name, value } = field;
    if (name === "user-agent") {
      isOwn = (isNaming && isOwn) || crawlerOf(field) === own;
      isNaming = true;
      continue;
    }
    isNaming = false;
    if (name === "sitemap" && value !== "") sitemaps.push(value);
    if (!isOwn) continue;
    if (name === "crawl-delay" && Number(value) >= 0) delayInSeconds = Math.min(Number(value), MAX_DELAY_IN_SECONDS);
    if (name !== "allow" && name !== "disallow") continue;
    if (value === "" || value.length > MAX_RULE_CHARS || rules.length >= MAX_RULES) continue;
    const pattern = encoded(value).replace(/\$$/, END);
    const [start = "", ...others] = pattern.split("*");
    if (others.length > MAX_STARS - stars) continue;
    stars += others.length;
    rules.push({ allows: name === "allow", length: pattern.length, start, others });
  }
  return { rules, stars, delayInSeconds, sitemaps };
}

interface Field {
  /** In lower case. */
  name: string;
  value: string;
}

/** The field of a line, if it has one. */
function fieldIn(line: string): Field[] {
  const [content = ""] = line.split("#", 1);
  const at = content.indexOf(":");
  return at < 0 ? [] : [{ name: content.slice(0, at).trim().toLowerCase(), value: content.slice(at + 1).trim() }];
}

/** The crawler for which a field begins rules, in lower case and without its version; undefined for other fields. */
function crawlerOf({ name, value }: Field): string | undefined {
  return name === "user-agent" ? value.split("/", 1)[0]!.trim().toLowerCase() : undefined;
}

/** Whether a path matches a rule. The first place of each text leaves most room for the others, so no other one is tried. */
function matches({ start, others }: Rule, path: string): boolean {
  let at = start.length;
  const follows = (text: string) => {
    const found = path.indexOf(text, at);
    at = found + text.length;
    return found >= 0;
  };
  // For long rules, `startsWith` takes 20 times as long as this comparison.
  return path.slice(0, start.length) === start && others.every(follows);
}

/** Normalises the escapes of a rule or path, and escapes the characters that may be written either way, such as brackets in a query. */
function encoded(text: string): string {
  return encodeURI(normalisedEscapes(text)).replaceAll("%25", "%");
}
