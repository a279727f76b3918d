import { groupItems, SAME_QUESTION, similarityOf, wordingOf, type Wording } from "../knowledge/retrieval/question-similarity.ts";
import type { CuratedQuestion, GapQuestion, RatedDown, StoredExample } from "./gap-store.ts";

/** A question that was asked without a good answer, once or more often. */
export interface Gap {
  question: string;
  unanswered: number;
  ratedDown: number;
  firstAt: number;
  lastAt: number;
  /** The examples, latest first. */
  examples: GapExample[];
}

interface GapExample {
  question: string;
  conversationId: string;
  messageId: string | null;
  kind: "unanswered" | "rated_down";
  comment: string | null;
  at: number;
}

/** A gap with the analysed words of its question. */
interface WordedGap {
  gap: Gap;
  wording: Wording;
}

/**
 * Groups the questions without an answer and those whose answer was rated down. Questions with the same meaning become one gap, which has
 * the most frequent wording. A gap is left out if a curated answer to it was added after the question was last asked.
 * @returns the gaps, most frequent first.
 */
export function groupGaps(
  { questions, ratedDown, curated }: { questions: GapQuestion[]; ratedDown: RatedDown[]; curated: CuratedQuestion[] },
  language: string,
): Gap[] {
  const asked = [...gapsOfQuestions(questions), ...gapsOfRatings(ratedDown)].toSorted(compare);
  // Without questions, the curated answers need not be analysed.
  if (asked.length === 0) return [];
  const worded = asked.map((gap): WordedGap => ({ gap, wording: wordingOf(gap.question, language) }));
  const answers = curated.map(({ question, updatedAt }) => ({ wording: wordingOf(question, language), updatedAt }));
  const isOpen = (group: readonly WordedGap[]): boolean => {
    const lastAt = Math.max(...group.map(({ gap }) => gap.lastAt));
    return !answers.some(
      ({ wording, updatedAt }) => updatedAt > lastAt && group.some((one) => similarityOf(one.wording, wording) >= SAME_QUESTION),
    );
  };
  const open = groupItems(worded, gapSimilarity).filter(isOpen);
  return open.map((group) => mergeGaps(group.map(({ gap }) => gap))).sort(compare);
}

function gapsOfQuestions(questions: readonly GapQuestion[]): Gap[] {
  return questions
    .filter(({ count }) => count > 0)
    .map(({ question, count, firstAt, lastAt, examples }) => {
      const stored = JSON.parse(examples) as StoredExample[];
      const toExample = ({ conversation_id: conversationId, message_id: messageId, at }: StoredExample): GapExample => {
        return { question, conversationId, messageId, kind: "unanswered", comment: null, at };
      };
      return { question, unanswered: count, ratedDown: 0, firstAt: firstAt ?? lastAt, lastAt, examples: stored.map(toExample) };
    });
}

/** Makes the gaps of rated answers. An answer counts once, by its latest rating, however many people rated it down. @param rated newest first. */
function gapsOfRatings(rated: readonly RatedDown[]): Gap[] {
  const byAnswer = Map.groupBy(rated, ({ messageId }) => messageId);
  return [...byAnswer.values()].flatMap(([latest]): Gap[] => {
    const { question, at, ...rest } = latest!;
    if (question === null) return [];
    const example = { question, at, kind: "rated_down" as const, ...rest };
    return [{ question, unanswered: 0, ratedDown: 1, firstAt: at, lastAt: at, examples: [example] }];
  });
}

/** Returns the similarity of two questions; 0 if they are not the same question. Questions without words, such as "???", must be equal. */
function gapSimilarity(first: WordedGap, other: WordedGap): number {
  if (first.gap.question === other.gap.question) return 1;
  const similarity = similarityOf(first.wording, other.wording);
  return similarity >= SAME_QUESTION ? similarity : 0;
}

function mergeGaps(group: readonly Gap[]): Gap {
  return {
    question: group[0]!.question,
    unanswered: sumOf(group, ({ unanswered }) => unanswered),
    ratedDown: sumOf(group, ({ ratedDown }) => ratedDown),
    firstAt: Math.min(...group.map(({ firstAt }) => firstAt)),
    lastAt: Math.max(...group.map(({ lastAt }) => lastAt)),
    examples: group.flatMap(({ examples }) => examples).sort((a, b) => b.at - a.at),
  };
}

function sumOf(gaps: readonly Gap[], numberOf: (gap: Gap) => number): number {
  return gaps.reduce((sum, gap) => sum + numberOf(gap), 0);
}

/** Sorts by frequency, then by time, both descending. */
function compare(a: Gap, b: Gap): number {
  return b.unanswered + b.ratedDown - (a.unanswered + a.ratedDown) || b.lastAt - a.lastAt;
}
