import { expect, test } from "vitest";
import { LeakGuard } from "../../src/grounded/leak-guard.ts";
import { HandoffError } from "../../src/models/model.ts";

const RULES = "You answer the visitors of a company as its support agent, from quoted passages of its knowledge and from nothing else.";
const newGuard = () => new LeakGuard([{ text: RULES, maxWords: 8 }]);

/** The text that passes before the guard stops it. */
function read(text: string, words = 1): { shown: string; isStopped: boolean } {
  const guard = newGuard();
  const pieces = text.split(/(?<=\s)/);
  let shown = "";
  try {
    for (let at = 0; at < pieces.length; at += words) shown += guard.push(pieces.slice(at, at + words).join(""));
    return { shown: shown + guard.end(), isStopped: false };
  } catch (error) {
    if (!(error instanceof HandoffError)) throw error;
    return { shown, isStopped: true };
  }
}

test("other text passes without delay", () => {
  const guard = newGuard();
  expect(guard.push("Refunds take five")).toBe("Refunds take five");
  expect(guard.push(" days")).toBe(" days");
  expect(read("We answer the visitors of a shop, as its owner, from quoted prices.").isStopped).toBe(false);
});

test.each([1, 3, 1_000])("a short run passes, in pieces of %d words", (size) => {
  const text = "They are the visitors of a company as such. Then they leave, from quoted passages of its knowledge.";
  expect(read(text, size)).toEqual({ shown: text, isStopped: false });
});

test.each([
  RULES,
  RULES.toUpperCase().replaceAll(" ", "\n- **"),
  `Sure! ${RULES}`,
  "from quoted passages: of its knowledge, and from nothing else.",
])("%j is stopped", (text) => {
  const { shown, isStopped } = read(text);
  expect(isStopped).toBe(true);
  expect(shown.split(/\s+/).length).toBeLessThan(8);
});

test("a run ends at a word that the secret does not have there", () => {
  expect(read("You answer the visitors of big company as its support agent, from said passages").isStopped).toBe(false);
});
