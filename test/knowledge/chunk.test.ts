import { describe, expect, test } from "vitest";
import { type Chunk, chunks, cleanText, wordCount } from "../../src/knowledge/indexing/chunk.ts";
import { utf8Length } from "../../src/platform/text.ts";
import { sentences } from "../../src/text/sentences.ts";

const MIB = 1024 * 1024;
const all = (text: string): Chunk[] => [...chunks(cleanText(text))].filter((chunk) => chunk !== undefined);
const words = (text: string): string[] => text.match(/[\p{L}\p{N}]+/gu) ?? [];

describe("chunks", () => {
  test("separates sections, each with its path of headings", () => {
    const text = `# Guide\n\nWelcome to the guide, which tells all that there is to know.\n\n## Install\n\nRun the installer and wait until it says that it is done.\n\n# Other\n\nNothing much stands here, but for this sentence of some length.`;
    expect(all(text).map(({ heading, content }) => [heading, content.split(" ")[0]])).toEqual([
      ["Guide", "Welcome"],
      ["Guide > Install", "Run"],
      ["Other", "Nothing"],
    ]);
  });

  test("reads underlined headings", () => {
    expect(all("Title\n=====\n\nThe text of the section stands below its underlined heading.")[0]?.heading).toBe("Title");
  });

  test("keeps words whole that have soft hyphens and other characters without width", () => {
    expect(all("\ufeffcancel\u00adlation zero\u200bwidth")[0]?.content).toBe("cancellation zerowidth");
  });

  test("joins short sections and loses no heading", () => {
    const found = all("# One\n\nToo little.\n\n# Two\n\n# Three\n\nAlso little.\n\n# Four");
    expect(found).toHaveLength(1);
    expect(found[0]!.heading).toBe("One");
    expect(words(found[0]!.content)).toEqual(["Too", "little", "Two", "Three", "Also", "little", "Four"]);
  });

  test("loses no heading that nothing follows", () => {
    const section = "The section has words enough to stand in a chunk of its own.";
    expect(all(`# One\n# Two\n\n${section}\n\n# Three\n# Four`).map(({ content }) => words(content))).toEqual([
      ["One", "Two", ...words(section)],
      ["Three", "Four"],
    ]);
    expect(all(`# One\n\n${section}\n\n# Two`).map(({ content }) => words(content))).toEqual([words(section), ["Two"]]);
  });

  test("cuts long text between sentences, near 350 words", () => {
    const text = Array.from({ length: 200 }, (_, at) => `Sentence ${at} has nine words in it, as counted.`).join(" ");
    const found = all(text);
    expect(found.length).toBeGreaterThan(3);
    for (const { content } of found) {
      expect(wordCount(content)).toBeLessThanOrEqual(350);
      expect(content).toMatch(/^Sentence .* as counted\.$/s);
    }
    expect(found.flatMap(({ content }) => words(content))).toEqual(words(text));
  });

  test("keeps a list and a code block whole, with the line that announces them", () => {
    const filler = "Some words of an introduction stand here. ".repeat(45);
    const list = Array.from({ length: 30 }, (_, at) => `${at + 1}. Press the button number ${at + 1}.`).join("\n");
    const code = ["```js", ...Array.from({ length: 30 }, (_, at) => `call(${at}, "a word or two");`), "```"].join("\n");
    for (const block of [list, code]) {
      const holding = all(`${filler}\n\nMore.\n\nTo do so:\n\n${block}`).filter(({ content }) => content.includes(block));
      expect(holding).toHaveLength(1);
      expect(holding[0]!.content).toContain("To do so:");
    }
  });

  test("repeats a table's header in each part of a table that is cut", () => {
    const rows = Array.from({ length: 400 }, (_, at) => `| plan ${at} | ${at} requests a minute |`);
    const found = all(["| Plan | Limit |", "| --- | --- |", ...rows].join("\n"));
    expect(found.length).toBeGreaterThan(2);
    for (const { content } of found) expect(content.startsWith("| Plan | Limit |\n| --- | --- |\n| plan ")).toBe(true);
  });

  test("treats CRLF like LF", () => {
    const text = "# A\n\nThe first section of this text has enough words to stand.\n\n- one\n- two";
    expect(all(text.replaceAll("\n", "\r\n"))).toEqual(all(text));
  });

  test("has no chunk for an empty text", () => {
    for (const text of ["", " \n\t\n", "\0\0", "---\n\n***"]) expect(all(text)).toEqual([]);
  });

  test.each<[string, string]>([
    ["no line break", "word ".repeat(MIB)],
    ["no space", "x".repeat(5 * MIB)],
    ["only full stops", ".".repeat(5 * MIB)],
    ["only line breaks", `a${"\n".repeat(5 * MIB)}b`],
    ["only spaces", `a${" ".repeat(5 * MIB)}b`],
    ["only hashes", "# ".repeat(2 * MIB)],
    ["tiny sections", "# a\nb\n".repeat(MIB / 8)],
    ["a list without end", "- a\n".repeat(MIB)],
    ["an open fence", `\`\`\`\n${"\n\ncode".repeat(MIB / 2)}`],
    ["a table without end", "| a | b |\n".repeat(MIB / 4)],
    ["Chinese", "退款需要五个工作日。".repeat(MIB / 8)],
    ["Chinese without a stop", "退款需要五个工作日".repeat(MIB / 8)],
    ["lone surrogates", "\ud83d ".repeat(MIB)],
    ["emoji", "🎉".repeat(MIB)],
    ["emoji out of step", `a${"🎉".repeat(MIB)}`],
    ["blank lines in a fence", `\`\`\`\na${"\n".repeat(5 * MIB)}b`],
    ["NUL", "a\0b ".repeat(MIB)],
    ["quotes", `"'`.repeat(2 * MIB)],
    ["words far apart", `word${" ".repeat(2_000)}`.repeat(2 * 1024)],
    ["lines of cells far apart", `| a |${" ".repeat(3_000)}| b |\n`.repeat(1024)],
    ["a table with a wide header", `| ${"表".repeat(480)} |\n| ${"-".repeat(480)} |\n${`| ${"退款需要".repeat(900)} |\n`.repeat(200)}`],
    ["items of a list that go on and on", `- ${"a b\n  ".repeat(MIB / 2)}`],
    ["a block of code with long names", `\`\`\`\n${"name_of_a_variable_ ".repeat(580)}\n\`\`\`\n\n`.repeat(50)],
    ["sections of few, wide words", `# a\n\nb${" ".repeat(7_000)}c\n\n`.repeat(200)],
    ["lines that announce wide lists", `a${" ".repeat(6_000)}b:\n\n- c${" ".repeat(6_000)}d\n\n`.repeat(100)],
    ["Thai", "การคืนเงินใช้เวลาห้าวันทำการ".repeat(MIB / 16)],
    ["base64", "SGVsbG8gV29ybGQhIEhlbGxvIFdvcmxkIQ+/".repeat(MIB / 16)],
    ["combining marks", `e${"\u0301".repeat(MIB)}`],
    ["no-break spaces", "a\u00a0\u3000".repeat(MIB)],
  ])("takes up to 5 MiB of it: %s", (_, text) => {
    // Quadratic work on 5 MiB would take hours, so that the test would time out.
    for (const { content, heading } of all(text)) {
      expect(utf8Length(content)).toBeLessThanOrEqual(8_192);
      expect(heading?.length ?? 0).toBeLessThanOrEqual(300);
      expect(content.isWellFormed() && !content.includes("\0")).toBe(true);
    }
  });
});

