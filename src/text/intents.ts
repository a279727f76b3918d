import { type Language, languageCode, languageOf, LANGUAGES, possibleLanguages } from "./languages.ts";
import { PhraseBook, phraseWords } from "./phrases.ts";

/*
 * What a message wants, where it is no question to be answered from knowledge: a human, or small talk. The tables of
 * phrases are in `text/languages`; a message matches where its every word belongs to them.
 */

/** Longer messages say more than such a wish; it is looked for in each of their clauses. */
const MAX_LENGTH = 1_000;
const MAX_CLAUSE_WORDS = 40;
/** In scripts without spaces each character counts as a word. */
const CLAUSE_END = /[.!?;,:\n。！？!?、，；…؟،।¿¡]+|\s[-–—]\s/u;

/** The phrase books of languages, each made when a message may be in its language: all of them take some 40 ms. */
function phraseBooks<Kind extends string>(tablesOf: (language: Language) => Readonly<Record<Kind, readonly string[]>>) {
  const books = new Map<string, PhraseBook<Kind>>();
  return (code: string): PhraseBook<Kind> => {
    const known = books.get(code);
    if (known) return known;
    const language = LANGUAGES[code]!;
    const made = new PhraseBook(tablesOf(language), language.common);
    books.set(code, made);
    return made;
  };
}

const requestsIn = phraseBooks(({ fillers, handoff }) => ({ fillers, ...handoff }));
const smallTalkIn = phraseBooks(({ talk }) => talk);

type RequestBook = ReturnType<typeof requestsIn>;

// --- A human ---------------------------------------------------------------------------------------------------------

/**
 * The language in which a visitor asks to talk to a person; undefined for any other message, as a question about hand-off.
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
      // "Am I talking to a human?" asks who is there.
      return (isRequest(book, words) || endsWithRequest(book, words)) && smallTalkOf(clause, expected)?.kind !== "identity";
    });
  });
}

/** Whether words ask for a human from the first on; a phrase of `then` ends the request, and what follows is its reason. */
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

/** The most words of a phrase of `then` or `before`; in Chinese and Japanese, characters. */
const MAX_PHRASE_WORDS = 8;

/** Whether words start with a phrase of a kind. */
function startsWith(book: RequestBook, words: readonly string[], kind: number): boolean {
  return book.covers(words.slice(0, MAX_PHRASE_WORDS)).some((masks) => masks.has(kind));
}

/** "I have a problem with my order and I want to talk to a human" */
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

/** Agreement is what most phrases also are; thanks ("for your help") and a question about the agent say more than it. */
const BY_WEIGHT = ["thanks", "identity", "capabilities", "goodbye", "greeting", "agreement"] as const satisfies TalkKind[];
const SIGNS_ONLY = /^[^\p{L}\p{N}]*$/u;
const EMOJI = /\p{Extended_Pictographic}/u;
const SMILE = /^\s*(?:[:;=]-?[)D\]pP]|\^\^|<3)\s*$/;

interface SmallTalk {
  kind: TalkKind;
  /** The code of its language. */
  language: string;
}

/**
 * The small talk that a whole message is; undefined for any other message.
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
    const kind = BY_WEIGHT.find((candidate) => masks.some((mask) => (mask & book.maskOf(candidate)) !== 0));
    if (kind) return { kind, language: code };
  }
  return undefined;
}

/** A message without the small talk that it begins or ends with: "thanks, and what about Norway?" asks about Norway. */
export function withoutSmallTalk(message: string, expected: string): string {
  const clauses = message.split(/(?<=[.!?;,:\n؟،।])\s+|(?<=[。！？、，；…])\s*/u).filter((clause) => clause !== "");
  // A message of one clause stays, whatever it says.
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
  /** The operator's greeting of new visitors; empty where they have none of their own. */
  welcomeMessage: string;
  /** What the agent knows about, in a few names. */
  topics?: readonly string[];
}

/** The service's own answer to small talk; undefined for a message that is none. */
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
        : replies.capabilities.replace("{topics}", () => joinNames(topics, talk.language));
    case "identity":
      return replies.identity.replace("{agent}", () => agentName);
    default:
      return replies[talk.kind];
  }
}

function joinNames(names: readonly string[], language: string): string {
  return new Intl.ListFormat(language, { type: "conjunction" }).format(names);
}
