import type { ChatAnswer } from "./wire.ts";

/** What is known of an answer before its first word. */
export interface Begun {
  conversationId: string;
  /** The agent's message; null where a human has the conversation and the agent stays silent. */
  messageId: string | null;
  visitorId: string | null;
}

/**
 * An answer while it is written, shared by all its readers: the text so far, which has the length limit of answers, and
 * how it ended. Each reader takes new text at its own pace; the writer waits for none.
 */
export class AnswerStream {
  private written = "";
  private known: Begun | undefined;
  private outcome: ChatAnswer | "failed" | undefined;
  private change = Promise.withResolvers<void>();

  /** The finished stream of a stored answer. */
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

  /** @param answer the whole answer, of which the stream's text so far is the beginning; the rest is emitted now. */
  finish(answer: ChatAnswer): void {
    this.written = answer.answer;
    this.outcome = answer;
    this.wake();
  }

  /** Ends the stream with an error, since its run failed; the next run has a stream of its own. */
  fail(): void {
    this.outcome = "failed";
    this.wake();
  }

  private wake(): void {
    this.change.resolve();
    this.change = Promise.withResolvers();
  }
}
