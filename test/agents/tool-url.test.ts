import { describe, expect, test } from "vitest";
import { expandUrl, placeholdersOf, sampleUrl, templateProblem, withQuery } from "../../src/agents/tool-url.ts";
import type { ToolParameters } from "../../src/platform/db/columns.ts";

const BASE = "https://api.example.com";
const PATH = `${BASE}/orders/{id}/items`;
const QUERY = `${BASE}/find?q={id}&sort=up`;

const string = { type: "string" };
const parameters: ToolParameters = {
  type: "object",
  properties: { id: string, n: { type: "integer" }, list: { type: "array" }, either: { type: ["string", "null"] }, maybe: string, any: {} },
  required: ["id", "n", "list", "either", "any"],
};

describe("a template", () => {
  test.each([
    [BASE, []],
    [PATH, ["id"]],
    [QUERY, ["id"]],
    [`${BASE}/{id}/{n}?again={id}`, ["id", "n"]],
    [`${BASE}:8443/order-{id}.json`, ["id"]],
    [`${BASE}?q={id}`, ["id"]],
    [`${BASE}/a%20b/{id}`, ["id"]],
  ])("%s is accepted", (template, names) => {
    expect(templateProblem(template, parameters)).toBeUndefined();
    expect(placeholdersOf(template)).toEqual(names);
    expect(sampleUrl(template)).not.toContain("{");
  });

  test.each([
    ["https://{id}.example.com/", "path and query"],
    ["https://{id}/orders", "path and query"],
    ["https://api.example.com:{n}/", "path and query"],
    ["https://{id}@api.example.com/", "path and query"],
    ["https://api.example.com{id}", "path and query"],
    ["{id}://api.example.com/", "path and query"],
    [`${BASE}/#{id}`, "after #"],
    [`${BASE}/orders#top`, "after #"],
    [`${BASE}/{}`, "one name"],
    [`${BASE}/{+id}`, "one name"],
    [`${BASE}/{/id}`, "one name"],
    [`${BASE}/find{?id}`, "one name"],
    [`${BASE}/{id,n}`, "one name"],
    [`${BASE}/{id:3}`, "one name"],
    [`${BASE}/{id*}`, "one name"],
    [`${BASE}/{{id}}`, "one name"],
    [`${BASE}/{id`, "one name"],
    [`${BASE}/id}`, "one name"],
    [`${BASE}/{other}`, "{other} is not a required parameter"],
    [`${BASE}/{maybe}`, "{maybe} is not a required parameter"],
    [`${BASE}/{list}`, "{list} is not a required parameter"],
    [`${BASE}/{either}`, "{either} is not a required parameter"],
    [`${BASE}/{any}`, "{any} is not a required parameter"],
    [`${BASE}/{constructor}`, "{constructor} is not a required parameter"],
    [`${BASE}/a/../{id}`, "percent-encoded"],
    [`${BASE}/a/%2e%2e/{id}`, "percent-encoded"],
    [`${BASE}/./{id}`, "percent-encoded"],
    [`${BASE}/ü/{id}`, "percent-encoded"],
    [`${BASE}/?q='{id}'`, "percent-encoded"],
  ])("%s is refused", (template, problem) => {
    expect(templateProblem(template, parameters)).toContain(problem);
  });
});

describe("a value stays in its place", () => {
  test.each<[unknown, string]>([
    ["A-1_2.3~", "A-1_2.3~"],
    [42, "42"],
    [-1.5, "-1.5"],
    [true, "true"],
    ["a b+c", "a%20b%2Bc"],
    ["a?b=c&d#e", "a%3Fb%3Dc%26d%23e"],
    ["user@evil.test:443", "user%40evil.test%3A443"],
    ["!'()*;,$[]{}|^`\"<>", "%21%27%28%29%2A%3B%2C%24%5B%5D%7B%7D%7C%5E%60%22%3C%3E"],
    ["%2e%2e", "%252e%252e"],
    ["%2F", "%252F"],
    ["ü你😀", "%C3%BC%E4%BD%A0%F0%9F%98%80"],
    ["．．", "%EF%BC%8E%EF%BC%8E"],
    ["...", "..."],
    ["..a", "..a"],
    ["\u202e\u200b", "%E2%80%AE%E2%80%8B"],
  ])("%j in a path and in a query", (value, encoded) => {
    expect(expandUrl(PATH, { id: value })).toEqual({ url: `${BASE}/orders/${encoded}/items` });
    expect(expandUrl(QUERY, { id: value })).toEqual({ url: `${BASE}/find?q=${encoded}&sort=up` });
    const { pathname, host, search, hash } = new URL((expandUrl(PATH, { id: value }) as { url: string }).url);
    expect([host, pathname.split("/").length, search, hash]).toEqual(["api.example.com", 4, "", ""]);
  });

  test.each([
    "",
    ".",
    "..",
    "../admin",
    "a/b",
    "/",
    "//evil.test/",
    "..\\admin",
    "a\\b",
    "a\r\nHost: evil.test",
    "\0",
    "a\u0085b",
    "\ud800",
  ])("%j is refused in a path", (value) => {
    expect(expandUrl(PATH, { id: value })).toEqual({ problem: expect.stringMatching(/./) });
  });

  test.each([
    ["../admin", "..%2Fadmin"],
    ["", ""],
    ["..", ".."],
    ["a\r\nb", "a%0D%0Ab"],
    ["\0", "%00"],
    ["x\ud800", "x%EF%BF%BD"],
  ])("%j is encoded in a query", (value, encoded) => {
    expect(expandUrl(QUERY, { id: value })).toEqual({ url: `${BASE}/find?q=${encoded}&sort=up` });
  });

  test.each([
    [`${BASE}/{id}{n}`, { id: ".", n: "." }],
    [`${BASE}/.{id}/x`, { id: "." }],
    [`${BASE}/x/{id}.`, { id: "." }],
    [`${BASE}/{id}?q={n}`, { id: "..", n: 1 }],
  ])("values that join to %s are refused", (template, values) => {
    expect(expandUrl(template, values)).toEqual({ problem: expect.stringContaining("change the path") });
  });

  test("names the parameter of a refused value, and not the value", () => {
    expect(expandUrl(PATH, { id: "../secret" })).toEqual({
      problem: "The value of id is empty, or contains a slash or a control character.",
    });
  });

  test("a URL that is too long is refused", () => {
    expect(expandUrl(PATH, { id: "x".repeat(8_000) })).toEqual({ problem: "The values are too long." });
  });
});

describe("parameters outside the URL", () => {
  test.each<[string, Record<string, unknown>, string]>([
    [BASE, {}, BASE],
    [`${BASE}/a`, { b: 1, c: "x y", d: true }, `${BASE}/a?b=1&c=x%20y&d=true`],
    [`${BASE}/a?z=1`, { b: "&c=d#e" }, `${BASE}/a?z=1&b=%26c%3Dd%23e`],
    [`${BASE}/a`, { b: ["x", "y", null], c: null, d: undefined }, `${BASE}/a?b=x&b=y`],
    [`${BASE}/a`, { b: { c: 1 }, d: [{ e: 2 }] }, `${BASE}/a?b=%7B%22c%22%3A1%7D&d=%7B%22e%22%3A2%7D`],
  ])("of %s, %j, is added to its query", (url, rest, expected) => {
    expect(withQuery(url, rest)).toBe(expected);
  });
});
