import { z } from "@hono/zod-openapi";
import { filterSchema } from "../knowledge/search-wire.ts";
import { uuid } from "../platform/http/fields.ts";
import { valueErrorParams } from "../platform/http/validation.ts";
import { truncate } from "../platform/text.ts";
import { type Asked, chatAnswerSchema, chatFields, endUserSchema } from "./wire.ts";

const AGENT_ID = "019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00";

const contentSchema = z.union(
  [
    z.string(),
    z.array(
      z.object({ type: z.literal("text").meta({ description: "Text alone." }), text: z.string().meta({ description: "The text." }) }),
    ),
  ],
  "send text: the agent reads nothing else",
);

const messageSchema = z
  .object({
    role: z
      .enum(["user", "assistant", "system", "developer"])
      .meta({ description: "`system` and `developer` are ignored: the agent has instructions of its own." }),
    content: contentSchema.nullish().meta({ description: "Its text." }),
  })
  .openapi("ChatCompletionMessage");

/** A parameter that is accepted only with values that have no effect. */
function unsupported(isHarmless: (value: unknown) => boolean, words: string, description: string) {
  const check = (value: unknown) => (value ?? null) === null || isHarmless(value);
  return z.unknown().refine(check, valueErrorParams(words)).optional().meta({ description });
}

const isEmpty = (value: unknown) => Array.isArray(value) && value.length === 0;
const isTextAlone = (value: unknown) => Array.isArray(value) && value.every((each) => each === "text");
const isTextFormat = (value: unknown) => (value as { type?: unknown }).type === "text";
const OWN_TOOLS = "leave it out: an agent calls the tools of its own settings";

export const completionInSchema = z
  .object({
    model: uuid().meta({ description: "The agent's id.", example: AGENT_ID }),
    messages: z.array(messageSchema).min(1).meta({ description: "The last one is the user's question, of at most 2,000 characters." }),
    stream: z.boolean().nullish().meta({ description: "True streams the answer as Server-Sent Events." }),
    stream_options: z
      .object({ include_usage: z.boolean().nullish().meta({ description: "True sends a chunk with the usage before the end." }) })
      .nullish()
      .meta({ description: "Of a streamed answer." }),
    metadata: z
      .object({ conversation_id: uuid().nullish().meta({ description: "Continues this conversation. Without it a new one begins." }) })
      .nullish()
      .meta({ description: "What OpenAI's parameters have no place for." }),
    user: endUserSchema.shape.id.nullish(),
    filter: filterSchema,
    n: unsupported((value) => value === 1, "leave it out: an agent gives one answer", "1, if anything."),
    tools: unsupported(isEmpty, OWN_TOOLS, "None."),
    functions: unsupported(isEmpty, OWN_TOOLS, "None."),
    response_format: unsupported(isTextFormat, "leave it out: an agent answers in text", "Text, if anything."),
    modalities: unsupported(isTextAlone, "leave it out: an agent answers in text", "Text, if anything."),
  })
  .superRefine(({ messages }, ctx) => {
    const path = ["messages", messages.length - 1];
    const last = messages.at(-1);
    if (last?.role !== "user")
      ctx.addIssue({ code: "custom", path: [...path, "role"], ...valueErrorParams("end with a message of the user") });
    else {
      const { error } = chatFields.shape.message.safeParse(textOf(last));
      for (const { path: _, ...issue } of error?.issues ?? []) ctx.addIssue({ ...issue, path: [...path, "content"] });
    }
  })
  .openapi("ChatCompletionIn", {
    example: { model: AGENT_ID, messages: [{ role: "user", content: "How long do refunds take?" }], user: "customer-4711" },
  });

type CompletionIn = z.output<typeof completionInSchema>;

/** How many of the earlier messages an agent reads at most, and how much of each. */
const MAX_EARLIER = 16;
const MAX_EARLIER_LENGTH = 8_000;

/** Returns the question of a request. Its earlier messages are used only where it continues no conversation, which would have them. */
export function toAsked({ messages, metadata, user, filter }: CompletionIn) {
  const asked: Asked = {
    message: textOf(messages.at(-1)!),
    conversation_id: metadata?.conversation_id,
    user: user ? { id: user } : null,
    filter,
  };
  const earlier = messages
    .slice(0, -1)
    .filter(({ role }) => !isInstruction(role))
    .map((message) => ({ role: message.role === "user" ? ("visitor" as const) : ("agent" as const), text: textOf(message) }))
    .filter(({ text }) => text !== "")
    .slice(-MAX_EARLIER)
    .map(({ role, text }) => ({ role, text: truncate(text, MAX_EARLIER_LENGTH), isReported: true }));
  return { asked, earlier: asked.conversation_id ? [] : earlier };
}

/** The paths of the messages that are ignored. */
export function ignoredMessages({ messages }: CompletionIn): (string | number)[][] {
  return messages.flatMap(({ role }, at) => (isInstruction(role) ? [["messages", at]] : []));
}

/** Instructions are ignored: they are settings of the agent, which a caller who may only ask cannot change. */
function isInstruction(role: CompletionIn["messages"][number]["role"]): boolean {
  return role === "system" || role === "developer";
}

function textOf({ content }: CompletionIn["messages"][number]): string {
  return Array.isArray(content) ? content.map(({ text }) => text).join("\n") : (content ?? "");
}

const usageSchema = z
  .object({
    prompt_tokens: z.int().meta({ description: "0.", example: 0 }),
    completion_tokens: z.int().meta({ description: "0.", example: 0 }),
    total_tokens: z.int().meta({ description: "0.", example: 0 }),
  })
  .meta({ description: "The service counts messages, not tokens." });

export const completionSchema = chatAnswerSchema
  .omit({ answer: true })
  .extend({
    id: uuid().meta({ description: "The completion's identifier." }),
    object: z.literal("chat.completion").meta({ description: "What this is." }),
    created: z.int().meta({ description: "Unix seconds.", example: 1_767_225_600 }),
    model: uuid().meta({ description: "The agent." }),
    choices: z
      .array(
        z.object({
          index: z.int().meta({ description: "0.", example: 0 }),
          message: z
            .object({
              role: z.literal("assistant").meta({ description: "Who speaks." }),
              content: chatAnswerSchema.shape.answer,
              refusal: z.null().meta({ description: "Always null: a refusal is an answer too." }),
            })
            .meta({ description: "The answer." }),
          logprobs: z.null().meta({ description: "Always null." }),
          finish_reason: z.literal("stop").meta({ description: "Also of a hand-off to a human." }),
        }),
      )
      .meta({ description: "One." }),
    usage: usageSchema,
  })
  .openapi("ChatCompletion");

export const completionChunksSchema = z.string().openapi("ChatCompletionChunks", {
  description:
    "Server-Sent Events with the chunks of OpenAI's API, and `[DONE]` at the end. The first chunk carries `conversation_id` and `message_id`, the one with `finish_reason` the other fields of ChatAnswer too. What fails on the way is a chunk with `error`.",
});

export const modelListSchema = z
  .object({
    object: z.literal("list").meta({ description: "What this is." }),
    data: z
      .array(
        z.object({
          id: uuid().meta({ description: "The agent's id, which is the `model` of a request." }),
          object: z.literal("model").meta({ description: "What this is." }),
          created: z.int().meta({ description: "Unix seconds.", example: 1_767_225_600 }),
          owned_by: z.string().meta({ description: "The workspace.", example: "acme" }),
          name: z.string().meta({ description: "The agent's name.", example: "Support" }),
        }),
      )
      .meta({ description: "The active agents, oldest first." }),
  })
  .openapi("ModelList");
