import { truncate } from "../platform/text.ts";
import type { HandoffReason } from "../platform/db/columns.ts";
import { MAX_ANSWER_LENGTH } from "../models/limits.ts";
import { HandoffError, type ModelReply } from "../models/model.ts";
import type { CitablePassage } from "../models/retrieval.ts";
import type { Evidence } from "./evidence.ts";
import { LeakGuard, type Secret } from "./leak-guard.ts";
import { ReplyText } from "./reply-text.ts";
import { textOfStructuredReply } from "./structured-reply.ts";
import type { ReplyEvent } from "./tool-loop.ts";
import { AllowedLinks } from "./visible-text.ts";

const ELLIPSIS = "…";
/** A reply of which only little can be shown is read no further than this. */
const MAX_READ_LENGTH = 2 * MAX_ANSWER_LENGTH;

interface ReaderOptions {
  evidence: Evidence;
  secrets: readonly Secret[];
  /** Returns the texts whose links the answer may repeat. */
  textsWithLinks: () => string[];
  /** Returns the reason to record for a hand-off, given the model's. */
  handoffReason: (reason: HandoffReason) => HandoffReason;
}

/**
 * Turns the events of a language model's reply into the answer that the visitor sees: the text that may be shown (reply-text.ts),
 * without secrets (leak-guard.ts), up to the length of the longest answer.
 */
export class ReplyReader {
  private readonly links: AllowedLinks;
  private readonly guard: LeakGuard;
  private readonly cited: CitablePassage[] = [];
  private reply: ReplyText;
  /** Whether some text was shown. Then the outcome is known. */
  private isAnswered = false;

  constructor(
    private readonly events: AsyncGenerator<ReplyEvent, void>,
    private readonly options: ReaderOptions,
  ) {
    this.links = new AllowedLinks(options.textsWithLinks);
    this.guard = new LeakGuard(options.secrets);
    this.reply = this.newReply();
  }

  /** Reads up to the first text, when the outcome is known. @throws Error if the model fails before it. */
  async read(): Promise<ModelReply> {
    const text = this.text();
    try {
      await text.next();
    } catch (error) {
      if (!(error instanceof HandoffError)) throw error;
      const { reason } = error;
      return reason === "missing_knowledge" && this.reply.kind === "unmarked"
        ? { outcome: "no_answer", confidence: 0 }
        : { outcome: "handed_off", reason, confidence: 0 };
    }
    const confidence = () => this.reply.confidence();
    return {
      outcome: "answered",
      get confidence() {
        return confidence();
      },
      cited: this.cited,
      text,
    };
  }

  /** Yields an empty text once it is known that there is an answer, which `read` waits for, and then the answer. */
  private async *text(): AsyncGenerator<string, void> {
    let left = MAX_ANSWER_LENGTH;
    for await (const shown of this.safeText()) {
      if (shown === "") continue;
      if (!this.isAnswered) {
        this.isAnswered = true;
        this.addCited();
        yield "";
      }
      yield truncate(shown, left);
      left -= shown.length;
      if (left <= 0) break;
    }
    if (left <= 0) yield ELLIPSIS;
    this.addCited();
  }

  /** Yields the text that may be shown, in pieces that may be empty. @throws HandoffError if the reply ends with a hand-off. */
  private async *safeText(): AsyncGenerator<string, void> {
    let length = 0;
    let isTruncated = false;
    for await (const event of this.events) {
      if (event.type === "truncated") isTruncated = true;
      else yield this.guard.push(this.attempt(() => this.readEvent(event)));
      if (event.type === "text") length += event.text.length;
      if (length > (this.isAnswered ? MAX_READ_LENGTH : MAX_ANSWER_LENGTH)) break;
    }
    const last = this.attempt(() => this.readEnd());
    yield this.guard.push(last) + this.guard.end() + (isTruncated ? ELLIPSIS : "");
  }

  private readEvent(event: Exclude<ReplyEvent, { type: "truncated" }>): string {
    if (event.type === "text") return this.reply.push(event.text);
    this.links.refresh();
    const isNew = !this.isAnswered && (event.type === "restart" || this.reply.kind !== "sources");
    // The text before a tool call is part of the answer only if the model had named its sources.
    if (!isNew) return this.reply.push("\n\n");
    this.reply = this.newReply();
    return "";
  }

  private readEnd(): string {
    const { written, kind } = this.reply;
    const text = this.isAnswered || kind !== "unmarked" ? undefined : textOfStructuredReply(written, (id) => this.options.evidence.has(id));
    if (text === undefined) return this.reply.end();
    this.reply = this.newReply();
    return this.reply.push(text) + this.reply.end();
  }

  /** Reads a piece of the reply. A hand-off gets the reason to record. */
  private attempt(read: () => string): string {
    try {
      return read();
    } catch (error) {
      throw error instanceof HandoffError ? new HandoffError(this.options.handoffReason(error.reason)) : error;
    }
  }

  /** Adds the passages that the answer cites so far. */
  private addCited(): void {
    this.cited.push(...this.reply.passages.filter((passage) => !this.cited.includes(passage)));
  }

  private newReply(): ReplyText {
    return new ReplyText(this.options.evidence, this.links);
  }
}
