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

test("a sentence that names a word of another script is in its own language", () => {
  expect(detectLanguage("how do I switch the app to 中文?", "en")).toBe("en");
  expect(detectLanguage("wie stelle ich die Sprache auf العربية um", "en")).toBe("de");
  expect(detectLanguage("我收到了“Your card is not valid for this shop”的错误信息，怎么办？", "en")).toBe("zh");
  expect(detectLanguage("「Your card is not valid for this shop」と表示される", "en")).toBe("ja");
  expect(detectLanguage("ما معنى Your card is not valid for this shop؟", "en")).toBe("ar");
  expect(detectLanguage("iPhone 16 Pro 价格", "en")).toBe("zh");
  expect(detectLanguage("कीमत kya hai", "en")).toBe("hi");
});
