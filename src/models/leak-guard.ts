import { HandedOff } from "./model.ts";

/** What must not be repeated, and how many of its words in a row are too many. */
export interface Secret {
  text: string;
  maxWords: number;
}

/** Fewer words in a row are in many a text by chance: they are not kept back. */
const SUSPICIOUS_WORDS = 4;
const WORD = /[\p{L}\p{N}]+/gu;

/** An answer began to repeat what only the model was to read: somebody asked for more than an agent may give. */
class LeakError extends HandedOff {
  constructor() {
    super("unsupported_request");
  }
}

/** Lets a text through as it comes, but for a long run of words of a secret. */
export class LeakGuard {
  private readonly watches: Watch[];
  private held = "";

  constructor(secrets: readonly Secret[]) {
    this.watches = secrets.map((secret) => new Watch(secret));
  }

  /**
   * @returns what can be shown by now.
   * @throws HandedOff where it is too long.
   */
  push(text: string): string {
    this.held += text;
    const watched = Math.max(0, ...this.watches.map((watch) => watch.read(text)));
    return this.release(watched);
  }

  /** @returns what was still kept back. */
  end(): string {
    // The last word is complete now.
    return (this.push("\n") + this.release(0)).trimEnd();
  }

  private release(kept: number): string {
    const length = Math.max(0, this.held.length - kept);
    const given = this.held.slice(0, length);
    this.held = this.held.slice(length);
    return given;
  }
}

/** Follows a text along one secret. */
class Watch {
  private readonly secret: string;
  private readonly maxWords: number;
  private text = "";
  /** Where in `text` each word of the run begins that stands in the secret too. */
  private run: { word: string; at: number }[] = [];
  private readTo = 0;

  constructor({ text, maxWords }: Secret) {
    this.secret = ` ${wordsOf(text).join(" ")} `;
    this.maxWords = maxWords;
  }

  /** @returns how much of the text's end may be the beginning of a leak. */
  read(text: string): number {
    this.text += text;
    const from = this.readTo;
    for (const { 0: word, index } of this.text.slice(from).matchAll(WORD)) {
      const at = from + index;
      if (at + word.length === this.text.length) break;
      this.follow({ word: word.toLowerCase(), at });
    }
    this.forget();
    return this.run.length < SUSPICIOUS_WORDS ? 0 : this.text.length - this.run[0]!.at;
  }

  private follow(next: { word: string; at: number }): void {
    this.readTo = next.at + next.word.length;
    this.run.push(next);
    while (this.run.length > 0 && !this.secret.includes(` ${this.run.map(({ word }) => word).join(" ")} `)) this.run.shift();
    if (this.run.length > this.maxWords) throw new LeakError();
  }

  /** Keeps only what a later word may make a run of. */
  private forget(): void {
    const from = Math.min(this.readTo, this.run[0]?.at ?? this.readTo);
    this.text = this.text.slice(from);
    this.readTo -= from;
    this.run = this.run.map(({ word, at }) => ({ word, at: at - from }));
  }
}

function wordsOf(text: string): string[] {
  return (text.match(WORD) ?? []).map((word) => word.toLowerCase());
}
