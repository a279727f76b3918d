import { describe, expect, test } from "vitest";
import { BOT_TOKEN } from "../../../src/knowledge/extract/robots-directives.ts";
import { MAX_ROBOTS_BYTES, parseRobots, robotsTextOf } from "../../../src/knowledge/crawl/robots.ts";

const ROBOTS = "https://a.example/robots.txt";
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const allowed = (text: string, path: string): boolean => parseRobots(ROBOTS, text).isAllowed(`https://a.example${path}`);

describe("robots.txt", () => {
  test("the longest rule wins, and Allow among equals", () => {
    const text = "User-agent: *\nDisallow: /docs\nAllow: /docs/open\nDisallow: /x\nAllow: /x\nDisallow: /*.pdf$\nDisallow: /caf%C3%A9";
    expect(["/docs", "/docs/a", "/docs/open/b", "/x", "/a.pdf", "/a.pdf?b", "/caf%c3%a9", "/"].map((path) => allowed(text, path))).toEqual([
      false,
      false,
      true,
      true,
      false,
      true,
      false,
      true,
    ]);
  });

  test("the group with our name replaces the one for all", () => {
    const text = `User-agent: *\nDisallow: /\n\nUser-Agent: other\nUser-agent: ${BOT_TOKEN.toUpperCase()}/2.0\nDisallow: /private\nCrawl-delay: 2`;
    expect(allowed(text, "/a")).toBe(true);
    expect(allowed(text, "/private/a")).toBe(false);
    expect(parseRobots(ROBOTS, text).delayInSeconds).toBe(2);
  });

  test("Crawl-delay is bounded, and ignored if it is no number", () => {
    const delay = (value: string) => parseRobots(ROBOTS, `User-agent: *\nCrawl-delay: ${value}`).delayInSeconds;
    expect([delay("0.5"), delay("86400"), delay("soon"), delay("-1"), delay("")]).toEqual([0.5, 30, null, null, 0]);
  });

  test("sitemaps are absolute URLs", () => {
    expect(parseRobots(ROBOTS, "\ufeffSitemap: /map.xml\nsitemap: https://cdn.example/b.xml # all\nSitemap: http://[").sitemaps).toEqual([
      "https://a.example/map.xml",
      "https://cdn.example/b.xml",
    ]);
  });

  test("rules do not apply to another host", () => {
    expect(parseRobots(ROBOTS, "").isAllowed("https://b.example/")).toBe(false);
  });

  test("a missing file allows everything, and an unreachable one nothing", () => {
    const rules = bytes("User-agent: *\nDisallow: /");
    const answer = (status: number) => {
      const text = robotsTextOf(status, rules);
      return text === undefined ? "unreachable" : parseRobots(ROBOTS, text).isAllowed("https://a.example/x");
    };
    expect([200, 404, 401, 403, 410, 429, 500, 503].map(answer)).toEqual([
      false,
      true,
      true,
      true,
      true,
      "unreachable",
      "unreachable",
      "unreachable",
    ]);
  });

  test("rules of other crawlers neither use up the limits nor join our groups", () => {
    const others = `User-agent: other\n${"Disallow: /*x\n".repeat(2_500)}`;
    expect(allowed(`${others}User-agent: *\nDisallow: /private`, "/private")).toBe(false);
    const all = `User-agent: *\n${"Disallow: /x\n".repeat(2_500)}User-agent: ${BOT_TOKEN}\nDisallow: /private`;
    expect(["/private", "/x"].map((path) => allowed(all, path))).toEqual([false, true]);
    const long = `User-agent: *\nDisallow: /${"x".repeat(600)}\nUser-agent: other\nDisallow: /`;
    expect(allowed(long, "/page")).toBe(true);
  });

  test("rules and URLs may be written with other escapes", () => {
    const text = "User-agent: *\nDisallow: /*?filter[\nDisallow: /%7Ejoe/";
    expect(["/a?filter[b]=1", "/a?filter%5Bb%5D=1", "/~joe/b", "/a?b=1"].map((path) => allowed(text, path))).toEqual([
      false,
      false,
      false,
      true,
    ]);
  });

  test("only the first 500 KiB are read", () => {
    const padding = `# ${"x".repeat(998)}\n`.repeat(MAX_ROBOTS_BYTES / 1000);
    const text = robotsTextOf(200, bytes(`User-agent: *\nDisallow: /early\n${padding}${padding}Disallow: /late`));
    expect(["/early", "/late"].map((path) => allowed(text!, path))).toEqual([false, true]);
  });

  test.each([
    ["/a*b*c", ["/abc", "/a-b-c-", "/abbcc"], ["/ab", "/acb", "/-abc", "/Abc"]],
    ["/a*ab$", ["/aab", "/aabab"], ["/ab", "/aaba"]],
    ["/a$", ["/a"], ["/ab", "/a?b", "/"]],
    ["/*a$b", ["/a$b", "/ba$bc"], ["/ab", "/a"]],
    ["*/b/**/c", ["/b/c/c", "/a/b//c"], ["/b/c", "/c/b/"]],
    ["/a*$", ["/a", "/ab?c"], ["/b"]],
  ])("%s forbids %j and not %j", (rule, forbidden, others) => {
    const text = `User-agent: *\nDisallow: ${rule}`;
    expect([...forbidden, ...others].filter((path) => !allowed(text, path))).toEqual(forbidden);
  });

  // Comparing all texts of a rule with all places of a URL, or trying every way in which they match, would time out.
  test.each([
    ["many short texts", "*a".repeat(240)],
    ["a long text", `*${"a".repeat(300)}`],
    ["a long start", "a".repeat(300)],
  ])("matches rules of %s in linear time", (_, texts) => {
    const rules = `User-agent: *\n${`Disallow: /${texts}b\n`.repeat(5_000)}`;
    const parsed = parseRobots(ROBOTS, rules);
    for (let page = 0; page < 2_000; page++) expect(parsed.isAllowed(`https://a.example/${"a".repeat(310)}${page}`)).toBe(true);
  });

  test("URLs that would be compared with many stars for too long are not fetched", () => {
    const parsed = parseRobots(ROBOTS, `User-agent: *\n${"Disallow: /*aab\n".repeat(200)}`);
    expect([400, 1_900].map((length) => parsed.isAllowed(`https://a.example/${"a".repeat(length)}`))).toEqual([true, false]);
    const few = parseRobots(ROBOTS, `User-agent: *\n${"Disallow: /*aab\n".repeat(20)}`);
    expect(few.isAllowed(`https://a.example/${"a".repeat(1_900)}`)).toBe(true);
  });
});
