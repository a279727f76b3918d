import { describe, expect, test } from "vitest";
import type { Script } from "../stand-ins/openai.ts";
import { scenarioOf } from "../stand-ins/scenarios.ts";
import { converse, type Talk } from "./converse.ts";

const ANSWER = "Refunds are paid within five working days.";

const SHOP = {
  refunds:
    "# Refunds\n\nRefunds are paid within five working days. They go to the card that you paid with. Sale items cannot be returned.\n\nSee https://acme.test/refunds for the form.",
  parcels: "# Parcels\n\nParcels leave the warehouse every evening at six. Delivery to Sweden takes 3 days, to Finland 12 days.",
  plans: "# Plans\n\n| Plan | Price | Projects |\n| --- | --- | --- |\n| Starter | $20 | 3 |\n| Business | $50 | unlimited |",
  secrets: "# Rotate a secret\n\n1. Open **Settings**.\n2. Choose *Rotate secret*.\n3. Copy the new value within 10 minutes.",
};

/** Checks that the reply is read the same however it is split, and gives it. */
async function shopReply(text: string, question = "When are refunds paid, and when do parcels leave?"): Promise<Talk> {
  const [whole, ...split] = await Promise.all(
    [[text], Array.from(text), text.split(/(?<= )/)].map((deltas) => converse({ text: deltas }, { texts: SHOP, question })),
  );
  for (const talk of split) {
    const { outcome, reason, text: shown, cited } = talk;
    expect({ outcome, reason, text: shown, cited: cited.toSorted() }).toEqual({
      outcome: whole!.outcome,
      reason: whole!.reason,
      text: whole!.text,
      cited: whole!.cited.toSorted(),
    });
  }
  return whole!;
}

describe("a header", () => {
  test.each([
    `@sources p1\n${ANSWER}`,
    `\n\n@sources p1\n${ANSWER}`,
    `@sources p1 ${ANSWER}`,
    `**@sources p1**\n\n${ANSWER}`,
    `Sure, let me see.\n@sources p1\n${ANSWER}`,
    `Okay, the visitor asks about refunds. Sale items cannot be returned.\n@sources p1\n${ANSWER}`,
    `\`\`\`text\n@sources p1\n${ANSWER}\n\`\`\``,
    `@sources p1\n@sources p1\n${ANSWER}`,
    `@sources p1\n${ANSWER}\n@sources p1`,
    `@sources p1\n${ANSWER}\n\nSources: p1`,
  ])("is taken off, with what is before it: %j", async (text) => {
    expect(await shopReply(text, "When are refunds paid?")).toMatchObject({ outcome: "answered", text: ANSWER, cited: ["refunds"] });
  });

  test.each([
    "Sure. It is so.\n\n```sh\nls  -a\n\n  curl https://acme.test/refunds\n```\nDone.",
    "Run:\n\n```\nls\n```",
    "Möglich. 「はい。」 そうです。次へ。\n\n\n* One\n  * Two: see [the form. Or this](https://acme.test/refunds).",
    "The state of a parcel is one of:\n\nUnknown:\nWe have not scanned it. @human is our handle.",
  ])("that names sources lets the answer through as it is: %j", async (text) => {
    expect(await shopReply(`@sources p1\n${text}`)).toMatchObject({ outcome: "answered", text });
  });

  test.each([
    ["[a b. C](javascript:alert(1))", "a b. C"],
    ['[a](javascript:alert(1) "b. C")', "a"],
    ["[See [1]. Then go](data:text/html,x)", "See [1]. Then go"],
    ["![Is it so? Yes.](//evil.test/x)", "Is it so? Yes."],
  ])("lets no link of the model's own through, sentences in it or not: %j", async (text, shown) => {
    expect(await shopReply(`@sources p1\nHm. ${text} End.`)).toMatchObject({ text: `Hm. ${shown} End.` });
  });

  test("in a fence of its own leaves a code block at the answer's end whole", async () => {
    const answer = "Run:\n```sh\nls\n```\nDone.";
    expect(await shopReply(`\`\`\`\n@sources p1\n${answer}\n\`\`\`\n`)).toMatchObject({ text: answer });
  });

  test("that refuses is one however the text around it is", async () => {
    for (const text of ["@unknown", "\n`@unknown`\n", "```\n@unknown\n```", "Let me see.\n@unknown", "Let me see.\n@unknown\nOr not."]) {
      expect(await shopReply(text)).toMatchObject({ outcome: "no_answer", text: "" });
    }
  });
});

