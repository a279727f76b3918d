import { beforeAll, describe, expect, test } from "vitest";
import { STRONG_MATCH } from "../../src/knowledge/retrieval/curated-answers.ts";
import { found, type Index, load, newIndex, search } from "./agent-index.ts";
import { evict } from "../harness.ts";

const TEXTS = {
  refunds: "# Refunds\n\nRefunds are paid to the card of the purchase. Paying out takes five working days, and longer over Christmas.",
  shipping: "# Shipping\n\nParcels are sent from Hamburg. Delivery takes two days within Germany and a week to other countries.",
  password: "# Sign-in\n\nTo reset your password, press “Forgot password” and open the link in the mail. The link is valid for an hour.",
  webhooks: "# Webhooks\n\nEach notification carries the headers webhook-id and webhook-signature. The endpoint must answer with 2xx.",
  limits: "# Limits\n\nThe header X-RateLimit-Remaining says how many requests are left. The plan allows 300 a minute.",
  german: "# Öffnungszeiten\n\nUnser Büro in Köln ist montags bis freitags von neun bis siebzehn Uhr geöffnet.",
  chinese: "# 退款\n\n退款需要五个工作日。请联系客服以获取更多信息。如果您有任何问题。",
};

describe("search", () => {
  let index: Index;
  beforeAll(async () => {
    index = newIndex();
    await load(index, TEXTS);
  });

  test.each([
    ["How long does a refund take?", "refunds"],
    ["i forgot my passwords", "password"],
    ["webhook_id", "webhooks"],
    ["what is webhookSignature", "webhooks"],
    ["rate limit remaining", "limits"],
    ["x-ratelimit-remaining", "limits"],
    ["Wann ist das Buero in Koln geöffnet?", "german"],
    ["退款要多久", "chinese"],
    ["my parcell to germny", "shipping"],
  ])("finds the source of %j", async (question, source) => {
    expect((await found(index, question))[0]).toBe(source);
  });

  test("scores between 0 and 1, best first, and closer matches higher", async () => {
    const { passages } = await search(index, "How long does paying out refunds take?");
    const scores = passages.map(({ score }) => score);
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
    expect(scores.length).toBeGreaterThan(1);
    for (const score of scores) expect(score > 0 && score <= 1).toBe(true);
    expect(scores[0]! > 1.5 * scores[1]!).toBe(true);
  });

  test("returns at most the limit", async () => {
    const { passages } = await index.search({ question: "days takes header link office", previousQuestions: [], limit: 2 });
    expect(passages).toHaveLength(2);
  });

  test("understands a follow-up question in its context", async () => {
    expect((await found(index, "And how long does that take?", "Do you send parcels abroad?"))[0]).toBe("shipping");
    expect((await found(index, "And how long does that take?", "I would like a refund"))[0]).toBe("refunds");
    expect((await found(index, "And how long is it valid?", "How do I reset my password?", "Thanks!"))[0]).toBe("password");
  });

  test("weighs the terms of the previous question in full where the question needs context, else by half", async () => {
    const [germany] = (await search(index, "Germany")).questionTerms;
    const weightAfter = async (question: string): Promise<number> => {
      const { previousTerms } = await search(index, question, "Delivery to Germany?");
      return previousTerms.find(({ term }) => term === germany!.term)!.weight;
    };
    expect(await weightAfter("And how is it for a refund of the card?")).toBeCloseTo(germany!.weight);
    expect(await weightAfter("How do refunds reach the card?")).toBeCloseTo(germany!.weight / 2);
  });

  test.each(["And how is it for a refund?", "How does a refund work?"])(
    "weighs earlier questions no more than %j itself",
    async (question) => {
      const { questionTerms, previousTerms } = await search(
        index,
        question,
        "Delivery of a parcel to Germany takes how many days from Hamburg?",
      );
      const sum = (terms: { weight: number }[]): number => terms.reduce((total, { weight }) => total + weight, 0);
      expect(sum(previousTerms)).toBeCloseTo(sum(questionTerms));
    },
  );

  test("uses the question before the last only where the last needs context itself", async () => {
    expect((await found(index, "And for how long?", "Is it valid?", "The link for my password"))[0]).toBe("password");
    const { previousTerms } = await search(index, "And for how long?", "The link for my password", "Which headers do notifications carry?");
    expect(previousTerms.map(({ term }) => term)).not.toContain("password");
  });

  test("finds another word for a phrase that is typed with a typographic apostrophe", async () => {
    const own = newIndex();
    await load(own, { fault: "Report a fault in the settings.", hours: "The shop is open on weekdays." });
    expect(await found(own, "it doesn’t work")).toEqual(["fault"]);
  });

  test("prefers a passage with the phrase to one with its words scattered", async () => {
    const own = newIndex();
    await load(own, {
      scattered: "The card that you have in hand is plastic. A virtual world may hold any number of things, and one is this.",
      phrase: "In the settings there is a virtual card number. It is made of plastic in no case, but holds for things of the world.",
    });
    expect((await found(own, "virtual card number"))[0]).toBe("phrase");
  });

  test("prefers what the question is about to what earlier ones were about", async () => {
    expect(
      (await found(index, "What is the header webhook-id?", "Do you send parcels to Germany, and how long does delivery take?"))[0],
    ).toBe("webhooks");
  });

  test("prefers what the question is about even if an earlier question is long", async () => {
    const before =
      "Do you send parcels from Hamburg, and how long does delivery take within Germany and to other countries, a week or two days?";
    expect((await found(index, "What is the link valid for?", before))[0]).toBe("password");
  });

  test("ranks a match in the heading before one in the text", async () => {
    const own = newIndex();
    await load(own, {
      mention: "# Deliveries\n\nParcels go out each morning, and the warranty card lies in the box with them.",
      section: "# Warranty\n\nFor two years we mend or replace what breaks, and we pay for the way there and back.",
    });
    expect(await found(own, "warranty")).toEqual(["section", "mention"]);
  });

  test("reports the document frequency of each question term", async () => {
    const { questionTerms } = await search(index, "Do refunds work in Atlantis?");
    expect(questionTerms.map(({ term, documentFrequency, isWeak }) => [term, documentFrequency, isWeak])).toEqual([
      ["refund", 1, false],
      ["work", 1, true],
      ["atlanti", 0, false],
    ]);
  });

  test.each([
    ['"'.repeat(2_000)],
    ["'; DROP TABLE chunks; --"],
    ['body: refund* OR NEAR("a" "b", 5) AND NOT (title : ^x) + -y'],
    ["{title heading} : refund"],
    ["generation:g1 g1 NOT AND OR"],
    ["🎉🎉🎉"],
    ["\ud800"],
    ["\0\0refund\0"],
    ["%_%*?[]\\"],
    ["(".repeat(2_000)],
    [""],
    [" \n\t "],
    [Array.from({ length: 700 }, (_, at) => `word${at}`).join(" ")],
    ["x".repeat(100_000)],
    ["refund ".repeat(50_000)],
    ["退款".repeat(1_000)],
    ["_how _the"],
  ])("accepts any question: %j", async (question) => {
    const { passages, questionTerms } = await search(index, question, question, question);
    for (const { score } of passages) expect(score > 0 && score <= 1).toBe(true);
    expect(questionTerms.length).toBeLessThanOrEqual(32);
  });

  test("is not harmed by any of these", async () => {
    expect(await found(index, "refund")).toEqual(["refunds"]);
  });
});

