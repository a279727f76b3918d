import { expect, test } from "vitest";
import { detectLanguage } from "../../src/text/languages.ts";

test("a language is detected by whole words, not by a single letter", () => {
  expect(detectLanguage("how do i sign in w google", "en")).toBe("en");
  expect(detectLanguage("Kreditkarte w Paypal", "en")).toBeUndefined();
  for (const text of ["do u fix e-bikes", "tell me a joke", "sell me something illegal"])
    expect(detectLanguage(text, "en"), text).toBe("en");
  expect(detectLanguage("quanto custa", "en")).toBe("pt");
  expect(detectLanguage("wie kann ich mit Paypal zahlen", "en")).toBe("de");
});
