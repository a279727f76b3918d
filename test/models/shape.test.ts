import { describe, expect, it } from "vitest";
import { shapeOf } from "../../src/models/units.ts";

describe("what form of answer a question asks for", () => {
  it.each([
    ["What is a webhook?", "definition"],
    ["so, who are you", "definition"],
    ["What’s an e-mail address", "definition"],
    ["(what is café olé)", "definition"],
    ["what is", "any"],
    ["What is the difference between the plans pro and enterprise?", "any"],
    ["How many agents may I have?", "number"],
    ["How do I add a webhook?", "steps"],
  ])("%s", (question, shape) => expect(shapeOf(question)).toBe(shape));

  it.each(["-", "é", "'", " ", "?! "])("is told at once of thousands of %j", (part) => {
    expect(shapeOf(`what is ${part.repeat(4_000)}_`)).toBe("any");
    expect(shapeOf(part.repeat(4_000))).toBe("any");
  });
});
