import { memoized } from "../platform/lru-cache.ts";
import { type Language, languageCode, languageOf, LANGUAGES, possibleLanguages } from "./languages.ts";
import { PhraseBook, phraseWords } from "./phrases.ts";

/*
 * Recognises messages that are not questions to be answered from knowledge: requests for a human, and small talk. The tables of
 * phrases are in `text/languages`. A message matches a table if every word of it belongs to a phrase of the table.
 */

/** Only the beginning of a longer message is read. */
const MAX_LENGTH = 1_000;
/** Longer clauses are not matched. In scripts without spaces, each character counts as a word. */
const MAX_CLAUSE_WORDS = 40;
const CLAUSE_END = /[.!?;,:\n。！？!?、，；…؟،।¿¡]+|\s[-–—]\s/u;

/** Creates the phrase book of a language when a message may be in that language, since all of them take some 40 ms. */
function phraseBooks<Kind extends string>(tablesOf: (language: Language) => Readonly<Record<Kind, readonly string[]>>) {
  return memoized((code: string) => new PhraseBook(tablesOf(LANGUAGES[code]!), LANGUAGES[code]!.common));
}

const requestsIn = phraseBooks(({ fillers, handoff }) => ({ fillers, ...handoff }));
const smallTalkIn = phraseBooks(({ talk }) => talk);

type RequestBook = ReturnType<typeof requestsIn>;

// --- A human ---------------------------------------------------------------------------------------------------------

/**
 * The language in which a visitor asks to talk to a person; undefined for any other message, for example a question about hand-off.
 * @param expected the agent's language, as a BCP 47 tag.
 */
export function humanRequestLanguage(message: string, expected: string): string | undefined {
  const text = message.slice(0, MAX_LENGTH);
  const clauses = new Map([text, ...text.split(CLAUSE_END)].map((clause) => [phraseWords(clause).join(" "), clause]));
  return possibleLanguages(text, expected).find((code) => {
    const book = requestsIn(code);
    return [...clauses].some(([plain, clause]) => {
      const words = plain.split(" ");
      if (plain === "" || words.length > MAX_CLAUSE_WORDS) return false;
      // "Am I talking to a human?" asks about the agent, and is not a request for a human.
      return (isRequest(book, words) || endsWithRequest(book, words)) && smallTalkOf(clause, expected)?.kind !== "identity";
    });
  });
}

/** Whether words begin with a request for a human. It ends with the words, or before a phrase of `then`, which introduces a reason. */
function isRequest(book: RequestBook, words: readonly string[]): boolean {
  const requests = [book.maskOf("contact", "person"), book.maskOf("want", "sure"), book.maskOf("phrases")];
  const [sure, then] = [book.maskOf("sure"), book.maskOf("then")];
  const isAsked = (mask: number): boolean => requests.some((request) => (mask & request) === request);
  return book.covers(words).some((masks, at) => {
    const isWhole = at === words.length;
    if (!isWhole && !startsWith(book, words.slice(at), then)) return false;
    return [...masks].some((mask) => (mask & then) === 0 && (isAsked(mask) || (isWhole && (mask & sure) === sure)));
  });
}

/** The most words (in Chinese and Japanese, characters) of a phrase of `then` or `before`. */
const MAX_PHRASE_WORDS = 8;

/** Whether words start with a phrase of a kind. */
function startsWith(book: RequestBook, words: readonly string[], kind: number): boolean {
  return book.covers(words.slice(0, MAX_PHRASE_WORDS)).some((masks) => masks.has(kind));
}

/** Whether words end with a request: "I have a problem with my order and I want to talk to a human". */
function endsWithRequest(book: RequestBook, words: readonly string[]): boolean {
  const before = book.maskOf("before");
  return words.some((_, at) => {
    if (at === 0 || !book.hasStart(words[at]!, before)) return false;
    const rest = words.slice(at);
    return startsWith(book, rest, before) && isRequest(book, rest);
  });
}

// --- Small talk ------------------------------------------------------------------------------------------------------

type TalkKind = Exclude<keyof Language["talk"], "extras"> | "unclear";

/** The kinds by precedence: most phrases can also be agreement, so thanks or a question about the agent count first. */
const BY_PRECEDENCE = ["thanks", "identity", "capabilities", "goodbye", "greeting", "agreement"] as const satisfies TalkKind[];
const SIGNS_ONLY = /^[^\p{L}\p{N}]*$/u;
const EMOJI = /\p{Extended_Pictographic}/u;
const SMILE = /^\s*(?:[:;=]-?[)D\]pP]|\^\^|<3)\s*$/;

interface SmallTalk {
  kind: TalkKind;
  /** The code of its language. */
  language: string;
}

/**
 * The kind of small talk, if the whole message is small talk; undefined for any other message.
 * @param expected the agent's language, as a BCP 47 tag.
 */
export function smallTalkOf(message: string, expected: string): SmallTalk | undefined {
  if (message.length > MAX_LENGTH) return undefined;
  if (SMILE.test(message)) return { kind: "agreement", language: languageCode(expected) };
  if (SIGNS_ONLY.test(message)) return { kind: EMOJI.test(message) ? "agreement" : "unclear", language: languageCode(expected) };
  const words = phraseWords(message);
  if (words.length === 0 || words.length > MAX_CLAUSE_WORDS) return undefined;
  for (const code of possibleLanguages(message, expected)) {
    const book = smallTalkIn(code);
    const masks = [...book.covers(words).at(-1)!];
    const kind = BY_PRECEDENCE.find((candidate) => masks.some((mask) => (mask & book.maskOf(candidate)) !== 0));
    if (kind) return { kind, language: code };
  }
  return undefined;
}

/** Removes small talk from the beginning and end of a message: "thanks, and what about Norway?" asks about Norway. */
export function withoutSmallTalk(message: string, expected: string): string {
  const clauses = message.split(/(?<=[.!?;,:\n؟،।])\s+|(?<=[。！？、，；…])\s*/u).filter((clause) => clause !== "");
  // A message of one clause is kept, even if it is small talk.
  if (clauses.length < 2) return message;
  const isTalk = (clause: string): boolean => smallTalkOf(clause, expected) !== undefined;
  let [from, to] = [0, clauses.length];
  while (from < to && isTalk(clauses[from]!)) from++;
  while (to > from && isTalk(clauses[to - 1]!)) to--;
  return from === to || to - from === clauses.length ? message : clauses.slice(from, to).join(" ");
}

interface SmallTalkRequest {
  question: string;
  /** The agent's language, as a BCP 47 tag. */
  language: string;
  agentName: string;
  /** The operator's own welcome message; empty if there is none. */
  welcomeMessage: string;
  /** The names of a few subjects that the agent knows. */
  topics?: readonly string[];
}

/** The answer to small talk; undefined if the message is not small talk. */
export function smallTalkAnswer(request: SmallTalkRequest): string | undefined {
  const { question, language: expected, agentName, welcomeMessage, topics = [] } = request;
  const talk = smallTalkOf(question, expected);
  if (!talk) return undefined;
  const { replies } = languageOf(talk.language);
  switch (talk.kind) {
    case "greeting":
      return welcomeMessage.trim() || replies.greeting;
    case "capabilities":
      return topics.length === 0
        ? replies.capabilities_without_topics
        : replies.capabilities.replace("{topics}", () => new Intl.ListFormat(talk.language).format(topics));
    case "identity":
      return replies.identity.replace("{agent}", () => agentName);
    default:
      return replies[talk.kind];
  }
}
