import { expect, test } from "vitest";
import { JsonSize } from "../../../src/platform/http/json-size.ts";

/** The sizes that are counted for a JSON text that is read in pieces of a given length. */
function sizeOf(json: string | Uint8Array, pieceLength = 1_000): { longest: number; others: number } {
  const size = new JsonSize();
  const bytes = typeof json === "string" ? new TextEncoder().encode(json) : json;
  for (let at = 0; at < bytes.length; at += pieceLength) size.add(bytes.subarray(at, at + pieceLength));
  return { longest: size.longest, others: size.others };
}

/** JSON with every letter beyond ASCII escaped, as Python's json.dumps writes it. */
function toAsciiJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const TEXTS = [
  "",
  "plain",
  "é",
  "Ґрунт",
  "日本語",
  "😀 and 👩‍👩‍👧",
  'quotes " and \\ and \n\t\u0001',
  "\\u00e9 as text",
  "\\",
  '\\"',
  "a\u0000b",
];

test.each(TEXTS)("the longest string is counted as it decodes, however it is written: %j", (text) => {
  const bytes = new TextEncoder().encode(text).length;
  for (const json of [JSON.stringify({ text }), toAsciiJson({ text })]) {
    for (const pieceLength of [1, 2, 3, 7, 1_000]) expect(sizeOf(json, pieceLength).longest).toBe(Math.max(bytes, "text".length));
  }
});

test.each([
  [String.raw`["\ud83d\ude00"]`, 4],
  [String.raw`["\ud83d"]`, 3],
  [String.raw`["\ude00"]`, 3],
  [String.raw`["\ude00\ud83d"]`, 6],
  [String.raw`["\ud83dx\ude00"]`, 7],
  [String.raw`["\ud83d","\ude00"]`, 3],
])("of surrogates, a pair takes four bytes and another takes the three of U+FFFD: %s", (json, bytes) => {
  const [decoded] = JSON.parse(json) as string[];
  expect(new TextEncoder().encode(decoded).length).toBe(bytes);
  expect(sizeOf(json).longest).toBe(bytes);
});

test("what is beside the longest string is counted too", () => {
  expect(sizeOf(`{"a":"${"x".repeat(100)}","b":"${"y".repeat(40)}"}`)).toEqual({ longest: 100, others: 40 + 15 });
  expect(sizeOf(`[${"0,".repeat(500)}0]`)).toEqual({ longest: 0, others: 1_003 });
  expect(sizeOf(`[${"[],".repeat(500)}0]`).others).toBe(1_503);
});

test("bytes that are no JSON are counted too", () => {
  for (const json of ['"\\u', '"\\uzzzz"', "\\\\\\", '""""', "\\u0041"]) expect(sizeOf(json).longest).toBeLessThanOrEqual(json.length);
  const bytes = Uint8Array.from({ length: 10_000 }, (_, at) => (at * 31) % 256);
  const { longest, others } = sizeOf(bytes);
  expect(longest + others).toBeGreaterThan(5_000);
});
