import type { ChatAnswer } from "./wire.ts";

/** What is known of an answer before its first word. */
export interface Begun {
  conversationId: string;
  /** The agent's message; null where a human has the conversation and the agent stays silent. */
  messageId: string | null;
  visitorId: string | null;
}

/**
 * An answer while it is written, in one place however many read it: its text so far, which is bounded as answers are, and
 * how it ended. A reader comes back for more at its own pace, and nothing waits for it.
 */
export class AnswerStream {
  private written = "";
  private known: Begun | undefined;
  private outcome: ChatAnswer | "failed" | undefined;
  private change = Promise.withResolvers<void>();

  /** An answer that was written before. */
  static of(answer: ChatAnswer): AnswerStream {
    const stream = new AnswerStream();
    stream.begin({ conversationId: answer.conversation_id, messageId: answer.message_id, visitorId: null });
    stream.finish(answer);
    return stream;
  }

  get begun(): Begun | undefined {
    return this.known;
  }

  get text(): string {
    return this.written;
  }

  get end(): ChatAnswer | "failed" | undefined {
    return this.outcome;
  }

  /** Settles at the next change of any kind. */
  get changed(): Promise<void> {
    return this.change.promise;
  }

  begin(begun: Begun): void {
    this.known = begun;
    this.wake();
  }

  say(text: string): void {
    this.written += text;
    this.wake();
  }

  /** @param answer begins with what was said; what was not is said now. */
  finish(answer: ChatAnswer): void {
    this.written = answer.answer;
    this.outcome = answer;
    this.wake();
  }

  /** The run failed: those who read are told so, and the next run has a stream of its own. */
  fail(): void {
    this.outcome = "failed";
    this.wake();
  }

  private wake(): void {
    this.change.resolve();
    this.change = Promise.withResolvers();
  }
}
