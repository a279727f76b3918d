import { HandoffError } from "../models/model.ts";

/** A text of which an answer may repeat at most `maxWords` consecutive words. */
export interface Secret {
  text: string;
  maxWords: number;
}

/** Shorter runs of words are not held back, since any text may have them in common with a secret. */
const MIN_HELD_WORDS = 4;

/** Passes an answer on, and stops it where it repeats a secret such as the system prompt. */
export class LeakGuard {
  private readonly matchers: SecretMatcher[];
  private held = "";

  constructor(secrets: readonly Secret[]) {
    this.matchers = secrets.map((secret) => new SecretMatcher(secret));
  }

  /**
   * @param text the next text of the answer, which ends with a whole word.
   * @returns the text that can be shown now. It does not include the beginning of a possible leak.
   * @throws HandoffError if the answer repeats too much of a secret.
   */
  push(text: string): string {
    this.held += text;
    const words = wordsOf(text);
    const lengths = this.matchers.map((matcher) => matcher.read(words));
    return lengths.some((length) => length >= MIN_HELD_WORDS) ? "" : this.end();
  }

  /** @returns the text that was still held back. */
  end(): string {
    const { held } = this;
    this.held = "";
    return held;
  }
}

/** Finds the longest run of words at the end of a text that a secret also has. */
class SecretMatcher {
  private readonly secret: string;
  private readonly maxWords: number;
  private readonly run: string[] = [];

  constructor({ text, maxWords }: Secret) {
    this.secret = ` ${wordsOf(text).join(" ")} `;
    this.maxWords = maxWords;
  }

  /** @returns the length of the run after these words. */
  read(words: readonly string[]): number {
    for (const word of words) {
      this.run.push(word);
      while (this.run.length > 0 && !this.secret.includes(` ${this.run.join(" ")} `)) this.run.shift();
      if (this.run.length > this.maxWords) throw new HandoffError("unsupported_request");
    }
    return this.run.length;
  }
}

function wordsOf(text: string): string[] {
  return (text.match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => word.toLowerCase());
}
