import type { DayRange } from "./definitions.ts";

/** Longer questions are the same when they begin the same: it bounds what is kept of each. */
const MAX_KEY_CHARACTERS = 200;

/** How many questions the overview shows. */
const TOP = 10;

interface Question {
  questionKey: string;
  question: string;
  days: Record<string, number>;
  lastAskedAt: number;
}

/**
 * The most frequent questions of a range. The store gives a hundred of the last year's most frequent ones and the hundred
 * latest: with more than that, one is missed only if a hundred were asked more often that year and a hundred others later.
 */
export function topQuestions(questions: readonly Question[], { fromDay, toDay }: DayRange): { question: string; count: number }[] {
  return questions
    .map((one) => ({ ...one, count: countIn(one.days, fromDay, toDay) }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count || b.lastAskedAt - a.lastAskedAt || (a.questionKey < b.questionKey ? -1 : 1))
    .slice(0, TOP)
    .map(({ question, count }) => ({ question, count }));
}

function countIn(days: Record<string, number>, fromDay: number, toDay: number): number {
  return Object.entries(days).reduce((sum, [day, count]) => (Number(day) >= fromDay && Number(day) <= toDay ? sum + count : sum), 0);
}

/** What makes two questions the same to analytics: their letters and digits, without case and punctuation. */
export function questionKeyOf(question: string): string {
  const plain = question.normalize("NFKC").toLowerCase();
  const words = plain.replace(/[^\p{L}\p{M}\p{N}]+/gu, " ").trim();
  // A question of signs alone, "???" or an emoji, is itself.
  return Array.from(words || plain.trim())
    .slice(0, MAX_KEY_CHARACTERS)
    .join("");
}
