import { describe, expect, test } from "vitest";
import { textSketchOf } from "../../../src/knowledge/crawl/sketch.ts";
import { reasonToSkip } from "../../../src/knowledge/crawl/urls.ts";
import { hasDate, variablesOf } from "../../../src/knowledge/crawl/variables.ts";

const at = (path: string): string => `https://a.example${path}`;

describe("URLs that are skipped", () => {
  test.each([
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
  ])("skips %s", (path) => expect(reasonToSkip(at(path))).toBe("not_a_page"));

  test.each([
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
  ])("reads %s", (path) => expect(reasonToSkip(at(path))).toBeNull());

  test("skips URLs that look endless", () => {
    expect(reasonToSkip(at("/a/b/a/b/a/b/"))).toBe("looks_endless");
    expect(reasonToSkip(at("/docs/docs/docs/docs"))).toBe("looks_endless");
    expect(reasonToSkip(at(`/${"x/".repeat(40)}`))).toBe("looks_endless");
    expect(reasonToSkip(at("/p?a=1&b=2&c=3&d=4&e=5&f=6&g=7"))).toBe("looks_endless");
    expect(reasonToSkip(at("/en/docs/en/api"))).toBeNull();
  });

  // A pattern that backtracks would not end here.
  test("keeps a long path that almost repeats", () => {
    expect(reasonToSkip(at(`/${"a/a1/".repeat(7)}${"a".repeat(700)}`))).toBe("looks_endless");
  });
});

describe("variables", () => {
  const named = (path: string): string[] => variablesOf(at(path)).map(({ name }) => name);

  test.each<[string, string[]]>([
    ["/", []],
    ["/about", ["/*"]],
    ["/calendar/2026/11/21", ["/calendar/#"]],
    ["/calendar/2026/nov", ["/calendar/#"]],
    ["/2026/11/21/how-we-ship", ["/#", "/#/*"]],
    ["/s3f9/help/refunds", ["/#", "/#/help/*"]],
    ["/shop?size=2&colour=red", ["/*", "?colour", "?size", "?colour&size"]],
    ["/?page=2", ["?page"]],
  ])("of %s are %j", (path, names) => expect(named(path)).toEqual(names));

  test("are equal in pages that differ in them alone", () => {
    const restOf = (path: string, name: string) => variablesOf(at(path)).find((variable) => variable.name === name)?.rest;
    expect(restOf("/shop?colour=red&size=2", "?colour")).toBe(restOf("/shop/?size=2&colour=blue", "?colour"));
    expect(restOf("/shop?colour=red&size=2", "?colour")).not.toBe(restOf("/shop?colour=red&size=3", "?colour"));
    expect(restOf("/s3f9/help/refunds", "/#")).toBe(restOf("/s4aa/help/refunds", "/#"));
  });

  test.each(["/list?page=2", "/list?q=x&p=17", "/list/page/40", "/p/3", "/list/seite-3.html", "/list?offset=200"])(
    "%s is a page of a list",
    (path) => expect(variablesOf(at(path)).some(({ isPageNumber }) => isPageNumber)).toBe(true),
  );

  test.each(["/product/3", "/list?page=20261121", "/calendar/2026/11", "/show?item=3", "/page/about"])("%s is no page of a list", (path) =>
    expect(variablesOf(at(path)).some(({ isPageNumber }) => isPageNumber)).toBe(false),
  );

  test.each([
    "/calendar/2026/11/21",
    "/events/2026-11",
    "/x?date=2026-11-21",
    "/x?week=7",
    "/calendar/7",
    "/20261121",
    "/2026/nov/a-title",
  ])("%s has a date", (path) => expect(hasDate(at(path))).toBe(true));

  test.each(["/articles/1950", "/kb/201101", "/kb/20269999", "/product/7?size=12", "/releases/v2", "/x?start=40"])(
    "%s has no date",
    (path) => expect(hasDate(at(path))).toBe(false),
  );
});

describe("what pages say", () => {
  const isSame = (one: [string, string], other: [string, string]): boolean =>
    JSON.stringify(textSketchOf(at(one[0]), one[1])) === JSON.stringify(textSketchOf(at(other[0]), other[1]));

  test.each<{ path: string; text: string; otherPath: string; otherText: string }>([
    {
      path: "/cal?d=2026-11-21",
      text: "Saturday, 21 November 2026\nNo events.",
      otherPath: "/cal?d=2031-01-03",
      otherText: "Friday, 3 January 2031\nNo events.",
    },
    { path: "/cal?next=7", text: "Vom 3. März 2026 bis 9.3.2026", otherPath: "/cal?next=8", otherText: "Vom 10. Mai 2026 bis 16.5.2026" },
    { path: "/cal/week/7", text: "Week 7 of 52: nothing", otherPath: "/cal/week/8", otherText: "Week 8 of 52: nothing" },
    { path: "/a?visit=x81kq2", text: "Your visit is x81kq2.", otherPath: "/a?visit=y77aa1", otherText: "Your visit is y77aa1." },
    { path: "/shop?colour=red", text: "Nothing is red.", otherPath: "/shop?colour=blue", otherText: "Nothing is blue." },
    { path: "/list?page=7", text: "Page 7, next: 8", otherPath: "/list?page=12", otherText: "Page 12, next: 13" },
  ])("$path and its like are the same, whatever they echo from their address", ({ path, text, otherPath, otherText }) =>
    expect(isSame([path, text], [otherPath, otherText])).toBe(true),
  );

  test.each<{ path: string; text: string; otherPath: string; otherText: string }>([
    { path: "/product/7", text: "Product 7", otherPath: "/product/8", otherText: "Product 8" },
    { path: "/list?page=7", text: "Products 61 to 70", otherPath: "/list?page=8", otherText: "Products 71 to 80" },
    { path: "/2026/11/a", text: "How we ship", otherPath: "/2026/11/b", otherText: "How we bill" },
    { path: "/a", text: "The same text", otherPath: "/help/b", otherText: "The same text" },
  ])("$path differs from its like", ({ path, text, otherPath, otherText }) =>
    expect(isSame([path, text], [otherPath, otherText])).toBe(false),
  );

  test("are sketched in a bounded number of hashes", () => {
    const text = Array.from({ length: 20_000 }, (_, word) => `word${word}`).join(" ");
    const { shingles, oneOf } = textSketchOf(at("/long"), text);
    expect(shingles.length).toBeLessThanOrEqual(32);
    expect(shingles.length).toBeGreaterThan(8);
    expect(oneOf).toBeGreaterThan(100);
  });
});
