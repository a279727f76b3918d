import { detectLanguage } from "../../text/languages.ts";
import { allTokens } from "../../text/terms.ts";
import { wordsOf } from "../../text/word-forms.ts";
import { synonymGroups } from "./synonyms.ts";

/*
 * Whether two questions ask the same: the share of their words that they have in common, whatever their forms, with synonyms
 * counting a little less. Word vectors do not help here: to them Norway and Iceland, Sunday and Monday are nearly the same.
 */

/**
 * From this similarity on two questions ask the same. On Banking77, whose intents are close to each other, 97 % of what a question is
 * put together with is of its intent.
 */
export const SAME_QUESTION = 0.65;

const KIND_WEIGHTS = { content: 1, weak: 0.5, stop: 0.05 } as const;
/** A compound's part beside the whole. */
const PART_WEIGHT = 0.5;
const SYNONYM_SHARE = 0.75;
/** What a question is, is said in its first words; what is pasted after them says no more. */
const MAX_LENGTH = 800;
const MAX_WORDS = 64;

/** A word, by the forms in which another question may have it. */
interface Word {
  forms: readonly string[];
  groups: readonly string[];
  weight: number;
}

/** The words of a question, with what each says. */
export interface Wording {
  words: readonly Word[];
  /** All their forms and synonym groups. */
  known: ReadonlySet<string>;
  total: number;
}

/**
 * The wording of a question.
 * @param language of the agent, in which it is read where it does not tell its own.
 */
export function wordingOf(question: string, language: string): Wording {
  const start = question.slice(0, MAX_LENGTH);
  const own = wordsOf(detectLanguage(start, language) ?? language);
  const found = new Map<string, Word>();
  for (const { term, parts, kind } of allTokens(own?.separated(start) ?? start).slice(0, MAX_WORDS)) {
    const weight = KIND_WEIGHTS[own && own.kindOf(term) !== "content" ? own.kindOf(term) : kind];
    // The term itself too: of another question the language may not be told.
    const forms = [term, ...(own?.bases(term).map((base) => own.stem(base)) ?? [])];
    found.set(term, { forms, groups: synonymGroups(term), weight });
    for (const part of parts) {
      if (!found.has(part)) found.set(part, { forms: [part], groups: synonymGroups(part), weight: weight * PART_WEIGHT });
    }
  }
  const words = [...found.values()];
  const known = new Set(words.flatMap(({ forms, groups }) => [...forms, ...groups]));
  return { words, known, total: words.reduce((sum, { weight }) => sum + weight, 0) };
}

/** How much of what two questions say is the same, 0..1. */
export function similarityOf(a: Wording, b: Wording): number {
  const total = a.total + b.total;
  return total === 0 ? 0 : (commonWeight(a, b) + commonWeight(b, a)) / total;
}

function commonWeight({ words }: Wording, { known }: Wording): number {
  let common = 0;
  for (const { forms, groups, weight } of words) {
    if (forms.some((form) => known.has(form))) common += weight;
    else if (groups.some((group) => known.has(group))) common += weight * SYNONYM_SHARE;
  }
  return common;
}

/** An item is held against so many groups, those that it resembles most: that bounds what a slow comparison takes. */
const MAX_COMPARED_GROUPS = 3;

/**
 * Puts what belongs together into groups: each item joins the group whose first item it resembles most, or begins one. An item
 * that comes after others changes nothing about their groups.
 * @param resemblance of an item and a group's first one; 0 where they do not belong together.
 * @param isSame decides in the end.
 */
export function groupItems<Item>(
  items: readonly Item[],
  resemblance: (first: Item, item: Item) => number,
  isSame: (first: Item, item: Item) => boolean = () => true,
): [Item, ...Item[]][] {
  const groups: [Item, ...Item[]][] = [];
  for (const item of items) {
    const scored = groups.map((group) => ({ group, score: resemblance(group[0], item) })).filter(({ score }) => score > 0);
    const closest = scored.sort((a, b) => b.score - a.score).slice(0, MAX_COMPARED_GROUPS);
    const own = closest.find(({ group }) => isSame(group[0], item));
    if (own) own.group.push(item);
    else groups.push([item]);
  }
  return groups;
}
