import { describe, expect, test } from "vitest";
import { parseHeader } from "../../src/grounded/header.ts";

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
    expect(parseHeader(" **@sources p1** Set `max_items` to **2**.")?.rest).toBe("Set `max_items` to **2**.");
    expect(parseHeader("@smalltalk **Hello** > you")?.rest).toBe("**Hello** > you");
  });
});
