import { HandoffError } from "../models/model.ts";

/** A text that an answer must not repeat more than `maxWords` consecutive words of. */
export interface Secret {
  text: string;
  maxWords: number;
}

/** Shorter runs of common words are in many texts: they are not held back. */
const MIN_HELD_WORDS = 4;

/** Passes the parts of an answer on, and stops it where it repeats a secret, such as the system prompt. */
export class LeakGuard {
  private readonly matchers: SecretMatcher[];
  private held = "";

  constructor(secrets: readonly Secret[]) {
    this.matchers = secrets.map((secret) => new SecretMatcher(secret));
  }

  /**
   * @param text which ends with a whole word.
   * @returns what can be shown by now: not the beginning of what may become a leak.
   * @throws HandoffError where too much of a secret was repeated.
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

/** Finds the longest run of words at the end of a text that stands in a secret too. */
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
