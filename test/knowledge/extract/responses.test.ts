import { describe, expect, test } from "vitest";
import { read } from "./page.ts";

const bytes = (...parts: (string | number[])[]): Uint8Array =>
  Uint8Array.from(parts.flatMap((part) => (typeof part === "string" ? part.split("").map((character) => character.charCodeAt(0)) : part)));
const utf16 = (text: string, littleEndian: boolean): Uint8Array => {
  const view = new DataView(new ArrayBuffer(2 * text.length + 2));
  [0xfeff, ...text.split("").map((character) => character.charCodeAt(0))].forEach((code, at) => view.setUint16(2 * at, code, littleEndian));
  return new Uint8Array(view.buffer);
};
const text = async (body: string | Uint8Array, type: string | null, url?: string): Promise<string> => {
  const found = await read(body, type, url);
  return found.kind === "page" ? found.text : found.reason;
};

describe("encodings", () => {
  test.each([
    { name: "the header", type: "text/html; charset=windows-1252", body: bytes("<p>caf", [0xe9], " ", [0x80], "5"), expected: "café €5" },
    { name: "the header in quotes", type: 'text/html;Charset="Shift_JIS"', body: bytes("<p>", [0x83, 0x65, 0x83, 0x58]), expected: "テス" },
    { name: "meta charset", type: "text/html", body: bytes('<meta charset="iso-8859-15"><p>', [0xa4]), expected: "€" },
    {
      name: "http-equiv",
      type: "text/html",
      body: bytes('<meta http-equiv=Content-Type content="text/html; charset=gb18030"><p>', [0xc4, 0xe3, 0xba, 0xc3]),
      expected: "你好",
    },
    {
      name: "the XML declaration",
      type: "application/xhtml+xml",
      body: bytes('<?xml version="1.0" encoding="koi8-r"?><html><p>', [0xf0, 0xd2]),
      expected: "Пр",
    },
    {
      name: "a mark before the header",
      type: "text/html; charset=windows-1252",
      body: bytes([0xef, 0xbb, 0xbf], "<p>", [0xc3, 0xa9]),
      expected: "é",
    },
    { name: "UTF-16", type: "text/html", body: utf16("<p>naïve €", true), expected: "naïve €" },
    { name: "UTF-16, big end first", type: "text/html; charset=utf-8", body: utf16("<p>naïve €", false), expected: "naïve €" },
    { name: "nothing, which is UTF-8", type: "text/html", body: bytes("<p>", [0xc3, 0xa9]), expected: "é" },
    { name: "a label that is none", type: "text/html; charset=klingon", body: bytes("<p>", [0xc3, 0xa9]), expected: "é" },
    { name: "a declaration that cannot be", type: "text/html", body: bytes('<meta charset="utf-16"><p>', [0xc3, 0xa9]), expected: "é" },
  ])("takes the encoding of $name", async ({ type, body, expected }) => {
    expect(await text(body, type)).toBe(expected);
  });

  test("looks for a declaration in the first 1,024 bytes alone", async () => {
    expect(await text(bytes(`<!-- ${"x".repeat(1024)} --><meta charset="windows-1252"><p>`, [0xc3, 0xa9]), "text/html")).toBe("é");
  });
});

describe("kinds of responses", () => {
  test("leaves HTML that is served as text as it is", async () => {
    expect(await text("<p>Hello</p>", "text/plain")).toBe("<p>Hello</p>");
  });

  test("recognises HTML without a type", async () => {
    expect(await text("<!-- x -->\n<!DOCTYPE html><p>Hello</p>", null)).toBe("Hello");
    expect(await text("Just words.", "application/octet-stream")).toBe("Just words.");
  });

  test("skips other content with its reason", async () => {
    expect(await text("x", "image/png")).toBe("unsupported_type");
    expect(await text('{"a":1}', "application/json")).toBe("unsupported_type");
    expect(await text(bytes("PK", [3, 4, 0, 0]), "application/octet-stream")).toBe("unsupported_type");
    expect(await text(bytes("abc", [0, 1, 2]), "text/plain")).toBe("unsupported_type");
    expect(await text("", "text/html")).toBe("empty");
  });

  test("skips a type that is the name of an object property", async () => {
    expect(await text("<p>Hello</p>", "constructor")).toBe("unsupported_type");
    expect(await text("<p>Hello</p>", "__proto__")).toBe("unsupported_type");
  });

  test("recognises quickly what begins with many comments", async () => {
    const comments = "<!---->".repeat(140);
    expect(await text(`${comments}words`, null)).toBe(`${comments}words`);
    expect(await text(`${comments}<p>Hello</p>`, null)).toBe("Hello");
  });

  test("reads plain text as it is, titled by its file", async () => {
    expect(await read("a\r\n  b\r\n", "text/plain", "https://a.example/notes/release_notes-2.txt")).toMatchObject({
      title: "Release notes 2",
      text: "a\n  b",
      links: [],
    });
  });

  test("reads Markdown without its front matter", async () => {
    const body = '---\ntitle: "Set up"\ndraft: false\n---\n# Heading\n\nText <b>as is</b>.';
    expect(await read(body, "text/markdown")).toMatchObject({ title: "Set up", text: "# Heading\n\nText <b>as is</b>." });
    const unnamed = `---\ntitle: x${" ".repeat(19_000)}x\n---\n# Heading`;
    expect(await read(unnamed, "text/markdown")).toMatchObject({ title: "Heading" });
    expect(await read("Intro\n\n## Use it ##\n\nText.", "text/plain", "https://a.example/readme.md")).toMatchObject({ title: "Use it" });
  });

  test("cuts a text that is too long at a line, and says so", async () => {
    const found = await read("A line of a log.\n".repeat(100_000), "text/plain");
    expect(found).toMatchObject({ kind: "page", truncated: "length" });
    expect(found.kind === "page" && found.text.endsWith("A line of a log.")).toBe(true);
  });
});
