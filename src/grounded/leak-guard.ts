import { HandoffError } from "../models/model.ts";

/** A text that an answer must not repeat more than `maxWords` consecutive words of. */
export interface Secret {
  text: string;
  maxWords: number;
}

/** Shorter runs of common words are in many texts: they are not held back. */
const MIN_HELD_WORDS = 4;
const WORD = /[\p{L}\p{N}]+/gu;

/** Passes a streamed answer on, and stops it where it repeats a secret, as the system prompt. */
export class LeakGuard {
  private readonly matchers: SecretMatcher[];
  private held = "";

  constructor(secrets: readonly Secret[]) {
    this.matchers = secrets.map((secret) => new SecretMatcher(secret));
  }

  /**
   * @returns what can be shown by now.
   * @throws HandoffError where too much of a secret was repeated.
   */
  push(text: string): string {
    this.held += text;
    const heldLength = Math.max(0, ...this.matchers.map((matcher) => matcher.push(text)));
    return this.release(heldLength);
  }

  /** @returns the text that was still held back. */
  end(): string {
    // The line break completes the last word.
    return (this.push("\n") + this.release(0)).trimEnd();
  }

  private release(heldLength: number): string {
    const length = Math.max(0, this.held.length - heldLength);
    const released = this.held.slice(0, length);
    this.held = this.held.slice(length);
    return released;
  }
}

/** Finds the longest run of words at the end of a streamed text that stands in one secret too. */
class SecretMatcher {
  private readonly secret: string;
  private readonly maxWords: number;
  private text = "";
  /** The words of the run and where they start in `text`. */
  private run: { word: string; at: number }[] = [];
  private readTo = 0;

  constructor({ text, maxWords }: Secret) {
    const words = (text.match(WORD) ?? []).map((word) => word.toLowerCase());
    this.secret = ` ${words.join(" ")} `;
    this.maxWords = maxWords;
  }

  /** @returns how many characters at the text's end may be the beginning of a leak. */
  push(text: string): number {
    this.text += text;
    const from = this.readTo;
    for (const { 0: word, index } of this.text.slice(from).matchAll(WORD)) {
      const at = from + index;
      const isComplete = at + word.length < this.text.length;
      if (!isComplete) break;
      this.extendRun({ word: word.toLowerCase(), at });
    }
    this.dropReadText();
    return this.run.length < MIN_HELD_WORDS ? 0 : this.text.length - this.run[0]!.at;
  }

  private extendRun(next: { word: string; at: number }): void {
    this.readTo = next.at + next.word.length;
    this.run.push(next);
    while (this.run.length > 0 && !this.secret.includes(` ${this.run.map(({ word }) => word).join(" ")} `)) this.run.shift();
    if (this.run.length > this.maxWords) throw new HandoffError("unsupported_request");
  }

  private dropReadText(): void {
    const from = Math.min(this.readTo, this.run[0]?.at ?? this.readTo);
    this.text = this.text.slice(from);
    this.readTo -= from;
    this.run = this.run.map(({ word, at }) => ({ word, at: at - from }));
  }
}
