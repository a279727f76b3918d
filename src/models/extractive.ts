import { composeAnswer, type ScoredPassage, type ScoredSegment } from "./compose.ts";
import { confidenceOf, type Signals, signalsOf } from "./confidence.ts";
import { smallTalkReply, withoutSmallTalk } from "./intents.ts";
import { type Model, type ModelReply, type ModelRequest, singleDelta, SMALL_TALK_CONFIDENCE } from "./model.ts";
import { aboutOf, type Passage, type QueryTerm, type Retrieval } from "./retrieval.ts";
import { type Segment, segmentsOf, termMatch } from "./segments.ts";

/** Below it an answer is far more likely wrong than right. */
const MIN_CONFIDENCE = 0.35;

/**
 * Extractive question answering: the answer consists of sentences of the knowledge, and so can say nothing that no source
 * says. It needs no network.
 */
export class ExtractiveEngine implements Model {
  async answer(request: ModelRequest): Promise<ModelReply> {
    const politeReply = smallTalkReply(request);
    if (politeReply !== undefined) {
      return { outcome: "answered", cited: [], confidence: SMALL_TALK_CONFIDENCE, text: singleDelta(politeReply) };
    }
    const question = withoutSmallTalk(request.question, request.language);
    const { text, cited, confidence } = draftAnswer(question, request.retrieval);
    if (text === "" || confidence < MIN_CONFIDENCE) return { outcome: "no_answer", confidence };
    return { outcome: "answered", cited, confidence, text: sentenceDeltas(text, request.language) };
  }
}

async function* sentenceDeltas(text: string, language: string): AsyncGenerator<string, void> {
  for (const { segment } of sentenceSegmenter(language).segment(text)) yield segment;
}

function sentenceSegmenter(language: string): Intl.Segmenter {
  try {
    return new Intl.Segmenter(language, { granularity: "sentence" });
  } catch {
    // The language is no valid BCP 47 tag.
    return new Intl.Segmenter(undefined, { granularity: "sentence" });
  }
}

/** The best answer that the passages allow, however unsure. */
interface Draft {
  text: string;
  cited: Passage[];
  signals: Signals;
  /** The probability, 0..1, that it is right. */
  confidence: number;
}

const MAX_PASSAGES_READ = 5;

export function draftAnswer(question: string, retrieval: Retrieval): Draft {
  const read = scorePassages(question, retrieval);
  const signals = signalsOf(retrieval, read, MAX_PASSAGES_READ);
  return { ...composeAnswer(read), signals, confidence: confidenceOf(signals) };
}

// --- Scoring of segments ---

/** What a query term counts that is only in a segment's heading, title or lead-in. */
const CONTEXT_MATCH = 0.6;
/** A longer segment (a table, a block of code) contains words by chance; hardly a sentence has more terms. */
const LONG_SEGMENT_TERMS = 40;
/** What the passage's score and the expected answer type add to a segment's score. */
const PASSAGE_BONUS = 0.5;
const ANSWER_TYPE_BONUS = 0.15;
/** A sentence that only says where to read on is hardly an answer. */
const POINTER_FACTOR = 0.5;
const POINTER =
  /^(?:for (?:more|further|additional|detailed) (?:information|info|details|instructions|help)\b|(?:also )?(?:see|refer to|read|learn more|find out more)\b)/i;
/** A sentence about a topic names it among its first terms. */
const TOPIC_TERMS = 4;

const NO_TERMS: ReadonlySet<string> = new Set();

function scorePassages(question: string, { passages, questionTerms, previousTerms }: Retrieval): ScoredPassage[] {
  const queryTerms = [...questionTerms, ...previousTerms];
  const answerType = answerTypeOf(question);
  return passages.slice(0, MAX_PASSAGES_READ).map((passage) => {
    const segments = segmentsOf(passage.content, aboutOf(passage));
    const quoting = new Set(segments.filter((segment) => isExampleOf(segment, question)));
    const scored = segments.map((segment) =>
      scoreSegment(quoting.has(segment) ? { ...segment, terms: NO_TERMS } : segment, passage, queryTerms, answerType),
    );
    return { passage, segments: scored, quotesQuestion: quoting.size > 0 };
  });
}

