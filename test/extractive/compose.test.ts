import { expect, test } from "vitest";
import { composeAnswer } from "../../src/extractive/compose.ts";
import { segmentsOf } from "../../src/extractive/segments.ts";

function answerFrom(content: string, text: string): string {
  const segments = segmentsOf({ content, title: "Help", heading: null });
  return composeAnswer(
    segments,
    segments.findIndex((segment) => segment.text.includes(text)),
  );
}

const LONG = Array.from({ length: 6 }, (_, at) => `Parcels to place ${at} leave from the harbour on Monday morning at nine.`).join(" ");

test("a short paragraph is given whole", () => {
  const content = "Parcels leave on Monday. Refunds need the receipt. Bring it within thirty days.\n\nShops are open daily.";
  expect(answerFrom(content, "Bring it")).toBe("Parcels leave on Monday. Refunds need the receipt. Bring it within thirty days.");
});

test("of a paragraph with a question, an answer begins with the best sentence", () => {
  const content = "Parcels leave on Monday. How long is the warranty? The warranty lasts two years.";
  expect(answerFrom(content, "two years")).toBe("The warranty lasts two years.");
});

test("of a longer paragraph, an answer begins with the best sentence and goes on", () => {
  expect(answerFrom(`${LONG} Refunds need the receipt. Bring it within thirty days.`, "Refunds")).toBe(
    "Refunds need the receipt. Bring it within thirty days.",
  );
});

test("a sentence that refers back is preceded by the one that it refers to", () => {
  expect(answerFrom(`${LONG} Refunds need the receipt. It must be readable.`, "It must")).toBe(
    "Refunds need the receipt. It must be readable.",
  );
});

test("a list is given whole with its lead-in, whichever item is the best", () => {
  const content = "After that, parcels take:\n\n- Norway: 3 days\n- Spain: 5 days";
  expect(answerFrom(content, "Spain")).toBe("After that, parcels take:\n\n- Norway: 3 days\n- Spain: 5 days");
});

test("a table's row is a sentence with the heads of its columns", () => {
  const content = "| Product | Voltage | Price |\n| --- | --- | --- |\n| 16 | 110 volts | 5 € |\n| 17 | 217 volts | 9 € |";
  expect(answerFrom(content, "217")).toBe("17: Voltage 217 volts, Price 9 €");
});

test("without a ruler, only lines that begin with a bar are the rows of a table", () => {
  expect(answerFrom("Run cat a | grep b | wc -l to count.", "Run")).toBe("Run cat a | grep b | wc -l to count.");
  expect(answerFrom("| Graz | 9:00 | 18:00 |\n| Linz | 8:00 | 20:00 |", "Linz")).toBe("Linz: 8:00, 20:00");
  expect(answerFrom("Our shops:\nShop | Opens\n--- | ---\nGraz | 9:00", "Graz")).toBe("Our shops:\n\nGraz: Opens 9:00");
});
