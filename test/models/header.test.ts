import { describe, expect, it } from "vitest";
import { HeaderParser, parseHeader } from "../../src/models/header.ts";

/** What is read of a reply that comes in these pieces. */
function read(...pieces: string[]) {
  const reader = new HeaderParser();
  for (const [at, piece] of pieces.entries()) {
    const begun = reader.push(piece);
    if (begun) return { ...begun, rest: begun.rest + pieces.slice(at + 1).join("") };
  }
  return reader.end();
}

const sources = (...ids: string[]) => ({ kind: "sources", ids });

describe("parseHeader", () => {
  it.each([
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
  ])("reads %j", (line, header) => {
    expect(parseHeader(line)).toEqual({ header, rest: "" });
  });

  it.each([
    "",
    "Refunds take five days.",
    "Sources: the handbook says p1",
    "Human resources are on floor 2.",
    "@sourcesp1",
    "@everyone p1",
    "p1",
  ])("takes %j for none", (line) => {
    expect(parseHeader(line)).toBeUndefined();
  });

  it("keeps the text that stands on the header's own line", () => {
    expect(parseHeader("@sources p1, p2 Refunds take p days.")).toEqual({ header: sources("p1", "p2"), rest: "Refunds take p days." });
  });
});

describe("HeaderReader", () => {
  it("reads a header however it is cut", () => {
    const whole = "@sources p1 p3\nRefunds take five days.";
    for (let at = 1; at < whole.length; at++) {
      expect(read(whole.slice(0, at), whole.slice(at))).toMatchObject({ header: sources("p1", "p3"), rest: "Refunds take five days." });
    }
    expect(read(...Array.from(whole))).toMatchObject({ header: sources("p1", "p3"), rest: "Refunds take five days." });
  });

  it("takes nothing for the header that is not yet a whole line", () => {
    expect(new HeaderParser().push("@sources p1")).toBeUndefined();
  });

  it("reads a header that is all there is", () => {
    expect(read("@unknown")).toEqual({ header: { kind: "unknown" }, rest: "", isFenced: false });
  });

  it.each(["\n\n", "Sure, let me see.\n", "<think>\n@unknown\nHm.\n</think>\n", "<think>@unknown</think>"])(
    "finds it behind %j",
    (before) => {
      expect(read(`${before}@sources p1\nYes.`)).toMatchObject({ header: sources("p1"), rest: "Yes." });
    },
  );

  it("notes the fence that it stands in", () => {
    expect(read("```text\n@sources p1\nYes.\n```")).toMatchObject({ header: sources("p1"), isFenced: true });
    expect(read("```\ncode\n```\n@sources p1\nYes.")).toMatchObject({ header: sources("p1"), isFenced: false });
  });

  it("gives all that was written where there is none, without thoughts", () => {
    expect(read("<think>secret\nplan</think>\nRefunds take", " five days.\nSee [p1].")).toEqual({
      header: null,
      rest: "Refunds take five days.\nSee [p1].",
    });
  });
});
