import { PAIR } from "./answer-model.ts";
import { synonymGroups } from "./synonyms.ts";
import { allTokens, type Token } from "./terms.ts";

/** What a word counts by its kind: in short questions "why" or "not" alone may tell one matter from another. */
const KIND_SHARES = { content: 1, weak: 1, stop: 0.6 } as const;
/** A compound's part beside the whole. */
const PART_SHARE = 0.5;
/** Two words together, in whichever order: "card stolen" says more than "card" and "stolen" apart. */
const PAIR_SHARE = 0.5;
/** Words with at most four others between them belong together. */
const PAIR_REACH = 5;

/**
 * What a question is told by, each with its share: its words, the groups of words that mean the like, and its pairs of
 * words (by group, where a word has one). `spell` may put another term in a term's place.
 */
export function questionFeatures(question: string, spell: (term: string) => string = (term) => term): Map<string, number> {
  const found = new Map<string, number>();
  const add = (feature: string, share: number): void => {
    found.set(feature, Math.max(found.get(feature) ?? 0, share));
  };
  const meanings: string[] = [];
  for (const token of allTokens(question)) {
    const term = spell(token.term);
    const groups = synonymGroups(withoutMark(token, term));
    add(term, KIND_SHARES[token.kind]);
    for (const part of token.parts) add(part, PART_SHARE);
    for (const group of groups) add(group, 1);
    if (token.kind !== "stop") meanings.push(groups[0] ?? term);
  }
  for (const pair of pairs(meanings)) add(pair, PAIR_SHARE);
  return found;
}

function withoutMark({ kind }: Token, term: string): string {
  return kind === "stop" ? term.slice(1) : term;
}

function* pairs(meanings: readonly string[]): Generator<string> {
  for (const [at, left] of meanings.entries()) {
    for (const right of meanings.slice(at + 1, at + 1 + PAIR_REACH)) {
      if (left !== right) yield left < right ? left + PAIR + right : right + PAIR + left;
    }
  }
}