describe("a reply without a header", () => {
  test("is answered with the passages that support it", async () => {
    const talk = await shopReply(ANSWER);
    expect(talk).toMatchObject({ outcome: "answered", text: ANSWER, cited: ["refunds"] });
    expect(talk.confidence).toBeGreaterThan(0.5);
  });

  test("is streamed sentence by sentence, from the first supported one on", async () => {
    const text = "Sure! Refunds are paid within five working days. Parcels leave the warehouse at six. Let me know if you have questions.";
    const { deltas, cited } = await converse({ text: Array.from(text) }, { texts: SHOP, question: "When are refunds and parcels sent?" });
    expect(deltas[0]).toBe("Sure! Refunds are paid within five working days.");
    expect(deltas.length).toBeGreaterThan(1);
    expect(deltas.join("")).toBe(text);
    expect(cited.sort()).toEqual(["parcels", "refunds"]);
  });

  test.each([
    ["Refunds are paid within five working days. The moon is made of cheese.", ANSWER],
    ["The moon is made of cheese. Refunds are paid within five working days.", ANSWER],
    [
      "Refunds are paid within five working days.\n\n- The moon is made of cheese.\n- Sale items cannot be returned.",
      `${ANSWER}\n\n- Sale items cannot be returned.`,
    ],
    ["Refunds are paid within five working days. For more, see https://acme.test/help/refunds-form.", ANSWER],
    ["Refunds are paid within five working days. Write to refunds@evil.test.", ANSWER],
  ])("is shown without what nothing supports: %j", async (text, shown) => {
    expect(await shopReply(text)).toMatchObject({ outcome: "answered", text: shown, cited: ["refunds"] });
  });

  test("is less sure the less of it is supported", async () => {
    const sure = await shopReply(ANSWER);
    const giftCard = "You can choose a gift card of our partner shop too.";
    for (const text of [`${giftCard} ${ANSWER}`, `${ANSWER} ${giftCard}`]) {
      expect((await shopReply(text)).confidence).toBeLessThan(sure.confidence * 0.7);
    }
  });

  test.each([
    ["another number", "Refunds are paid within seven working days."],
    ["another number in digits", "Refunds are paid within 7 working days."],
    ["a number of another fact", "Refunds are paid every evening at six."],
    ["the number of another country", "Delivery to Sweden takes 12 days."],
    ["the price of another plan", "The Starter plan costs $50."],
    ["a name that no passage has", "Refunds are paid within five working days by Klarna."],
    ["another country", "Delivery to Norway takes 3 days."],
    ["what a passage denies", "Sale items can be returned."],
    ["a denial of what a passage says", "Refunds are not paid within five working days."],
    ["advice from elsewhere", "You can usually claim chargebacks from your bank if the merchant does not respond."],
    ["a promise", "I will transfer you to my manager who will cancel the order."],
    ["a question", "Which of the plans did you buy?"],
    ["politeness alone", "Great question! I am happy to help."],
    ["a heading alone", "## Refunds"],
    ["a lead-in alone", "Here is how refunds are paid:"],
  ])("is refused where it states %s", async (_, text) => {
    expect(await shopReply(text)).toMatchObject({ outcome: "handed_off", reason: "low_confidence", confidence: 0, text: "" });
  });

  test.each([
    "I'm sorry, but the passages do not mention gift cards.",
    "I don't have information about gift cards.\n\nPlease contact our support team.",
    "The provided context does not say that. However, refunds are paid within five working days.",
    "Unfortunately, I cannot find an answer to that in the passages.",
  ])("is no answer where the model says so: %j", async (text) => {
    expect(await shopReply(text, "Do you sell gift cards and pay refunds?")).toMatchObject({ outcome: "no_answer", text: "" });
  });

  test("is read to a limit where the model does not stop", async () => {
    const startedMs = Date.now();
    expect(await converse({ text: [`${ANSWER}\n`], isEndless: true }, { texts: SHOP })).toMatchObject({
      outcome: "answered",
      text: ANSWER,
    });
    expect(await converse({ text: ["The moon "], isEndless: true }, { texts: SHOP })).toMatchObject({ outcome: "handed_off" });
    const brackets = Array.from("[ La. ".repeat(2_000));
    expect(await converse({ text: ["@sources p1\n", ...brackets] }, { texts: SHOP })).toMatchObject({ outcome: "answered" });
    expect(Date.now() - startedMs).toBeLessThan(10_000);
  });

  test("is small talk where it states no facts and the visitor asks for none", async () => {
    expect(await shopReply("You're welcome! Let me know if you need anything else.", "Thanks!")).toMatchObject({
      outcome: "answered",
      text: "You're welcome! Let me know if you need anything else.",
      cited: [],
    });
    expect(await shopReply("You're welcome! Your parcel is on its way.", "Thanks!")).toMatchObject({ outcome: "handed_off" });
  });
});

