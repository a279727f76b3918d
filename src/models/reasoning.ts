import type { ChatModel, ReasoningFields } from "./chat-model.ts";

/** The failure that the log and the deployment's health name for such a reply. */
export const REASONING_ONLY = "the reply is all reasoning";

const TAG = /<\/?(?:think|thinking|thought|reasoning)>/i;
const CLOSING_TAG = /<\/(?:think|thinking|thought|reasoning)>/i;
/** The beginning of a text that may become a tag. */
const PARTIAL_TAG = /<\/?(?:[a-z]{0,9})$/i;
const MAX_TAG_LENGTH = 12;

/** Removes the reasoning that some models write into the text of a streamed reply, in <think> tags. */
export class ReasoningFilter {
  private pending = "";
  private isReasoning = false;
  /** Whether all text so far was reasoning: a tag was closed that was never opened, since some servers put the opening tag into the prompt. */
  startsOver = false;

  /** @returns the text outside of reasoning. */
  push(text: string): string {
    this.startsOver = false;
    this.pending += text;
    let visible = "";
    for (;;) {
      const tag = (this.isReasoning ? CLOSING_TAG : TAG).exec(this.pending);
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

const NO_THINKING: ReasoningFields = { chat_template_kwargs: { enable_thinking: false } };
const LITTLE_THINKING: ReasoningFields = { reasoning_effort: "low" };

/**
 * The fields that make models reason less. An answer from given passages takes little reasoning, the visitor waits for all of it, and
 * it counts toward MAX_OUTPUT_TOKENS. Each model's page says which fields it reads, and whether it can do without reasoning:
 * https://developers.cloudflare.com/workers-ai/models/glm-4.7-flash/
 */
const FIELDS_OF_MODEL: Readonly<Record<string, ReasoningFields>> = {
  "@cf/zai-org/glm-4.7-flash": NO_THINKING,
  "@cf/moonshotai/kimi-k2.6": NO_THINKING,
  "@cf/zai-org/glm-5.3-flash": LITTLE_THINKING,
  "@cf/openai/gpt-oss-20b": LITTLE_THINKING,
  "@cf/openai/gpt-oss-120b": LITTLE_THINKING,
};

/** The fields that make a known model reason little; none for others, whose servers may refuse fields that they do not know. */
export function reasoningOptions({ name }: ChatModel): ReasoningFields {
  return FIELDS_OF_MODEL[name] ?? {};
}

/**
 * The fields for another call of a model that wrote nothing but reasoning. For unknown models they are those that most servers read;
 * OpenAI's and Google's take the effort alone, and not all of them take "none".
 */
export function leastReasoningOptions({ name, hasStrictServer }: ChatModel): ReasoningFields {
  const fields = FIELDS_OF_MODEL[name] ?? (hasStrictServer ? LITTLE_THINKING : NO_THINKING);
  return fields === NO_THINKING ? { ...fields, reasoning_effort: "none" } : fields;
}
