import type { ReplyEvent } from "./language-model.ts";

const OPEN = /<(think|thinking|thought|reasoning)>/i;
const CLOSE = /<\/(?:think|thinking|thought|reasoning)>/i;
/** What may yet become a tag. */
const PARTIAL_TAG = /<\/?(?:[a-z]{0,9})$/i;
const MAX_TAG_LENGTH = 12;

/** Removes the reasoning that some models write into the text of a streamed reply, in <think> tags. */
class ReasoningFilter {
  private pending = "";
  private isReasoning = false;
  /**
   * Whether all text before now was reasoning: a tag was closed that was never opened, since some servers put the opening
   * tag into the prompt.
   */
  startsOver = false;

  /** @returns the text outside of reasoning. */
  push(text: string): string {
    this.startsOver = false;
    this.pending += text;
    let visible = "";
    for (;;) {
      const tag = this.isReasoning ? CLOSE.exec(this.pending) : firstOf(OPEN.exec(this.pending), CLOSE.exec(this.pending));
      if (!tag) break;
      const isClosing = tag[0].startsWith("</");
      if (isClosing && !this.isReasoning) {
        visible = "";
        this.startsOver = true;
      } else if (!this.isReasoning) visible += this.pending.slice(0, tag.index);
      this.isReasoning = !isClosing;
      this.pending = this.pending.slice(tag.index + tag[0].length);
    }
    const heldLength = PARTIAL_TAG.exec(this.pending.slice(-MAX_TAG_LENGTH))?.[0].length ?? 0;
    const read = this.pending.slice(0, this.pending.length - heldLength);
    this.pending = this.pending.slice(read.length);
    return this.isReasoning ? visible : visible + read;
  }

  /** @returns the text that was still held back. */
  end(): string {
    const rest = this.isReasoning ? "" : this.pending;
    this.pending = "";
    return rest;
  }
}

function firstOf(a: RegExpExecArray | null, b: RegExpExecArray | null): RegExpExecArray | null {
  if (!a || !b) return a ?? b;
  return a.index < b.index ? a : b;
}

/** The events of a reply without the reasoning in their texts. Leaving the generator leaves `events` too. */
export async function* withoutReasoning(events: AsyncGenerator<ReplyEvent, void>): AsyncGenerator<ReplyEvent | { type: "restart" }, void> {
  let filter = new ReasoningFilter();
  for await (const event of events) {
    if (event.type === "text") {
      const text = filter.push(event.text);
      if (filter.startsOver) yield { type: "restart" };
      yield { type: "text", text };
      continue;
    }
    yield { type: "text", text: filter.end() };
    if (event.type === "tool-round") filter = new ReasoningFilter();
    yield event;
  }
  yield { type: "text", text: filter.end() };
}
