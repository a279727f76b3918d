import { describe, expect, test } from "vitest";
import { HOSTILE_PAGES, numbers } from "./hostile-files.ts";
import { pageOf, textOf } from "./page.ts";

const MIB = 1024 * 1024;

describe("hostile pages", () => {
  test.each(Object.entries(HOSTILE_PAGES))("bounds %s", async (_, html) => {
    // Without a bound this takes minutes, so that the test would time out.
    const page = await pageOf(html);
    expect(page.text.startsWith("Begin")).toBe(true);
    expect(page.text.length).toBeLessThanOrEqual(MIB);
  });

  test("bounds a title that is a line of dashes", async () => {
    const { title } = await pageOf(`<title>${"-".repeat(500_000)}x | Site</title><p>Begin</p>`);
    expect(title.length).toBeLessThanOrEqual(300);
  });

  test.each([
    ["<ul><li>", /^(?:- )*/],
    ["<ol><li>", /^(?:1\. )*/],
    ["<ul><li><dl><dt>", /^(?:- )*/],
  ])("renders %s in itself as plain text from some depth on", async (start, marks) => {
    // Each level takes the time of all text in it.
    const text = await textOf(start.repeat(45) + "Deep");
    expect(text.replace(marks, "")).toBe("Deep");
    expect(text.length).toBeLessThan("1. ".repeat(8).length + 5);
  });

  test("looks at the first classes of an element only", async () => {
    const withClasses = (count: number) => textOf(`<p>Begin</p><div class="${"x ".repeat(count)}sidebar">Beside</div>`);
    expect([await withClasses(29), await withClasses(30)]).toEqual(["Begin", "Begin\n\nBeside"]);
  });

  test("looks at a bounded number of questions in all lists of a page together", async () => {
    const list = (name: string, count: number) =>
      Array.from({ length: count }, (_, at) => ({ "@type": "Question", name: `${name} ${at}?`, acceptedAnswer: { text: name && "Yes." } }));
    const script = (...lists: object[][]) => `<script type="application/ld+json">${JSON.stringify(lists)}</script>`;
    const text = await textOf(`${script(list("One", 90), list("", 90))}${script(list("Two", 90))}`);
    expect([...text.matchAll(/^## /gm)]).toHaveLength(110);
    expect(text).toContain("## Two 19?");
  });

  test("renders no more text than a page may have", async () => {
    const page = await pageOf(`<p>Begin</p><p>${"word ".repeat(MIB / 4)}<p>End`);
    expect([page.text.length <= MIB, page.truncated, page.text.includes("End")]).toEqual([true, "length", false]);
    const ofMain = await pageOf(`<p>${"word ".repeat(MIB / 4)}<main>${"text ".repeat(MIB / 8)}<p>End</main>`);
    expect([ofMain.truncated, ofMain.text.endsWith("End")]).toEqual([false, true]);
  });

  test("counts what a table repeats as text", async () => {
    const rows = `<tr><td>Begin<td colspan=39 rowspan=200>${"y".repeat(119)}</tr>${"<tr><td>".repeat(199)}`;
    const page = await pageOf(`<table>${rows.repeat(10)}</table>`);
    expect([page.text.length <= MIB, page.truncated]).toEqual([true, "length"]);
  });

  test("says that a page was cut", async () => {
    expect((await pageOf(HOSTILE_PAGES["one text of ten megabytes"]!)).truncated).toBe("length");
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