describe("curated answers", () => {
  const QUESTIONS = {
    reset: "How do I reset my password?",
    cancel: "How can I cancel my subscription?",
    refund: "When will I get my refund?",
    norefund: "Why was my refund declined?",
    hours: "What are your opening hours?",
    who: "Who are you?",
    email: "How do I change my e-mail address?",
  };
  let index: Index;
  beforeAll(async () => {
    index = newIndex();
    for (const [id, question] of Object.entries(QUESTIONS)) await index.putAnswer({ id, question, answer: `Answer of ${id}.` });
  });
  const best = async (question: string): Promise<[string, boolean] | undefined> => {
    const [first] = (await search(index, question)).curated;
    return first && [first.answerId, first.score >= STRONG_MATCH];
  };

  test.each([
    ["How do I reset my password?", "reset"],
    ["how can i reset my passwords", "reset"],
    ["reset password", "reset"],
    ["resett my pasword", "reset"],
    ["I want to cancel my subscription", "cancel"],
    ["when do I get my refund", "refund"],
    ["why is my refund declined?", "norefund"],
    ["opening hours", "hours"],
    ["who are you", "who"],
    ["change email address", "email"],
  ])("match %j strongly", async (question, id) => {
    expect(await best(question)).toEqual([id, true]);
  });

  test.each([
    ["What is my password?"],
    ["How do I change my password?"],
    ["Can I cancel the refund of my subscription before the end of the year?"],
    ["How do I change my plan?"],
    ["What are your prices?"],
    ["Where are you?"],
    ["What is the capital of France?"],
    ["how do i"],
    ["???"],
    [""],
  ])("do not match %j strongly", async (question) => {
    expect((await best(question))?.[1] ?? false).toBe(false);
  });

  test("return an answer once, with its most similar question, and prefer answers with several questions", async () => {
    const own = newIndex();
    const put = (id: string, question: string, answer: string): Promise<void> => own.putAnswer({ id, question, answer });
    await put("1", "My card was declined at the shop", "Check the balance.");
    await put("2", "The shop declined my card", "Check the balance.");
    await put("3", "Card payment declined in a shop", "Check the balance.");
    for (const [at, whose] of ["Her", "His", "Our", "Their", "Your"].entries()) {
      await put(`x${at}`, `${whose} card at the shop was declined`, "Check the balance.");
    }
    await put("4", "My order at the shop was declined", "Write to us.");
    const { curated } = await search(own, "declined at the shop");
    expect(curated.map(({ answer }) => answer)).toEqual(["Check the balance.", "Write to us."]);
    expect((await search(own, "My order at the shop was declined")).curated[0]).toMatchObject({ answerId: "4", score: 1 });
  });

  test("match by all questions of an answer together, and by synonyms", async () => {
    const own = newIndex();
    const teach = async (answer: string, questions: string[]): Promise<void> => {
      for (const question of questions) await own.putAnswer({ id: crypto.randomUUID(), question, answer });
    };
    await teach("Block the card.", ["My card was stolen", "A thief took my wallet", "I was robbed of my card in the street"]);
    await teach("Order a new card.", ["I need another card", "Can I have a second card?", "Order one more card"]);
    await teach("Wait two days.", ["My parcel has not arrived", "Where is my package?", "The delivery is late"]);
    const answer = async (question: string): Promise<string | undefined> => (await search(own, question)).curated[0]?.answer;
    expect(await answer("somebody mugged me, the card in my wallet is gone")).toBe("Block the card.");
    expect(await answer("can I buy a second card")).toBe("Order a new card.");
    expect(await answer("the shipment did not come yet")).toBe("Wait two days.");
  });

  test("match the same after an eviction and after changes in memory", async () => {
    const own = newIndex();
    const put = (id: string, question: string): Promise<void> => own.putAnswer({ id, question, answer: `Answer of ${id}.` });
    await put("zoo", "Where is the zoo?");
    await search(own, "Where is the zoo?");
    await put("okapi", "Where does the okapi sleep?");
    await put("quagga", "Where does the quagga sleep?");
    await own.removeAnswer("quagga");
    await put("zoo", "When does the zoo open?");
    const questions = ["Where does the okapi sleep?", "When does the zoo open?", "quagga", "zoo"];
    const awake = await Promise.all(questions.map(async (question) => (await search(own, question)).curated));
    await evict(own);
    expect(await Promise.all(questions.map(async (question) => (await search(own, question)).curated))).toEqual(awake);
    expect(awake[2]).toEqual([]);
  });

  test("are replaced under the same id, and removed", async () => {
    const own = newIndex();
    await own.putAnswer({ id: "a", question: "Where is the okapi?", answer: "Old." });
    await own.putAnswer({ id: "a", question: "Where is the zebra?", answer: "New." });
    expect((await search(own, "okapi")).curated).toEqual([]);
    expect((await search(own, "Where is the zebra?")).curated).toEqual([
      { answerId: "a", question: "Where is the zebra?", answer: "New.", score: 1 },
    ]);
    await own.removeAnswer("a");
    await own.removeAnswer("a");
    expect((await search(own, "Where is the zebra?")).curated).toEqual([]);
  });
});
