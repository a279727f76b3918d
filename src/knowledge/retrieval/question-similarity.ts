import { detectLanguage } from "../../text/languages.ts";
import { allTokens } from "../../text/terms.ts";
import { wordsOf } from "../../text/word-forms.ts";
import { synonymGroups } from "./synonyms.ts";

/*
 * How similar two questions are: the share of their words that they have in common, whatever their forms, with synonyms
 * counting a little less. Curated answers, gaps and drafts are compared by it. Word vectors do not help here: to them Norway
 * and Iceland, Sunday and Monday are nearly the same.
 */

/**
 * From this similarity on, two questions count as the same. Of the questions of Banking77 that it puts into a group, three
 * quarters have the intent of that group, although many intents differ in a word only.
 */
export const SAME_QUESTION = 0.6;

/** How much a word counts by its kind. A part of a compound counts beside the whole; a differing stop word hardly matters. */
const WEIGHTS = { content: 1, weak: 0.5, part: 0.5, stop: 0.2 } as const;
/** How much of a word's weight it has in common with a synonym. */
const SYNONYM_SHARE = 0.5;
/** The beginning of a question says what it asks; text that is pasted after it does not. */
const MAX_LENGTH = 800;
const MAX_WORDS = 64;

/** A word, with the forms in which another question may have it. */
interface Word {
  term: string;
  forms: readonly string[];
  /** The synonym groups that it belongs to. */
  groups: readonly string[];
  kind: keyof typeof WEIGHTS;
}

/** The words of a question, analysed once for many comparisons. */
export interface Wording {
  words: readonly Word[];
  /** All their forms and synonym groups. */
  known: ReadonlySet<string>;
}

/**
 * The words of a question.
 * @param language the language in which the question is read if its own cannot be detected.
 * @param correct may replace a term by its corrected spelling.
 */
export function wordingOf(question: string, language: string, correct = (term: string) => term): Wording {
  const start = question.slice(0, MAX_LENGTH);
  const own = wordsOf(detectLanguage(start, language) ?? language);
  const found = new Map<string, Word>();
  for (const token of allTokens(own?.separated(start) ?? start).slice(0, MAX_WORDS)) {
    const term = correct(token.term);
    const ownKind = own?.kindOf(term) ?? "content";
    // The term itself too: the language of the other question may not be known.
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

/** An item is compared in full with so many groups, the most similar ones, which bounds the time of a slow comparison. */
const MAX_COMPARED_GROUPS = 3;

/**
 * Groups items: each item joins the group whose first item is the most similar to it, or begins a group. An item never changes
 * the groups of those before it.
 * @param similarity of a group's first item and another item; 0 where they do not belong together.
 * @param isSame whether an item belongs to a group that is similar to it.
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
