import { describe, expect, test } from "vitest";
import { terms, tokens } from "../../src/text/terms.ts";

describe("terms", () => {
  test("stems words, folds case and Latin diacritics, and drops stop words", () => {
    expect(terms("How are the Notifications SIGNED?")).toEqual(["notif", "sign"]);
    expect(terms("Café, naïve, ＦＵＬＬ width")).toEqual(["cafe", "naiv", "full", "width"]);
    expect(terms("The agent's keys don't expire")).toEqual(["agent", "kei", "expir"]);
    expect(terms("What is it about?")).toEqual([]);
  });

  test.each([
    ["webhook-id", "webhookid", ["webhook", "id"]],
    ["webhook_id", "webhookid", ["webhook", "id"]],
    ["webhookId", "webhookid", ["webhook", "id"]],
    ["X-RateLimit-Limit", "xratelimitlimit", ["x", "rate", "limit", "limit"]],
    ["sk_live_", "sklive", ["sk", "live"]],
    ["HTTPServer", "httpserver", ["http", "server"]],
    ["e-mail", "email", ["e", "mail"]],
    ["opt-in", "optin", ["opt"]],
  ])("%s is a compound with its parts", (word, whole, parts) => {
    expect(tokens(word)).toEqual([{ term: whole, parts, kind: "content" }]);
  });

  test.each([
    ["v1.2", ["v1.2"]],
    ["10.0.1", ["10.0.1"]],
    ["1,200 requests", ["1200", "request"]],
    ["iPhone eSIM URLs", ["iphon", "esim", "url"]],
  ])("keeps %s whole", (text, expected) => {
    expect(terms(text)).toEqual(expected);
  });

  test("segments scripts without spaces", () => {
    expect(terms("退款需要五个工作日")).toContain("退款");
    expect(terms("返金はいつですか")).toContain("返金");
    expect(terms("การคืนเงินใช้เวลาห้าวัน").length).toBeGreaterThan(2);
    expect(terms("환불 정책")).toEqual(["환불", "정책"]);
  });

  test("makes the same terms of a question and of a text", () => {
    for (const [question, text] of [
      ["sign up", "Sign-up"],
      ["webhook id header", "the header `webhook-id`"],
      ["Überweisung", "UBERWEISUNG"],
      ["rate limited", "rate limits"],
    ] as const) {
      const all = new Set(terms(text));
      expect(terms(question).filter((term) => !all.has(term) && term !== "header")).toEqual([]);
    }
  });

  test("bounds the length of terms for any text", () => {
    const hostile = [
      "a".repeat(100_000),
      "a-".repeat(10_000),
      "\ud800\udc00\ud800",
      "\0\0",
      "🎉🎉",
      "'''",
      "_".repeat(5_000),
      "aB".repeat(5_000),
    ];
    for (const text of hostile) for (const term of terms(text)) expect(term.length).toBeLessThanOrEqual(48);
  });
});

test.each([["exceed"], ["proceed"], ["succeed"]])("%s is the stem of its forms", (verb) => {
  expect(terms(`${verb}ed ${verb}s ${verb}ing`)).toEqual([verb, verb, verb]);
  expect(terms(verb)).toEqual([verb]);
});
