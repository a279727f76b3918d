import { DIMENSIONS, MAX_TOKENS, type Network } from "./network.ts";

/*
 * The reader is a network that reads a question together with all segments that may answer it. It tells which segment answers the
 * question, or that none does. It is all-MiniLM-L6-v2, trained further with the help centres of `encoder/reader`, SQuAD 2.0 and CLAPNQ.
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
  heading: readonly number[];
  text: readonly number[];
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
    const sumOf = this.network.transform(tokens);
    const [noneBias, excerptBias, scoreWeight] = this.network.vector("biases", 3);
    const [noneWeights, excerptWeights] = [this.network.vector("none", DIMENSIONS), this.network.vector("excerpt", DIMENSIONS)];
    // At least 0, as in the training.
    const top = Math.max(0, ...[...rows.keys()].map((index) => excerpts[index]!.score));
    const logits = [...rows].map(([index, own]): [number, number] => {
      const logit = dot(excerptWeights, sumOf(own)) / own.length + excerptBias!;
      return [index, logit + scoreWeight! * (excerpts[index]!.score - top)];
    });
    return { none: dot(noneWeights, sumOf([0])) + noneBias!, excerpts: new Map(logits) };
  }

  /** Returns one sequence of tokens for the question and the best excerpts that fit. */
  arrange(question: string, previousQuestion: string | null, excerpts: readonly Excerpt[]): Sequence {
    const questions = [
      this.start,
      ...(previousQuestion === null ? [] : [...this.tokens(previousQuestion, MAX_PREVIOUS_TOKENS), this.end]),
      ...this.tokens(question, MAX_QUESTION_TOKENS),
      this.end,
    ];
    let chosen: Tokenized[] = [];
    let sequence: Sequence = { tokens: questions, rows: new Map() };
    for (const [index, excerpt] of [...excerpts.entries()].sort(([, a], [, b]) => b.score - a.score)) {
      chosen = [...chosen, this.tokenize(index, excerpt)];
      const longer = this.write(questions, chosen);
      if (longer.tokens.length > questions.length + MAX_EXCERPTS_TOKENS) break;
      sequence = longer;
    }
    return sequence;
  }

  /**
   * Appends excerpts to the questions, each below its heading. The passages keep the order in which they were chosen, and the excerpts of
   * a passage the order that they have in it.
   */
  private write(questions: readonly number[], chosen: readonly Tokenized[]): Sequence {
    const tokens = [...questions];
    const rows = new Map<number, number[]>();
    const passages = [...new Set(chosen.map(({ excerpt }) => excerpt.passage))];
    const ordered = [...chosen].sort(
      ({ excerpt: a }, { excerpt: b }) => passages.indexOf(a.passage) - passages.indexOf(b.passage) || a.at - b.at,
    );
    for (const [at, { index, excerpt, heading, text }] of ordered.entries()) {
      if (!isBelowSameHeading(ordered[at - 1]?.excerpt, excerpt)) tokens.push(...heading, this.end);
      const first = tokens.length;
      tokens.push(...text, this.end);
      rows.set(
        index,
        Array.from({ length: text.length + 1 }, (_, row) => first + row),
      );
    }
    return { tokens, rows };
  }

  private tokenize(index: number, excerpt: Excerpt): Tokenized {
    const heading = [...this.tokens(excerpt.heading, MAX_HEADING_TOKENS), ...this.tokens(excerpt.leadIn, MAX_LEAD_IN_TOKENS)];
    return { index, excerpt, heading, text: this.tokens(excerpt.text, MAX_EXCERPT_TOKENS) };
  }

  /** The tokens of a text without those of start and end. */
  private tokens(text: string, limit: number): number[] {
    return this.network.tokenizer.tokenize(withoutMarkup(text), limit + 2).tokens.slice(1, -1);
  }
}

function isBelowSameHeading(before: Excerpt | undefined, { passage, heading, leadIn }: Excerpt): boolean {
  return before?.passage === passage && before.heading === heading && before.leadIn === leadIn;
}

function withoutMarkup(text: string): string {
  return text.replaceAll(/[*_`|]+/g, " ");
}

function dot(a: Float32Array, b: Float32Array): number {
  return a.reduce((total, value, at) => total + value * b[at]!, 0);
}
