import { sum } from "./encoder.ts";
import { DIMENSIONS, MAX_TOKENS, type Network } from "./network.ts";

/*
 * The reader is a network that reads a question together with all segments that may answer it. It tells which segment answers the
 * question, or that none does. It is all-MiniLM-L6-v2, trained further with the help centres of `encoder/reader`.
 */

/** A segment of a passage that may answer a question. */
export interface Excerpt {
  /** The number of its passage. The excerpts of one passage are read one after the other, in the order of `at`. */
  passage: number;
  at: number;
  /** The heading above it. */
  heading: string;
  /** The sentence that introduces its list or table, or an empty text. */
  leadIn: string;
  text: string;
  /** The score by which excerpts are ranked before they are read, higher for better ones. Differences of scores are log-odds. */
  score: number;
}

/** The logits of the excerpts, whose softmax are the probabilities that the excerpt answers the question, or that none does. */
export interface Reading {
  none: number;
  /** By the index of the excerpt. Those that did not fit have no entry. */
  excerpts: ReadonlyMap<number, number>;
}

/** The numbers of tokens with which the reader was trained. */
const MAX_QUESTION_TOKENS = 48;
const MAX_PREVIOUS_TOKENS = 24;
const MAX_HEADING_TOKENS = 14;
const MAX_LEAD_IN_TOKENS = 20;
const MAX_EXCERPT_TOKENS = 56;
/** The tokens of all excerpts with their headings, six or seven sentences: the best excerpts are read, as many as fit. */
const MAX_EXCERPTS_TOKENS = 144;

/** An excerpt in tokens. */
interface Tokenized {
  index: number;
  excerpt: Excerpt;
  tokens: readonly number[];
}

/** What the network reads. */
interface Sequence {
  tokens: number[];
  /** The rows of the tokens of each excerpt that fits, by the excerpt's index. */
  rows: ReadonlyMap<number, number[]>;
}

export class AnswerReader {
  private readonly start: number;
  private readonly end: number;

  constructor(private readonly network: Network) {
    [this.start, this.end] = network.tokenizer.tokenize("", MAX_TOKENS).tokens as [number, number];
  }

  /** Reads a question, after the one before it that it needs to be understood, and as many of these excerpts as fit. It takes about 60 ms. */
  read(question: string, previousQuestion: string | null, excerpts: readonly Excerpt[]): Reading {
    const { tokens, rows } = this.arrange(question, previousQuestion, excerpts);
    const state = this.network.transform(tokens);
    const [noneBias, excerptBias, scoreWeight] = this.network.vector("biases", 3);
    const [none, excerpt] = [this.network.vector("none", DIMENSIONS), this.network.vector("excerpt", DIMENSIONS)];
    const top = Math.max(0, ...[...rows.keys()].map((index) => excerpts[index]!.score));
    const logits = [...rows].map(([index, own]): [number, number] => {
      const read = dot(excerpt, sum(own.map(state))) / own.length + excerptBias!;
      return [index, read + scoreWeight! * (excerpts[index]!.score - top)];
    });
    return { none: dot(none, state(0)) + noneBias!, excerpts: new Map(logits) };
  }

  /** Writes the question, and the excerpts passage by passage below their headings, as one sequence of tokens. */
  arrange(question: string, previousQuestion: string | null, excerpts: readonly Excerpt[]): Sequence {
    const tokens = [this.start];
    const add = (part: readonly number[]): void => void tokens.push(...part, this.end);
    if (previousQuestion !== null) add(this.tokens(previousQuestion, MAX_PREVIOUS_TOKENS));
    add(this.tokens(question, MAX_QUESTION_TOKENS));
    let heading = "";
    const rows = new Map<number, number[]>();
    for (const part of this.choose(excerpts)) {
      const key = headingKey(part.excerpt);
      const above = key === heading ? [] : this.headingTokens(part.excerpt);
      // `choose` counts each heading once, but it is written again where excerpts of another heading or list stand in between.
      if (tokens.length + above.length + part.tokens.length + 2 > MAX_TOKENS) break;
      if (key !== heading) add(above);
      heading = key;
      const first = tokens.length;
      add(part.tokens);
      rows.set(
        part.index,
        Array.from({ length: part.tokens.length + 1 }, (_, at) => first + at),
      );
    }
    return { tokens, rows };
  }

  /** Returns the best excerpts that fit, passage by passage and in their order. */
  private choose(excerpts: readonly Excerpt[]): Tokenized[] {
    const chosen: Tokenized[] = [];
    const headings = new Set<string>();
    let used = 0;
    for (const [index, excerpt] of [...excerpts.entries()].sort(([, a], [, b]) => b.score - a.score)) {
      const tokens = this.tokens(excerpt.text, MAX_EXCERPT_TOKENS);
      const key = headingKey(excerpt);
      used += tokens.length + 1 + (headings.has(key) ? 0 : this.headingTokens(excerpt).length + 1);
      if (used > MAX_EXCERPTS_TOKENS) break;
      headings.add(key);
      chosen.push({ index, excerpt, tokens });
    }
    const passages = [...new Set(chosen.map(({ excerpt }) => excerpt.passage))];
    return chosen.sort(({ excerpt: a }, { excerpt: b }) => passages.indexOf(a.passage) - passages.indexOf(b.passage) || a.at - b.at);
  }

  private headingTokens({ heading, leadIn }: Excerpt): number[] {
    return [...this.tokens(heading, MAX_HEADING_TOKENS), ...this.tokens(leadIn, MAX_LEAD_IN_TOKENS)];
  }

  /** The tokens of a text without those of start and end. */
  private tokens(text: string, limit: number): number[] {
    return this.network.tokenizer.tokenize(withoutMarkup(text), limit + 2).tokens.slice(1, -1);
  }
}

function headingKey({ passage, heading, leadIn }: Excerpt): string {
  return JSON.stringify([passage, heading, leadIn]);
}

function withoutMarkup(text: string): string {
  return text.replaceAll(/[*_`|]+/g, " ");
}

function dot(a: Float32Array, b: Float32Array): number {
  return a.reduce((total, value, at) => total + value * b[at]!, 0);
}