describe("what small models write", () => {
  test.each([
    [`${ANSWER} [p1]`],
    ["Refunds are paid within five working days [p1]."],
    ["Refunds are paid within five working days (p1)."],
    ["Refunds are paid within five working days (passage p1)."],
    ["Refunds are paid within five working days. (Source: p1)"],
    ["According to the passages, refunds are paid within five working days."],
    ["According to passage p1, refunds are paid within five working days."],
    ["Based on the provided information, refunds are paid within five working days."],
    ["The passage states that refunds are paid within five working days."],
    ["[Refunds](p1) are paid within five working days."],
    ["[Refunds](https://made-up.test/refunds) are paid within five working days."],
    [`${ANSWER}\n\nSources: p1`],
    [`${ANSWER}\nSources: p1\n`],
    [`\`\`\`markdown\n${ANSWER}\n\`\`\``],
  ])("is made plain: %j", async (text) => {
    const talk = await shopReply(text, "When are refunds paid?");
    expect(talk).toMatchObject({ outcome: "answered", text: ANSWER, cited: ["refunds"] });
  });

  test("is Markdown, which stays as it is", async () => {
    const text =
      "### How to rotate a secret\n\nFollow these steps:\n\n1. Open **Settings**.\n2. Choose *Rotate secret*. [p1]\n3. Copy the new value within 10 minutes.\n\nIf you have any questions, feel free to ask!";
    const talk = await shopReply(text, "How do I rotate a secret?");
    expect(talk).toMatchObject({ outcome: "answered", text: text.replace(" [p1]", ""), cited: ["secrets"] });
  });

  test("is a table, row by row", async () => {
    const head = "| Plan | What it costs |\n| --- | --- |\n";
    const talk = await shopReply(`${head}| Starter | $20 |\n| Business | $20 |\n| Enterprise | $99 |`, "What do the plans cost?");
    expect(talk).toMatchObject({ outcome: "answered", text: `${head}| Starter | $20 |`, cited: ["plans"] });
  });

  test("is several facts in one sentence, each number beside its own words", async () => {
    const text = "Starter costs $20 and Business costs $50.";
    expect(await shopReply(text, "What do the plans cost?")).toMatchObject({ outcome: "answered", text, cited: ["plans"] });
    const swapped = "Starter costs $50 and Business costs $20.";
    expect(await shopReply(swapped, "What do the plans cost?")).toMatchObject({ outcome: "handed_off" });
  });

  test("is in the visitor's language, which is believed only where it cites", async () => {
    const german = "Rückerstattungen werden innerhalb von 5 Werktagen bezahlt";
    expect(await shopReply(`${german} [p1].`, "When are refunds paid?")).toMatchObject({ text: `${german}.`, cited: ["refunds"] });
    expect(await shopReply(`${german.replace("5", "9")} [p1].`, "When are refunds paid?")).toMatchObject({ outcome: "handed_off" });
    expect(await shopReply(`${german}.`, "When are refunds paid?")).toMatchObject({ outcome: "handed_off" });
  });
});

