import { describe, expect, it } from "vitest";
import { reasonToSkip, variantGroup } from "../../../src/knowledge/crawl/urls.ts";

const at = (path: string): string => `https://a.example${path}`;

describe("URLs that are skipped", () => {
  it.each([
    "/logo.PNG",
    "/a.zip?v=1",
    "/app.js",
    "/feed.xml",
    "/sheet.xlsx",
    "/wp-admin/edit.php",
    "/account/login",
    "/blog/feed/",
    "/shop?add-to-cart=7",
    "/w/index.php?title=X&action=edit",
  ])("skips %s", (path) => expect(reasonToSkip(at(path), 1)).toBe("not_a_page"));

  it.each([
    "/",
    "/guide.pdf",
    "/notes.txt",
    "/readme.md",
    "/page.html",
    "/v1.2",
    "/print-a-label",
    "/help/login-problems",
    "/a.b/c",
    "/?page_id=7",
    "/cart-rules",
  ])("reads %s", (path) => expect(reasonToSkip(at(path), 1)).toBeNull());

  it("skips URLs that look endless", () => {
    expect(reasonToSkip(at("/a/b/a/b/a/b/"), 1)).toBe("looks_endless");
    expect(reasonToSkip(at("/docs/docs/docs/docs"), 1)).toBe("looks_endless");
    expect(reasonToSkip(at(`/${"x/".repeat(40)}`), 1)).toBe("looks_endless");
    expect(reasonToSkip(at("/p?a=1&b=2&c=3&d=4&e=5&f=6&g=7"), 1)).toBe("looks_endless");
    expect(reasonToSkip(at("/en/docs/en/api"), 1)).toBeNull();
    expect(reasonToSkip(at("/deep"), 26)).toBe("too_deep");
  });

  // With a pattern that backtracks this never ends.
  it("keeps a long path that almost repeats", () => {
    expect(reasonToSkip(at(`/${"a/a1/".repeat(7)}${"a".repeat(700)}`), 1)).toBe("looks_endless");
  });
});

describe("variants", () => {
  const keys = (paths: string[]) => new Set(paths.map((path) => variantGroup(at(path))?.key));

  it("puts the days of a calendar into one group with a low limit", () => {
    for (const days of [
      ["/calendar/2026/11/21", "/calendar/2031/1/2/", "/calendar/1999/12"],
      ["/events/2026-11-21", "/events/2026-11-22"],
      ["/calendar?date=2026-11-21", "/calendar?date=2026-11-22&view=week"],
      ["/calendar?month=2026-11", "/calendar?year=2027"],
      ["/events/2026", "/events/2027", "/events/202611"],
      ["/whats-on/20261121", "/whats-on/2026-W47"],
    ]) {
      expect(keys(days).size).toBe(1);
      expect(variantGroup(at(days[0]!))!.most).toBeLessThan(50);
    }
  });

  it("puts the filters of a list into one group with a higher limit", () => {
    expect(keys(["/shop?colour=red", "/shop?size=2&page=3", "/shop/?page=9"]).size).toBe(1);
    expect(variantGroup(at("/shop?page=2"))!.most).toBeGreaterThan(100);
  });

  it("gives other pages no group", () => {
    for (const path of [
      "/articles/360012345-refunds",
      "/2026/11/21/how-we-ship",
      "/releases/v2",
      "/guide/12",
      "/articles/1950",
      "/kb/201101",
      "/kb/20113",
      "/kb/20269999",
    ])
      expect(variantGroup(at(path))).toBeNull();
  });
});
