import { claimOf, isNeutral, SupportingText } from "../grounded/support.ts";
import type { answerDrafts } from "../platform/db/schema.ts";
import { LANGUAGES } from "../text/languages.ts";
import { phraseWords } from "../text/phrases.ts";
import { sentences } from "../text/sentences.ts";
import { groupItems, similarityOf, wordingOf, type Wording } from "./retrieval/question-similarity.ts";

type DraftRow = typeof answerDrafts.$inferSelect;

/** Drafts that say the same, the oldest first: it stands for all of them. */
export type Draft = readonly [DraftRow, ...DraftRow[]];

/** From this similarity on questions whose answers say the same ask the same too. */
const SAME_WITH_ANSWER = 0.4;
/** Longer replies say the same only where they are equal. */
const MAX_COMPARED_CHARS = 2_000;

/**
 * Merges the drafts, oldest first, that say the same. One that says what was dismissed is dismissed with it. Those that were
 * accepted are left out.
 */
export function mergeDrafts(rows: readonly DraftRow[], language: string): Draft[] {
  const read = rows.filter(({ status }) => status !== "accepted").map((row) => readDraft(row, language));
  return groupItems(read, resemblance, saySame).map((group) => group.map(({ row }) => row) as [DraftRow, ...DraftRow[]]);
}

/** A draft as it is compared with others. */
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

function resemblance(first: ReadDraft, draft: ReadDraft): number {
  return similarityOf(first.question, draft.question) >= SAME_WITH_ANSWER ? similarityOf(first.answer, draft.answer) : 0;
}

function saySame(first: ReadDraft, draft: ReadDraft): boolean {
  return first.statement.saysSameAs(draft.statement);
}

/** What an answer says, analysed when it is first compared. */
class Statement {
  private known: { claims: ReturnType<typeof claimOf>[]; text: SupportingText } | undefined;

  constructor(private readonly content: string) {}

  /** Whether each says all that the other does, politeness apart. */
  saysSameAs(other: Statement): boolean {
    if (this.content === other.content) return true;
    return !this.isLong && !other.isLong && this.saysAllOf(other) && other.saysAllOf(this);
  }

  private get isLong(): boolean {
    return this.content.length > MAX_COMPARED_CHARS;
  }

  private saysAllOf(other: Statement): boolean {
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

/** A salutation may name so many words more: "Hello Ada Lovelace,". */
const MAX_NAME_WORDS = 3;
const SALUTATION = /^[^,!.?\n]{1,60}[,!.\n]\s*(?=\S)/;

/** A reply as an answer for anybody, which begins with no visitor's name. */
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

/** The words of greetings in all languages. */
function greetings(): string[][] {
  knownGreetings ??= [...Object.values(LANGUAGES).flatMap(({ talk }) => talk.greeting), "dear"].map(phraseWords);
  return knownGreetings;
}
