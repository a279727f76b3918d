import { describe, expect, test } from "vitest";
import { inputProblem, unusablePatterns } from "../../src/grounded/tool-input.ts";
import type { Tool } from "../../src/models/model.ts";

/** The problem of an argument `a` that has this schema. */
function problemOf(schema: object, a: unknown) {
  const parameters = { type: "object", properties: { a: schema } } as unknown as Tool["parameters"];
  return inputProblem({ parameters }, { a });
}

test("an input that is nested very deep is refused, whoever checks its schema", async () => {
  const deep = JSON.parse(`${"[".repeat(9_000)}${"]".repeat(9_000)}`) as unknown;
  expect(await problemOf({}, deep)).toContain("nested more than 64 deep");
  expect(await inputProblem({ parameters: {}, checksInput: true }, { a: deep })).toContain("nested more than 64 deep");
  expect(await problemOf({}, [[[7]]])).toBeUndefined();
});

const HOSTILE = `${"a".repeat(50_000)}!`;

describe("a pattern", () => {
  test.each(["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "^a*a*a*a*a*a*b$", "(?:a*){20}b"])("%s takes linear time", async (pattern) => {
    // With JavaScript's own regular expressions this takes longer than the test may.
    expect(await problemOf({ type: "string", pattern }, HOSTILE)).toContain("#/properties/a/pattern");
  });

  test.each<[object, unknown, boolean]>([
    [{ pattern: "^[A-Z]\\d+$" }, "A17", true],
    [{ pattern: "^[A-Z]\\d+$" }, "xA17", false],
    // It need not match the whole text, and matches only texts.
    [{ pattern: "b" }, "abc", true],
    [{ pattern: "b" }, 7, true],
    [{ pattern: "^\\u00e4\\/\\p{L}{2}$" }, "ä/öü", true],
    [{ pattern: "@example\\.com$", format: "email" }, "ann@example.com", true],
    [{ pattern: "@example\\.com$", format: "email" }, "ann ann@example.com", false],
    [{ pattern: "@example\\.com$", format: "email" }, "ann@example.org", false],
    [{ anyOf: [{ type: "string", pattern: "^a$" }, { type: "null" }] }, null, true],
    [{ anyOf: [{ type: "string", pattern: "^a$" }, { type: "null" }] }, "b", false],
    [{ items: { pattern: "^a$" } }, ["a", "b"], false],
    [{ additionalProperties: { pattern: "^a$" } }, { x: "a" }, true],
    [{ properties: { pattern: { type: "string", pattern: "^a$" } } }, { pattern: "b" }, false],
    // A value that only looks like a schema is not one.
    [{ const: { pattern: "(" } }, { pattern: "(" }, true],
  ])("of %j and the value %j: %s", async (schema, value, fits) => {
    expect((await problemOf(schema, value)) === undefined).toBe(fits);
  });

  test("of another tool leaves no trace in the next one", async () => {
    await problemOf({ pattern: "^a$" }, "a");
    expect(await problemOf({ format: "pattern at #/properties/a" }, "b")).toBeUndefined();
  });

  test("is not matched with more text than its time allows", async () => {
    const slow = { pattern: "^(?:[a-z]{0,9}){0,9}" };
    expect(await problemOf(slow, "a".repeat(100))).toBeUndefined();
    expect(await problemOf(slow, "a".repeat(1_000_000))).toContain("pattern");
  });

  test.each([["(?=a)"], ["(?<!a)b"], ["(a)\\1"], ["(?:a{100}){100}"], ["\\p{L}{1000}"]])("%s is not usable", async (pattern) => {
    const schema = { properties: { a: { items: { anyOf: [{ pattern: "a" }, { pattern }] } } } };
    expect(await unusablePatterns(schema)).toEqual([["properties", "a", "items", "anyOf", 1]]);
  });
});
