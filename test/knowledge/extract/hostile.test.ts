import { describe, expect, test } from "vitest";
import { pageOf, textOf } from "./page.ts";

const MIB = 1024 * 1024;
/** A generator of numbers that gives the same ones each time. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

describe("hostile pages", () => {
  const pages: Record<string, string> = {
    "elements nested a hundred thousand deep": `<p>Begin</p>${"<div>".repeat(100_000)}x`,
    "nested and closed elements": `<p>Begin</p>${"<div>".repeat(15_000)}x${"</div>".repeat(15_000)}`,
    "end tags of nothing": `<p>Begin</p>${"<ul><li>".repeat(5_000)}${"</b>".repeat(300_000)}`,
    "paragraphs never closed": `<p>Begin${"<p>x".repeat(100_000)}`,
    "tables in tables": `<p>Begin</p>${"<table><tr><td>a<td>b".repeat(3_000)}`,
    "lists in lists": `<p>Begin</p>${"<ul><li>a".repeat(5_000)}`,
    "attributes by the hundred thousand": `<p>Begin</p><div ${Array.from({ length: 200_000 }, (_, at) => `a${at}=b`).join(" ")}>x</div>`,
    "one attribute of five megabytes": `<p>Begin</p><div class="${"a-".repeat(2.5 * MIB)}">x</div>`,
    "one text of ten megabytes": `<p>Begin</p>${"word ".repeat(2 * MIB)}`,
    "spaces without end": `<p>Begin</p><p>${" ".repeat(3 * MIB)}x</p><h2>${"\n ".repeat(MIB)}</h2>`,
    "a page of ten megabytes": `<p>Begin</p>${"<p>Hello <a href='/x'>link</a>.</p>".repeat(300_000)}`,
    "a million less-than signs": `<p>Begin</p>${"<".repeat(MIB)}`,
    "comments never closed": `<p>Begin</p>${"<!--".repeat(500_000)}`,
    "entities without end": `<p>Begin</p>${"&amp".repeat(500_000)}`,
    "a class of many words": `<p>Begin</p>${`<div class="${"nav-".repeat(1_000)}">x</div>`.repeat(500)}`,
    "cells that span everything": `<p>Begin</p><table>${`<tr>${`<td rowspan=65534 colspan=1000>${"x".repeat(100)}`.repeat(5)}`.repeat(3_000)}</table>`,
  };

  test.each(Object.entries(pages))("bounds %s", async (_, html) => {
    // Without a bound this takes minutes, so that the test would time out.
    const page = await pageOf(html);
    expect(page.text.startsWith("Begin")).toBe(true);
    expect(page.text.length).toBeLessThanOrEqual(MIB);
  });

  test("bounds a title that is a line of dashes", async () => {
    const { title } = await pageOf(`<title>${"-".repeat(500_000)}x | Site</title><p>Begin</p>`);
    expect(title.length).toBeLessThanOrEqual(300);
  });

  test("says that a page was cut", async () => {
    expect((await pageOf(pages["one text of ten megabytes"]!)).truncated).toBe(true);
    expect((await pageOf("<p>Short</p>")).truncated).toBe(false);
  });

  test("never throws for random HTML, and never shows scripts or styles", async () => {
    const tags =
      "div p ul li table tr td th h1 h2 pre code a span b main article nav aside dl dt dd details summary button br img svg form section x-y".split(
        " ",
      );
    const next = numbers(7);
    for (let round = 0; round < 150; round++) {
      const parts = Array.from({ length: 1 + next(80) }, () => {
        const tag = tags[next(tags.length)]!;
        const kind = next(9);
        // This ends a comment or tag that began before, of which the script would otherwise be a part.
        const end = '">-->]]>';
        if (kind === 0) return `</${tag}>`;
        if (kind === 1) return `${end}<script>SECRET("<${tag}>")</script>`;
        if (kind === 2) return `${end}<style>SECRET{}</style><template>SECRET</template><noscript><p>SECRET</noscript>`;
        if (kind === 3) return `<${tag} class="${["nav", "toc", "a b", "sidebar", "accordion"][next(5)]}" hidden=${next(2)}>`;
        if (kind === 4)
          return ["<!--", "-->", "<![CDATA[", "&#0;", "&#xd800;", "<", '"', "\0", "<?x", "</", "&notit;", "\ud800"][next(12)]!;
        return kind < 7 ? `<${tag}>` : `word${next(100)} `;
      });
      const text = await textOf(`<p>${parts.join("").replaceAll("<!--", next(4) === 0 ? "<!--" : "")}`);
      expect(text).not.toContain("SECRET");
      expect(text.isWellFormed()).toBe(true);
    }
  });
});
