import { describe, expect, test } from "vitest";
import { claimOf, isNeutral, SupportingText } from "../../src/grounded/support.ts";

const TEXT = `Parcels leave every evening at 6. Orders of $1,000 or more are insured, smaller ones are not.

| Plan | Price |
| --- | --- |
| Starter | $20.00 |
| Business | $50 |

Write to help@acme.test. The iPhone app needs version 4.2.1.`;
const text = new SupportingText(TEXT, "Delivery and plans");

describe("support of a sentence", () => {
  test.each([
    "The parcel leaves at six in the evening.",
    "Orders of 1000 dollars or more are insured.",
    "Orders over $1,000 are insured.",
    "Starter: $20",
    "Business has a price of $50.",
    "The iPhone app needs version 4.2.1.",
    "You can write to help@acme.test.",
    "Delivery: parcels leave every evening.",
  ])("is found for %j", (sentence) => {
    expect(text.supportOf(claimOf(sentence), false)).toBeGreaterThan(0.5);
  });

  test.each([
    "The parcel leaves at seven in the evening.",
    "Orders of 100 dollars or more are insured.",
    "Orders of $1,000 or more are not insured.",
    "Starter: $50",
    "The Android app needs version 4.2.1.",
    "The iPhone app needs version 4.2.",
    "You can write to sales@acme.test.",
    "Parcels leave from Hamburg every evening.",
    "Our opening hours depend on the season.",
  ])("is not found for %j", (sentence) => {
    expect(text.supportOf(claimOf(sentence), false)).toBe(0);
  });

  test("may rest on what a tool was called with", () => {
    const result = new SupportingText('{"status": "shipped", "eta": "2026-11-25"}', "Where is order A1?");
    expect(result.supportOf(claimOf("Your order A1 was shipped and its ETA is the 25th."), false)).toBeGreaterThan(0.5);
    expect(result.supportOf(claimOf("Your order A1 was shipped and its ETA is the 26th."), false)).toBe(0);
  });

  test("is quick for long texts and sentences", () => {
    const long = new SupportingText(`${"The parcel of a customer leaves at 6, and arrives. ".repeat(500)}\n`.repeat(2));
    const startedMs = performance.now();
    for (let at = 0; at < 20; at++) long.supportOf(claimOf(`${"a1 B2, ".repeat(500)}@${"-.".repeat(500)}`), at % 2 === 0);
    expect(performance.now() - startedMs).toBeLessThan(5_000);
  });
});

describe("a neutral sentence", () => {
  test.each([
    "Great question!",
    "Let me know if you have any other questions.",
    "Feel free to reach out to our support team.",
    "I hope this helps!",
    "Sure, here you go.",
    "I'm happy to help you with that.",
  ])("states no facts: %j", (sentence) => {
    expect(isNeutral(sentence)).toBe(true);
  });

  test.each([
    "Support is free.",
    "We reply in 5 minutes.",
    "Write to help@acme.test.",
    "Ask Grace.",
    "Refunds are possible.",
    "Ring us today for a loan.",
  ])("is not %j", (sentence) => {
    expect(isNeutral(sentence)).toBe(false);
  });
});
