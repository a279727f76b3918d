import { expect, test } from "vitest";
import { redactBeginning } from "../../src/redaction/redaction.ts";
import { createRedactor } from "../../src/redaction/redactor.ts";

const CARD = "[redacted: card]";
const IBAN = "[redacted: iban]";

/** Texts with a card number, and what is left of them. */
const CARDS: [string, string][] = [
  ["4111111111111111", CARD],
  ["My card is 4111 1111 1111 1111, thanks.", `My card is ${CARD}, thanks.`],
  ["4111-1111-1111-1111", CARD],
  ["4111.1111.1111.1111", CARD],
  ["Amex 3782 822463 10005 cvc 1234", `Amex ${CARD} cvc 1234`],
  ["378282246310005", CARD],
  ["Diners 3056 930902 5904", `Diners ${CARD}`],
  ["Mastercard of the 2 series: 2223003122003222", `Mastercard of the 2 series: ${CARD}`],
  ["an old one: 4222222222222", `an old one: ${CARD}`],
  ["19 digits: 4000 0000 0000 0000 006", `19 digits: ${CARD}`],
  ["JCB 3566002020360505; UnionPay 6205500000000000004; Maestro 6759649826438453", `JCB ${CARD}; UnionPay ${CARD}; Maestro ${CARD}`],
  ["Discover 6011-1111-1111-1117", `Discover ${CARD}`],
  ["Mir 2200 0000 0000 0004", `Mir ${CARD}`],
  ["4111 1111 1111 1111 12/27 123", `${CARD} 12/27 123`],
  ["4111 1111 1111 1111 123", `${CARD} 123`],
  ["4111 1111 1111 1111 1227 123", `${CARD} 1227 123`],
  ["card 1 4111 1111 1111 1111", `card 1 ${CARD}`],
  ["card:4111111111111111", `card:${CARD}`],
  ["Kartennummer4111111111111111", `Kartennummer${CARD}`],
  ["4111 1111\n1111 1111", CARD],
  ["4111 1111\r\n  1111 1111", CARD],
  ["41 11 11 11 11 11 11 11", CARD],
  ["4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", CARD],
  ["4111 1111 1111 1111\n5555 5555 5555 4444", `${CARD}\n${CARD}`],
  ["4111 1111 1111 1111 5555 5555 5555 4444", `${CARD} ${CARD}`],
  ["4111111111111111 5555555555554444", `${CARD} ${CARD}`],
  ["4111\u00a01111\u00a01111\u00a01111", CARD],
  ["4111\u20111111\u20131111\u20141111", CARD],
  ["4111\u200b1111\u200c1111\u200d1111", CARD],
  ["4\u200b1\u200b1\u200b1\u200b1111\u00ad1111\ufeff1111", CARD],
  ["４１１１１１１１１１１１１１１１", CARD],
  ["𝟒𝟏𝟏𝟏 𝟏𝟏𝟏𝟏 𝟏𝟏𝟏𝟏 𝟏𝟏𝟏𝟏 🙂", `${CARD} 🙂`],
  ["٤١١١١١١١١١١١١١١١", CARD],
  ["4\u03321\u03321\u03321\u033211111111111 1", CARD],
  ["1️⃣ 4111111111111111", `1️⃣ ${CARD}`],
  ["+4111 1111 1111 1111", `+${CARD}`],
  ["https://shop.example/pay?card=4111111111111111&x=1", `https://shop.example/pay?card=${CARD}&x=1`],
  ['{"card":4111111111111111}', `{"card":${CARD}}`],
  ["[redacted: 4111111111111111]", `[redacted: ${CARD}]`],
];

/** Texts with an IBAN. */
const IBANS: [string, string][] = [
  ["DE89370400440532013000", IBAN],
  ["Pay to DE89 3704 0044 0532 0130 00, please", `Pay to ${IBAN}, please`],
  ["de89 3704 0044 0532 0130 00", IBAN],
  ["IBAN:gb82west12345698765432", `IBAN:${IBAN}`],
  ["IBANDE89370400440532013000", `IBAN${IBAN}`],
  ["DE 89 3704-0044-0532-0130-00", IBAN],
  ["DE89 3704 0044\n0532 0130 00", IBAN],
  ["ＤＥ８９370400440532013000", IBAN],
  ["DE89\u200b3704\u200b00440532013000", IBAN],
  ["NO9386011117947 and BE68539007547034", `${IBAN} and ${IBAN}`],
  ["MT84MALT011000012345MTLCAST001S", IBAN],
  ["FR14 2004 1010 0505 0001 3M02 606", IBAN],
  ["DE89370400440532013000 BIC COBADEFFXXX", `${IBAN} BIC COBADEFFXXX`],
];

