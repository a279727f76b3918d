import { describe, expect, test } from "vitest";
import { draftAnswer } from "../../src/extractive/engine.ts";
import { load, newIndex } from "../knowledge/agent-index.ts";
import germanQuestions from "./languages/de.questions?raw";
import germanTexts from "./languages/de.md?raw";
import englishQuestions from "./languages/en.questions?raw";
import englishTexts from "./languages/en.md?raw";
import spanishQuestions from "./languages/es.questions?raw";
import spanishTexts from "./languages/es.md?raw";
import frenchQuestions from "./languages/fr.questions?raw";
import frenchTexts from "./languages/fr.md?raw";

/** The default confidence threshold of an agent. */
const DEFAULT_THRESHOLD = 0.5;

interface Counts {
  right: number;
  wrong: number;
  refused: number;
  /** Questions that the texts do not answer, and got an answer. */
  answeredMisses: number;
}

/** The texts and questions are in the format of bench/trades. */
async function ask(texts: string, questions: string): Promise<Counts> {
  const index = newIndex();
  const sections = texts.split(/^# /m).slice(1);
  await load(index, Object.fromEntries(sections.map((section) => section.split(/\n(.*)/s).map((part) => part.trim()))));
  const counts = { right: 0, wrong: 0, refused: 0, answeredMisses: 0 };
  for (const line of questions.trim().split("\n")) {
    const [kind, question, holds] = line.split("|").map((part) => part.trim());
    const retrieval = await index.search({ question: question!, previousQuestions: [], limit: 5 });
    const { text, confidence } = draftAnswer(question!, retrieval);
    const isAnswered = text !== "" && confidence >= DEFAULT_THRESHOLD;
    if (kind === "miss") counts.answeredMisses += Number(isAnswered);
    else if (!isAnswered) counts.refused++;
    else counts[text.replaceAll(/\s+/g, " ").toLowerCase().includes(holds!.toLowerCase()) ? "right" : "wrong"]++;
  }
  return counts;
}

describe("a help centre in the language of its visitors", () => {
  test.each([
    { name: "English", texts: englishTexts, questions: englishQuestions, expected: { right: 21, wrong: 1, answeredMisses: 2 } },
    { name: "German", texts: germanTexts, questions: germanQuestions, expected: { right: 18, wrong: 1, answeredMisses: 1 } },
    { name: "French", texts: frenchTexts, questions: frenchQuestions, expected: { right: 9, wrong: 0, answeredMisses: 0 } },
    { name: "Spanish", texts: spanishTexts, questions: spanishQuestions, expected: { right: 9, wrong: 0, answeredMisses: 0 } },
  ])("answers questions as people type them in $name", async ({ texts, questions, expected }) => {
    const counts = await ask(texts, questions);
    expect(counts.right).toBeGreaterThanOrEqual(expected.right);
    expect(counts.wrong).toBeLessThanOrEqual(expected.wrong);
    expect(counts.answeredMisses).toBeLessThanOrEqual(expected.answeredMisses);
  });
});
