import { expect, test } from "vitest";
import { textOfBody } from "../../src/agents/tool-call.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

test.each<[string | null, string, string | undefined]>([
  ["application/json", '{\n  "a" : [ 1 , "x  y" ]\n}\n', '{"a":[1,"x  y"]}'],
  ["application/json; charset=utf-8", '{"id": 12345678901234567890, "q": "a \\" b"}', '{"id":12345678901234567890,"q":"a \\" b"}'],
  ["application/problem+json", '{ "title": "No" }', '{"title":"No"}'],
  ["application/json", '{ "cut": "off', '{ "cut": "off'],
  ["text/plain", " two\n lines ", "two\n lines"],
  ["text/html; charset=UTF-8", "<p>Hi</p>", "<p>Hi</p>"],
  ["application/xml", "<a> </a>", "<a> </a>"],
  ["application/atom+xml", "<feed/>", "<feed/>"],
  [null, "plain", "plain"],
  ["image/png", "", ""],
  ["image/png", "x", undefined],
  ["application/pdf", "%PDF", undefined],
  ["application/octet-stream", "x", undefined],
  ["text/plain", "a\0b", undefined],
  ["text/plain; charset=no-such", "x", undefined],
  ["nonsense", "x", undefined],
])("%s %j reads %j", (type, body, expected) => {
  expect(textOfBody(type, bytes(body))).toBe(expected);
});

test("reads other character sets, and drops half a character at the end of a truncated body", () => {
  expect(textOfBody("text/plain; charset=iso-8859-1", Uint8Array.of(0xfc))).toBe("ü");
  expect(textOfBody("text/plain", bytes("aü").subarray(0, 2))).toBe("a");
});

test("takes linear time for adversarial bodies", () => {
  const hostile = `["${'\\"'.repeat(30_000)}"]`;
  expect(textOfBody("application/json", bytes(hostile))).toBe(hostile);
  expect(textOfBody("application/json", bytes(`["${'\\"'.repeat(30_000)}`))).toHaveLength(60_002);
});
