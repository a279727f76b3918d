import { describe, expect, test } from "vitest";
import { HeaderParser, parseHeader } from "../../src/grounded/header.ts";

/** The header of a reply with these deltas. */
function read(...deltas: string[]) {
  const parser = new HeaderParser();
  for (const [at, delta] of deltas.entries()) {
    const match = parser.push(delta);
    if (match) return { ...match, rest: match.rest + deltas.slice(at + 1).join("") };
  }
  return parser.end();
}

const sources = (...ids: string[]) => ({ kind: "sources", ids });

describe("parseHeader", () => {
  test.each([
    ["@sources p1 p3", sources("p1", "p3")],
    ["@sources: p1, p3 and t2", sources("p1", "p3", "t2")],
    ["  **@Sources** [p1] [p2]", sources("p1", "p2")],
    ["@ sources p12", sources("p12")],
    ["Sources: p1", sources("p1")],
    ["@source p1", sources("p1")],
    ["@sources none", sources()],
    ["@sources", sources()],
    ["`@unknown`", { kind: "unknown" }],
    ["@HUMAN", { kind: "human" }],
    ["unsupported:", { kind: "unsupported" }],
    ["@smalltalk\r", { kind: "smalltalk" }],
  ])("parses %j", (line, header) => {
    expect(parseHeader(line)).toEqual({ header, rest: "" });
  });

  test.each([
    "",
    "Refunds take five days.",
    "Sources: the handbook says p1",
    "Human resources are on floor 2.",
    "@sourcesp1",
    "@everyone p1",
    "p1",
  ])("finds none in %j", (line) => {
    expect(parseHeader(line)).toBeUndefined();
  });

  test("returns the text after the header on the same line", () => {
    expect(parseHeader("@sources p1, p2 Refunds take p days.")).toEqual({ header: sources("p1", "p2"), rest: "Refunds take p days." });
  });
});

describe("HeaderParser", () => {
  test("finds the header however the text is split", () => {
    const whole = "@sources p1 p3\nRefunds take five days.";
    for (let at = 1; at < whole.length; at++) {
      expect(read(whole.slice(0, at), whole.slice(at))).toMatchObject({ header: sources("p1", "p3"), rest: "Refunds take five days." });
    }
    expect(read(...Array.from(whole))).toMatchObject({ header: sources("p1", "p3"), rest: "Refunds take five days." });
  });

  test("waits for the end of the line", () => {
    expect(new HeaderParser().push("@sources p1")).toBeUndefined();
  });

  test("finds a header without any text", () => {
    expect(read("@unknown")).toEqual({ header: { kind: "unknown" }, rest: "", isFenced: false });
  });

  test.each(["\n\n", "Sure, let me see.\n"])("finds it after %j", (before) => {
    expect(read(`${before}@sources p1\nYes.`)).toMatchObject({ header: sources("p1"), rest: "Yes." });
  });

  test("notices a fence around the header", () => {
    expect(read("```text\n@sources p1\nYes.\n```")).toMatchObject({ header: sources("p1"), isFenced: true });
    expect(read("```\ncode\n```\n@sources p1\nYes.")).toMatchObject({ header: sources("p1"), isFenced: false });
  });

  test("finds none in a reply without one", () => {
    expect(read("Refunds take", " five days.\nSee [p1].")).toBeUndefined();
  });
});