describe("a long text leaves room for other work", () => {
  test.each<[string, string]>([
    ["a table", "| kettle | 40 euros |\n".repeat(50_000)],
    ["a list", "- a kettle costs 40 euros\n".repeat(40_000)],
    ["code", `\`\`\`\n${"price(40);\n".repeat(100_000)}`],
    ["a paragraph", "a kettle costs 40 euros\n".repeat(40_000)],
    ["blank lines", " \n".repeat(500_000)],
    ["rulers", "---\n".repeat(250_000)],
  ])("in %s of a megabyte", (_, text) => {
    const pauses = [...chunks(text)].filter((chunk) => chunk === undefined);
    expect(pauses.length).toBeGreaterThan(10);
  });
});

describe("a long text loses nothing to the limit in bytes", () => {
  test.each<[string, string]>([
    ["Chinese", Array.from({ length: 20_000 }, (_, at) => `第${at}条`).join("")],
    ["emoji", Array.from({ length: 5_000 }, (_, at) => `🎉${at}`).join("")],
    ["base64", Array.from({ length: 5_000 }, (_, at) => `A${at}+/`).join("")],
    ["wide cells", Array.from({ length: 300 }, (_, at) => `| x${at} |${" ".repeat(1_000)}| y${at} |`).join("\n")],
  ])("%s", (_, text) => {
    const found = all(text);
    expect(found.length).toBeGreaterThan(3);
    expect(found.map(({ content }) => content.replaceAll(/\s+/g, "")).join("")).toBe(text.replaceAll(/\s+/g, ""));
  });
});

test("a length in UTF-8 is that of the encoded text", () => {
  for (const text of ["", "abc", "é", "退款", "🎉a🎉", "\u0301\u07ff\u0800\uffff"]) {
    expect(utf8Length(text)).toBe(new TextEncoder().encode(text).length);
  }
});

describe("sentences", () => {
  test.each([
    ["One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]],
    ["Use a tool, e.g. Postman, v1.2 or so. Then go on.", ["Use a tool, e.g. Postman, v1.2 or so.", "Then go on."]],
    ["Dr. Smith wrote to a.b@example.com. It helped.", ["Dr. Smith wrote to a.b@example.com.", "It helped."]],
    ['He said "Stop." Then he left.', ['He said "Stop."', "Then he left."]],
    ["Open the menu.Click here.Write to a.b@example.com", ["Open the menu.", "Click here.", "Write to a.b@example.com"]],
    ["Call Math.Round to round, in Node.js too.", ["Call Math.Round to round, in Node.js too."]],
    ["Guard it with `threading.Lock` or approx.Ten of them.", ["Guard it with `threading.Lock` or approx.Ten of them."]],
    ["A heading\nA first line", ["A heading", "A first line"]],
    ["退款。需要五天！好", ["退款。", "需要五天！", "好"]],
  ])("of %s", (text, expected) => {
    expect(sentences(text)).toEqual(expected);
  });

  test("end after 8,192 characters at the next line or full stop", () => {
    for (const text of ["x;y\n".repeat(10_000), "e.g. ".repeat(10_000), ".".repeat(40_000)]) {
      for (const sentence of sentences(text)) expect(sentence.length).toBeLessThan(8_200);
    }
  });

  test("do not end at the end of a wrapped line", () => {
    const wrapped = "This line of text was wrapped by an editor when it had reached its\nEighty columns.";
    expect(sentences(wrapped)).toEqual([wrapped]);
  });
});