/** Whether a code example contains the question itself, as a request's body does: that is no answer to it. */
function isExampleOf({ kind, text }: Segment, question: string): boolean {
  return kind === "code" && wordsOnly(text).includes(wordsOnly(question));
}

function wordsOnly(text: string): string {
  return ` ${text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim()} `;
}

function scoreSegment(segment: Segment, passage: Passage, queryTerms: readonly QueryTerm[], answerType: AnswerType): ScoredSegment {
  const match = (term: QueryTerm): number =>
    Math.max(termMatch(segment.terms, term), termMatch(segment.contextTerms, term) * CONTEXT_MATCH);
  const coverage = weightedShare(queryTerms, match) * Math.min(1, Math.sqrt(LONG_SEGMENT_TERMS / Math.max(1, segment.terms.size)));
  const firstTerms = new Set([...segment.terms].slice(0, TOPIC_TERMS));
  const startsWithTopic = queryTerms.some((term) => !term.isWeak && termMatch(firstTerms, term) === 1);
  const typeBonus = hasAnswerType(segment, answerType, startsWithTopic) ? ANSWER_TYPE_BONUS : 0;
  const factor = POINTER.test(segment.text) ? POINTER_FACTOR : 1;
  return { segment, coverage, score: (coverage + PASSAGE_BONUS * passage.score + typeBonus) * factor };
}

function weightedShare(queryTerms: readonly QueryTerm[], match: (term: QueryTerm) => number): number {
  const total = queryTerms.reduce((sum, { weight }) => sum + weight, 0);
  const matched = queryTerms.reduce((sum, term) => sum + term.weight * match(term), 0);
  return total === 0 ? 0 : matched / total;
}

// --- Expected answer type ---

type AnswerType = "number" | "definition" | "steps" | "any";

const ASKS_NUMBER =
  /\bhow (?:long|many|much|often|far|fast|big|large|old|soon|quickly)\b|\bwhen\b|\bwhat time\b|\b(?:price|cost|costs|limit|maximum|minimum)\b/i;
const ASKS_STEPS = /\bhow (?:do|can|should|could|would|to|does one)\b|\b(?:steps?|instructions|set ?up|configure|install)\b/i;
/** Captures what follows "what is". */
const ASKS_DEFINITION =
  /^\W*(?!\W)(?:(?:so|and|ok(?:ay)?|but|by the way|hi|hello)\W*)?(?:what|who)(?:['’]s| is| are| was| were| does| do)\b(\W[^_]*)$/is;
const WORD = /[\p{L}\p{M}\p{N}]+(?:['’-]+[\p{L}\p{M}\p{N}]+)*/gu;
/** A question about more words asks for more than a definition. */
const MAX_DEFINED_WORDS = 6;

const HAS_NUMBER =
  /\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|hundred|thousand|daily|weekly|monthly|yearly|hourly|immediately|once|twice|unlimited|free)\b/i;
const DEFINES = /^.{0,80}?\b(?:is|are|means?|refers? to|describes?|consists? of|represents?|lets?|allows?|enables?)\b/is;
const INSTRUCTS =
  /^(?:to\b|first\b|then\b|click|go to|open|select|choose|enter|press|run|use|send|call|add|create|set|copy|install|you can\b)/i;

export function answerTypeOf(question: string): AnswerType {
  if (ASKS_NUMBER.test(question)) return "number";
  if (ASKS_STEPS.test(question)) return "steps";
  return asksForDefinition(question) ? "definition" : "any";
}

/** Counts the words in a second step: one pattern for all of it would backtrack over every split of a long text. */
function asksForDefinition(question: string): boolean {
  const words = ASKS_DEFINITION.exec(question)?.[1]?.match(WORD) ?? [];
  return words.length > 0 && words.length <= MAX_DEFINED_WORDS;
}

/** @param startsWithTopic whether the segment names what is asked about among its first terms. */
function hasAnswerType({ kind, text, isOrdered }: Segment, type: AnswerType, startsWithTopic: boolean): boolean {
  if (type === "number") return HAS_NUMBER.test(text.replace(/^[ \t]*\(?\d{1,3}[.)]/, ""));
  if (type === "definition") return kind === "sentence" && startsWithTopic && DEFINES.test(text);
  if (type === "steps") return isOrdered || kind === "code" || INSTRUCTS.test(text.replace(/^[\s*+\-•]+/, ""));
  return false;
}