describe("a model that behaves as", () => {
  test.each(["structured", "structured-fenced", "plain", "small", "markers", "reasoning", "reasoning-in-text"])(
    "%s is read as one that follows the instructions",
    async (modelName) => {
      const question = "When do parcels leave the warehouse?";
      const { text, cited, outcome } = await converse(scenarioOf, { texts: SHOP, question, modelName });
      expect({ outcome, cited }).toEqual({ outcome: "answered", cited: ["parcels"] });
      expect(text).toContain("Parcels leave the warehouse every evening at six.");
      expect(text).not.toMatch(/p1|think|passage|moon|made-up|answer|asks/);
    },
  );

  test("sorry gives no answer", async () => {
    expect(await converse(scenarioOf, { texts: SHOP, modelName: "sorry" })).toMatchObject({ outcome: "no_answer" });
  });
});

describe("structured output", () => {
  test.each([
    { answer: ANSWER, citations: ["p1"] },
    { answer: `${ANSWER} [p1]` },
    { response: ANSWER, sources: "p1, p9", confidence: 0.9 },
    { citations: [{ id: "p1", quote: "within five working days" }], reply: { text: ANSWER } },
    { header: "@sources p1", answer: ANSWER },
    { answer: `@sources p1\n${ANSWER}` },
    { answer: ANSWER },
  ])("is read: %j", async (reply) => {
    for (const text of [JSON.stringify(reply), `\`\`\`json\n${JSON.stringify(reply, null, 2)}\n\`\`\``]) {
      expect(await shopReply(text, "When are refunds paid?")).toMatchObject({ outcome: "answered", text: ANSWER, cited: ["refunds"] });
    }
  });

  test.each([
    [
      { answer: "The moon is made of cheese.", citations: [] },
      { outcome: "handed_off", reason: "low_confidence" },
    ],
    [{ answer: "", citations: [] }, { outcome: "no_answer" }],
    [{ answer: null, status: "unknown" }, { outcome: "no_answer" }],
    [
      { type: "human", answer: "One moment." },
      { outcome: "handed_off", reason: "customer_request" },
    ],
    [{ header: "@unsupported" }, { outcome: "handed_off", reason: "unsupported_request" }],
    [
      { kind: "smalltalk", answer: "You are welcome!" },
      { outcome: "answered", text: "You are welcome!", cited: [] },
    ],
    [{ answer: "I don't have information about that." }, { outcome: "no_answer" }],
  ])("decides as a header does: %j", async (reply, expected) => {
    expect(await shopReply(JSON.stringify(reply))).toMatchObject(expected);
  });

  test("is used as far as it goes where it is cut off", async () => {
    expect(await shopReply(`{"answer": "${ANSWER}", "citations": ["p`)).toMatchObject({ text: ANSWER, cited: ["refunds"] });
    expect(await shopReply('{"answer": "Refunds are pa')).toMatchObject({ outcome: "handed_off" });
  });
});

describe("reasoning", () => {
  test.each([
    ["<think>Refunds are paid within five working days.\n@unknown</think>", ANSWER],
    ["<think>\nThe visitor asks about refunds.\n</think>\n\n", `@sources p1\n${ANSWER}`],
    ["<thinking>Hm.</thinking>", `{"answer": "${ANSWER}", "citations": ["p1"]}`],
    ["Okay, the user asks when refunds are paid. Refunds are paid within five working days.\n@unknown?\n</think>\n", ANSWER],
    ["We need the passages. Parcels leave the warehouse every evening at six.</think>", `@sources p1\n${ANSWER}`],
  ])("in the text is not shown: %j", async (reasoning, reply) => {
    expect(await shopReply(reasoning + reply, "When are refunds paid?")).toMatchObject({ text: ANSWER, cited: ["refunds"] });
  });

  test("after the header or within the answer is not shown", async () => {
    expect(await shopReply(`@sources p1\n<think>Secret plan.</think>${ANSWER}`)).toMatchObject({ text: ANSWER });
    expect(await shopReply(`${ANSWER}<think>Refunds are paid within five working days.</think>`)).toMatchObject({ text: ANSWER });
  });

  test("in a field of its own is not shown", async () => {
    const script: Script = { reasoning: ["Refunds are paid ", "within five working days."], text: [ANSWER] };
    expect(await converse(script, { texts: SHOP })).toMatchObject({ outcome: "answered", text: ANSWER, cited: ["refunds"] });
  });

  test("without an answer is a failure of the model", async () => {
    await expect(converse({ text: [`<think>${ANSWER}`] }, { texts: SHOP })).rejects.toThrow("all reasoning");
  });
});
