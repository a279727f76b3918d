import { describe, expect, test } from "vitest";
import { answerTypeOf, askedTerms } from "../../src/extractive/answer-type.ts";

describe("the answer type that a question expects", () => {
  test.each([
    ["What is a webhook?", "definition"],
    ["so, who are you", "definition"],
    ["What’s an e-mail address", "definition"],
    ["(what is café olé)", "definition"],
    ["what is", "any"],
    ["What is the difference between the plans pro and enterprise?", "any"],
    ["How many agents may I have?", "number"],
    ["How do I add a webhook?", "steps"],
  ])("%s", (question, type) => expect(answerTypeOf(question)).toBe(type));

  test.each(["-", "é", "'", " ", "?! "])("is found quickly for thousands of %j", (part) => {
    expect(answerTypeOf(`what is ${part.repeat(4_000)}_`)).toBe("any");
    expect(answerTypeOf(part.repeat(4_000))).toBe("any");
  });
});

test.each([
  ["What is the price of a kettle?", ["price", "kettl"]],
  ["my purse fell off the tube, how do I block the card", ["block", "card"]],
  ["hi there! and do you sell shoes", ["sell", "shoe"]],
  ["kettle price", ["kettl", "price"]],
  ["please cancel my gym", ["cancel", "gym"]],
  ["waht does a kettle cost", ["kettl", "cost"]],
  ["it doesn't work, isn't it the battery", ["batteri"]],
  ["I lost my card.", []],
  ["wifi is super slow in the bedroom", []],
])("of %j the words are known that it asks about", (message, asked) => expect([...askedTerms(message)]).toEqual(asked));
