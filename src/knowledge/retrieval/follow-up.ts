import type { QueryTerm } from "../../models/retrieval.ts";
import { tokens } from "../../text/terms.ts";
import { queryTerms, type Vocabulary } from "./query.ts";

/** Words that stand for something said before, and beginnings that go on from it. */
const POINTS_BACK =
  /\b(?:it|its|they|them|their|theirs|this|that|these|those|one|ones|there|same|else|others?|another|both|such|he|she|his|her)\b|^\W*(?:and|also|or|but|so|then|why|ok|okay|i mean|what about|how about)\b/i;
/** A question of so few words is hardly one without what was said before. */
const FEW_WORDS = 2;
/** What the words of the turn before weigh beside those of a question that could stand by itself. */
const LOOSE_SHARE = 0.5;
/** Further back, another matter is talked of. */
const TURNS_BACK = 2;

/**
 * The words that earlier turns add to a question, with what each weighs. A question that leans on the turn before takes
 * its words in full, any other takes half; the turn before that one counts only where the one between leans on it.
 * Together they never weigh more than the question itself.
 */
export function previousWords(
  question: string,
  previous: readonly string[],
  own: readonly QueryTerm[],
  vocabulary: Vocabulary,
): QueryTerm[] {
  const known = new Set(own.map((word) => word.term));
  const added: QueryTerm[] = [];
  let leaning = leans(question);
  let share = 1;
  for (const turn of previous.slice(-TURNS_BACK).reverse()) {
    share *= leaning ? 1 : LOOSE_SHARE;
    for (const word of queryTerms(turn, vocabulary)) {
      if (known.has(word.term)) continue;
      known.add(word.term);
      added.push({ ...word, weight: word.weight * share });
    }
    leaning = leans(turn);
    if (!leaning) break;
  }
  const scale = Math.min(1, weightOf(own) / weightOf(added));
  return added.map((word) => ({ ...word, weight: word.weight * scale }));
}

/** Whether a turn is understood only with the one before it. */
export function leans(turn: string): boolean {
  return POINTS_BACK.test(turn) || tokens(turn).length <= FEW_WORDS;
}

function weightOf(words: readonly QueryTerm[]): number {
  return words.reduce((sum, { weight }) => sum + weight, 0);
}
