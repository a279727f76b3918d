import { detectLanguage, languageCode } from "../../text/languages.ts";
import { allTokens } from "../../text/terms.ts";
import { wordsOf } from "../../text/word-forms.ts";
import { synonymGroups } from "./synonyms.ts";

/*
 * The similarity of two questions is the share of their words that they have in common, in any form; synonyms count less. Curated
 * answers, gaps and drafts are compared by it. Word vectors do not help here, since those of Norway and Iceland, or of Sunday and
 * Monday, are nearly the same.
 */

/**
 * From this similarity on, two questions count as the same. Of the questions of Banking77 that are grouped by it, three quarters have
 * the intent of their group, although many intents differ only in a word.
 */
export const SAME_QUESTION = 0.6;

/** The weight of a word by its kind. The parts of a compound are added to the compound itself. */
const WEIGHTS = { content: 1, weak: 0.5, part: 0.5, stop: 0.2 } as const;
/** The share of a word's weight that counts as common with a synonym. */
const SYNONYM_SHARE = 0.5;
/** Only the beginning of a message is compared, since text that is pasted after it is not part of the question. */
const MAX_LENGTH = 800;
const MAX_WORDS = 64;

/** A word with the forms that it may have in another question. */
interface Word {
  term: string;
  forms: readonly string[];
  /** The names of the synonym groups that the word belongs to. */
  groups: readonly string[];
  kind: keyof typeof WEIGHTS;
}

/** The words of a question, analysed once for many comparisons. */
export interface Wording {
  words: readonly Word[];
  /** The forms and synonym groups of all words. */
  known: ReadonlySet<string>;
}

/**
 * Analyses the words of a question.
 * @param language is used if the language of the question cannot be detected.
 * @param correct may replace a term by its corrected spelling.
 */
export function wordingOf(question: string, language: string, correct = (term: string) => term): Wording {
  const start = question.slice(0, MAX_LENGTH);
  const own = wordsOf(detectLanguage(start, language) ?? languageCode(language));
  const found = new Map<string, Word>();
  for (const token of allTokens(own?.separated(start) ?? start).slice(0, MAX_WORDS)) {
    const term = correct(token.term);
    const ownKind = own?.kindOf(term) ?? "content";
    // The term itself is a form too, since the language of the other question may not be detected.
    const forms = [term, ...(own?.bases(term).map((base) => own.stem(base)) ?? [])];
    // The term of a stop word begins with a character that no synonym has.
    const groups = synonymGroups(token.kind === "stop" ? term.slice(1) : term);
    found.set(term, { term, forms, groups, kind: ownKind === "content" ? token.kind : ownKind });
    for (const part of token.parts) {
      if (!found.has(part)) found.set(part, { term: part, forms: [part], groups: synonymGroups(part), kind: "part" });
    }
  }
  const words = [...found.values()];
  return { words, known: new Set(words.flatMap(({ forms, groups }) => [...forms, ...groups])) };
}

/**
 * The share of two questions' words that they have in common, by weight, 0..1.
 * @param importanceOf returns a factor for the weight of a term, such as its inverse document frequency.
 */
export function similarityOf(a: Wording, b: Wording, importanceOf: (term: string) => number = () => 1): number {
  let common = 0;
  let total = 0;
  const compare = ({ words }: Wording, { known }: Wording): void => {
    for (const { term, forms, groups, kind } of words) {
      const weight = WEIGHTS[kind] * importanceOf(term);
      total += weight;
      if (forms.some((form) => known.has(form))) common += weight;
      else if (groups.some((group) => known.has(group))) common += weight * SYNONYM_SHARE;
    }
  };
  compare(a, b);
  compare(b, a);
  return total === 0 ? 0 : common / total;
}

/** `isSame` is called for this number of the most similar groups, which bounds the time of a slow comparison. */
const MAX_COMPARED_GROUPS = 3;

/**
 * Groups items. Each item joins the group whose first item is the most similar to it, or begins a new group, without changing the
 * groups of earlier items.
 * @param similarity of a group's first item and another item; 0 if they do not belong together.
 * @param isSame whether an item belongs to a similar group.
 */
export function groupItems<Item>(
  items: readonly Item[],
  similarity: (first: Item, item: Item) => number,
  isSame: (first: Item, item: Item) => boolean = () => true,
): [Item, ...Item[]][] {
  const groups: [Item, ...Item[]][] = [];
  for (const item of items) {
    const scored = groups.map((group) => ({ group, score: similarity(group[0], item) })).filter(({ score }) => score > 0);
    const closest = scored.sort((a, b) => b.score - a.score).slice(0, MAX_COMPARED_GROUPS);
    const own = closest.find(({ group }) => isSame(group[0], item));
    if (own) own.group.push(item);
    else groups.push([item]);
  }
  return groups;
}
