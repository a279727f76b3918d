import { claimOf, isNeutral, SupportingText } from "../grounded/support.ts";
import type { answerDrafts } from "../platform/db/schema.ts";
import { LANGUAGES } from "../text/languages.ts";
import { phraseWords } from "../text/phrases.ts";
import { sentences } from "../text/sentences.ts";
import { groupItems, similarityOf, wordingOf, type Wording } from "./retrieval/question-similarity.ts";

type DraftRow = typeof answerDrafts.$inferSelect;

/** Equivalent drafts, the oldest first, which represents all of them. */
export type Draft = readonly [DraftRow, ...DraftRow[]];

/** From this similarity on, two questions with equivalent answers count as the same. */
const SAME_WITH_ANSWER = 0.4;
/** Longer replies are equivalent only if they are equal. */
const MAX_COMPARED_CHARS = 2_000;

/**
 * Merges equivalent drafts, oldest first. A draft that is equivalent to a dismissed one counts as dismissed. Accepted drafts are left
 * out.
 */
export function mergeDrafts(rows: readonly DraftRow[], language: string): Draft[] {
  const read = rows.filter(({ status }) => status !== "accepted").map((row) => readDraft(row, language));
  return groupItems(read, similarityOfDrafts, areEquivalent).map((group) => group.map(({ row }) => row) as [DraftRow, ...DraftRow[]]);
}

/** A draft with its analysis for comparisons. */
interface ReadDraft {
  row: DraftRow;
  question: Wording;
  answer: Wording;
  statement: Statement;
}

function readDraft(row: DraftRow, language: string): ReadDraft {
  const answer = withoutSalutation(row.answer);
  return { row, question: wordingOf(row.question, language), answer: wordingOf(answer, language), statement: new Statement(answer) };
}

function similarityOfDrafts(first: ReadDraft, draft: ReadDraft): number {
  return similarityOf(first.question, draft.question) >= SAME_WITH_ANSWER ? similarityOf(first.answer, draft.answer) : 0;
}

function areEquivalent(first: ReadDraft, draft: ReadDraft): boolean {
  return first.statement.isEquivalentTo(draft.statement);
}

/** The claims of an answer, analysed when it is first compared. */
class Statement {
  private known: { claims: ReturnType<typeof claimOf>[]; text: SupportingText } | undefined;

  constructor(private readonly content: string) {}

  /** Whether each of two answers supports all claims of the other. */
  isEquivalentTo(other: Statement): boolean {
    if (this.content === other.content) return true;
    return !this.isLong && !other.isLong && this.supportsAllOf(other) && other.supportsAllOf(this);
  }

  private get isLong(): boolean {
    return this.content.length > MAX_COMPARED_CHARS;
  }

  private supportsAllOf(other: Statement): boolean {
    const { claims } = other.read();
    return claims.length > 0 && claims.every((claim) => this.read().text.supportOf(claim, false) > 0);
  }

  private read() {
    this.known ??= {
      claims: sentences(this.content)
        .filter((sentence) => !isNeutral(sentence))
        .map(claimOf),
      text: new SupportingText(this.content),
    };
    return this.known;
  }
}

/** The most words after the greeting in a salutation: "Hello Ada Lovelace,". */
const MAX_NAME_WORDS = 3;
const SALUTATION = /^[^,!.?\n]{1,60}[,!.\n]\s*(?=\S)/;

/** Removes the salutation from a reply, so that it can answer any visitor. */
export function withoutSalutation(reply: string): string {
  const text = reply.trim();
  const [salutation = ""] = SALUTATION.exec(text) ?? [];
  const words = phraseWords(salutation);
  const length = Math.max(
    0,
    ...greetings()
      .filter((greeting) => greeting.every((word, at) => words[at] === word))
      .map((each) => each.length),
  );
  if (length === 0 || words.length > length + MAX_NAME_WORDS) return text;
  const rest = text.slice(salutation.length);
  return rest.charAt(0).toUpperCase() + rest.slice(1);
}

let knownGreetings: string[][] | undefined;

/** The words of the greetings in all languages. */
function greetings(): string[][] {
  knownGreetings ??= [...Object.values(LANGUAGES).flatMap(({ talk }) => talk.greeting), "dear"].map(phraseWords);
  return knownGreetings;
}