/** Ordinary texts, which stay as they are. Many of their numbers have the check digit of a card. */
const ORDINARY = [
  "",
  "My order 4111111111111112 has not arrived.",
  "Order 1234567890123452",
  "Order no. 9405511206200000000000",
  "Tracking 9405 5112 0620 4123 4562 89",
  "Parcel 00340434161094042557",
  "UPS 1Z999AA10123456784",
  "Call me: +43 664 1234 56 06",
  "+4366412345606",
  "0043 664 123 45 67 or (0316) 12 34 56",
  "+1 (415) 555-2671",
  "2026-11-27 23:55:01, 27.11.2026 and 20261127235501",
  "1764287701000 and 1764287701000000",
  "EAN 4006381330060",
  "ISBN 978-3-16-148410-0",
  "IMEI 353879234252633",
  "019a9f0e-3c1b-7d42-8a55-661234567890",
  "192.168.100.200:8080",
  "The readings are 4120 2231 3342 4453 5564.",
  "12 45 67 89 23 56 78 90 11 22 33 44",
  "It costs € 1.234.567,89 or 1,234,567.89",
  "Customer 4111, invoice 1111, 1111 euros and 1111 cents",
  "DE89370400440532013001",
  "DE00370400440532013000",
  "AT 10 people were waiting for the delivery",
  "VAT number DE123456789, SIREN 732 829 320",
  "[redacted: card]",
  "🙂".repeat(40),
];

const ALL = await createRedactor({ card: true, iban: true, patterns: [] });

test("numbers of cards and IBANs are masked", () => {
  for (const [text, masked] of [...CARDS, ...IBANS]) {
    expect(ALL.redact(text).text, text).toBe(masked);
    // What was masked once stays as it is.
    expect(ALL.redact(masked)).toEqual({ text: masked, counts: new Map() });
  }
});

test("ordinary numbers are not masked", () => {
  for (const text of ORDINARY) expect(ALL.redact(text), text).toEqual({ text, counts: new Map() });
});

test("each kind is masked only if it is on, and an IBAN is no card", async () => {
  const cards = await createRedactor({ card: true, iban: false, patterns: [] });
  const ibans = await createRedactor({ card: false, iban: true, patterns: [] });
  for (const [text] of IBANS) expect(cards.redact(text).text).toBe(text);
  for (const [text] of CARDS) expect(ibans.redact(text).text).toBe(text);
  expect(cards.redact("DE72 5001 0517 5407 3253 00 and 4111111111111111").counts).toEqual(new Map([["card", 1]]));
});

test("own patterns are masked, in any spelling of digits, and together with what they overlap", async () => {
  const patterns = [
    { name: "customer", pattern: "KD-\\d{6}" },
    { name: "secret words", pattern: "(?i)card: \\S+|redacted" },
  ];
  const redactor = await createRedactor({ card: true, iban: false, patterns });
  const masked = (text: string) => redactor.redact(text).text;
  expect(masked("I am KD-123456 and KD-１２３\u200b456.")).toBe("I am [redacted: customer] and [redacted: customer].");
  expect(masked("Card: 4111111111111111!")).toBe("[redacted: secret words]");
  // A mask of a known kind is left alone; any other text in the form of a mask is not.
  expect(masked("[redacted: customer]")).toBe("[redacted: customer]");
  expect(masked("[redacted: else]")).toBe("[[redacted: secret words]: else]");
  expect(redactor.redact("KD-123456, KD-123456").counts).toEqual(new Map([["customer", 2]]));
});

test("a pattern masks what is around the masks that a stored text has", async () => {
  const redactor = await createRedactor({ card: true, iban: false, patterns: [{ name: "password", pattern: "(?i)password: .+" }] });
  const masked = redactor.redact("password: hunter2, card [redacted: card] and more").text;
  expect(masked).toBe("[redacted: password][redacted: card][redacted: password]");
  expect(redactor.redact(masked).text).toBe(masked);
  // With a mask in each gap it would be too long.
  expect(redactor.redact(`password: ${"[redacted: card] ".repeat(200)}`).text).toBe("[redacted: password]");
});

test("the beginning of a text has no part of a number that was cut", async () => {
  const redactor = await createRedactor({ card: false, iban: true, patterns: [] });
  const iban = "DE89370400440532013000";
  const beginning = redactBeginning(`${iban} `.repeat(400), 8_000, (text) => redactor.redact(text).text);
  expect(beginning).not.toMatch(/\d/);
});

test("a pattern that takes too long masks the rest of the text", async () => {
  const redactor = await createRedactor({ card: false, iban: false, patterns: [{ name: "slow", pattern: "a.*b|a" }] });
  const { text } = redactor.redact("a ".repeat(8_000));
  expect(text.startsWith("[redacted: slow] [redacted: slow]")).toBe(true);
  expect(text.endsWith("[redacted: slow]")).toBe(true);
});
