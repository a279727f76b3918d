import type { ChatModel, ReasoningFields } from "./chat-model.ts";

/** A reply's failure, as the log and the deployment's health say it. */
export const REASONING_ONLY = "the reply is all reasoning";

const OPEN = /<(think|thinking|thought|reasoning)>/i;
const CLOSE = /<\/(?:think|thinking|thought|reasoning)>/i;
/** What may yet become a tag. */
const PARTIAL_TAG = /<\/?(?:[a-z]{0,9})$/i;
const MAX_TAG_LENGTH = 12;

/** Removes the reasoning that some models write into the text of a streamed reply, in <think> tags. */
export class ReasoningFilter {
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

const NO_THINKING: ReasoningFields = { chat_template_kwargs: { enable_thinking: false } };
const LITTLE_THINKING: ReasoningFields = { reasoning_effort: "low" };

/**
 * What models need that reason by default. To answer from given passages takes little reasoning, the visitor waits for all of
 * it, and it counts toward MAX_OUTPUT_TOKENS. Each model's page says which fields it knows, and whether it can do without:
 * https://developers.cloudflare.com/workers-ai/models/glm-4.7-flash/
 */
const FIELDS_OF_MODEL: Readonly<Record<string, ReasoningFields>> = {
  "@cf/zai-org/glm-4.7-flash": NO_THINKING,
  "@cf/moonshotai/kimi-k2.6": NO_THINKING,
  "@cf/zai-org/glm-5.3-flash": LITTLE_THINKING,
  "@cf/openai/gpt-oss-20b": LITTLE_THINKING,
  "@cf/openai/gpt-oss-120b": LITTLE_THINKING,
};

/** How a known model is asked to reason little; nothing for others, whose servers may refuse fields that they do not know. */
export function reasoningOptions({ name }: ChatModel): ReasoningFields {
  return FIELDS_OF_MODEL[name] ?? {};
}

/** How a model that wrote nothing but reasoning is asked again: other models than the known ones by the fields that most servers read. */
export function leastReasoningOptions({ name }: ChatModel): ReasoningFields {
  const fields = FIELDS_OF_MODEL[name] ?? NO_THINKING;
  return fields === NO_THINKING ? { ...fields, reasoning_effort: "none" } : fields;
}
