import { z } from "@hono/zod-openapi";
import { filterSchema } from "../knowledge/search-wire.ts";
import { MAX_ANSWER_LENGTH, MAX_HISTORY_MESSAGES } from "../models/limits.ts";
import { agentRef, uuid } from "../platform/http/fields.ts";
import type { UnknownField } from "../platform/http/unknown-fields.ts";
import { addProblem, valueErrorParams } from "../platform/http/validation.ts";
import { truncate } from "../platform/text.ts";
import { REDACTED } from "../redaction/fields.ts";
import type { AnswerKey } from "./responses.ts";
import { turnOfCall } from "./suspended-turns.ts";
import {
  type Asked,
  chatAnswerSchema,
  chatFields,
  endUserSchema,
  toolCallSchema,
  type ToolResult,
  toolResultSchema,
  toolResultsInSchema,
} from "./wire.ts";

const AGENT_ID = "019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00";

/** The content of a message, which becomes one text: a number that is masked may begin in one part and end in the next. */
const contentSchema = z
  .union(
    [
      z.string(),
      z.array(
        z.object({
          type: z.literal("text").meta({ description: "Only text is accepted." }),
          text: z.string().meta({ description: "The text." }),
        }),
      ),
    ],
    "send text only, because the agent reads nothing else",
  )
  .transform((content) => (Array.isArray(content) ? content.map(({ text }) => text).join("\n") : content));

const messageSchema = z
  .object({
    role: z.enum(["user", "assistant", "system", "developer", "tool"]).meta({
      description:
        "The author of the message; `tool` for the result of a tool call. `system` and `developer` are ignored, because the agent has its own instructions.",
    }),
    content: contentSchema.nullish().meta({ ...REDACTED, description: "The text of the message." }),
    tool_call_id: toolResultSchema.shape.tool_call_id.optional().meta({ description: "The id of the tool call, for its result." }),
  })
  .openapi("ChatCompletionMessage");

/** A parameter that is accepted only with values that have no effect. */
function unsupported(isHarmless: (value: unknown) => boolean, error: string, description: string) {
  const check = (value: unknown) => (value ?? null) === null || isHarmless(value);
  return z.unknown().refine(check, valueErrorParams(error)).optional().meta({ description });
}

const isEmpty = (value: unknown) => Array.isArray(value) && value.length === 0;
const isTextAlone = (value: unknown) => Array.isArray(value) && value.every((each) => each === "text");
const isTextFormat = (value: unknown) => (value as { type?: unknown }).type === "text";
const OWN_TOOLS = "leave it out: an agent calls the tools of its own settings";

export const completionInSchema = z
  .object({
    model: agentRef().meta({ description: "The agent's id or slug.", example: AGENT_ID }),
    messages: z.array(messageSchema).min(1).meta({
      description:
        "The messages of the conversation. The last one is the user's question, with at most 2,000 characters, or the last ones are the results of tool calls.",
    }),
    stream: z.boolean().nullish().meta({ description: "Whether the answer is streamed as Server-Sent Events." }),
    stream_options: z
      .object({ include_usage: z.boolean().nullish().meta({ description: "Whether a chunk with the usage is sent before the end." }) })
      .nullish()
      .meta({ description: "Options of a streamed answer." }),
    metadata: z
      .object({ conversation_id: uuid().nullish().meta({ description: "The conversation to continue. Without it, a new one begins." }) })
      .nullish()
      .meta({ description: "Values for which OpenAI has no parameter." }),
    user: endUserSchema.shape.id.nullish(),
    filter: filterSchema,
    n: unsupported((value) => value === 1, "leave it out: an agent gives one answer", "The only accepted value is 1."),
    tools: z
      .array(z.unknown())
      .nullish()
      .meta({ description: "Has no effect, because an agent has its own tools. It calls those of type `client` as `tool_calls`." }),
    functions: unsupported(isEmpty, OWN_TOOLS, "Only an empty list is accepted, because an agent has its own tools."),
    response_format: unsupported(isTextFormat, "leave it out: an agent answers in text", "Only text is accepted."),
    modalities: unsupported(isTextAlone, "leave it out: an agent answers in text", "Only text is accepted."),
  })
  .superRefine(({ messages }, ctx) => {
    const path = ["messages", messages.length - 1];
    const last = messages.at(-1);
    if (last?.role === "tool") {
      const given = resultsIn(messages);
      if (!given) return addProblem(ctx, FOREIGN_RESULTS, "messages");
      const { error } = toolResultsInSchema.shape.results.safeParse(given.results);
      for (const { path: _, ...issue } of error?.issues ?? []) ctx.addIssue({ ...issue, path: ["messages"] });
    } else if (last?.role !== "user")
      ctx.addIssue({
        code: "custom",
        path: [...path, "role"],
        ...valueErrorParams("end with a message of the user, or the results of tools"),
      });
    else {
      const { error } = chatFields.shape.message.safeParse(textOf(last));
      for (const { path: _, ...issue } of error?.issues ?? []) ctx.addIssue({ ...issue, path: [...path, "content"] });
    }
  })
  .openapi("ChatCompletionIn", {
    example: { model: AGENT_ID, messages: [{ role: "user", content: "How long do refunds take?" }], user: "customer-4711" },
  });

type CompletionMessage = z.output<typeof messageSchema>;
export type CompletionIn = z.output<typeof completionInSchema>;

/** Returns the question of a request. Its earlier messages are used only for a new conversation; an existing one has them already. */
export function toAsked({ messages, metadata, user, filter }: CompletionIn) {
  const asked: Asked = {
    message: textOf(messages.at(-1)!),
    conversation_id: metadata?.conversation_id,
    user: user ? { id: user } : null,
    filter,
  };
  const earlier = messages
    .slice(0, -1)
    .filter(({ role }) => role === "user" || role === "assistant")
    .map((message) => ({ role: message.role === "user" ? ("visitor" as const) : ("agent" as const), text: textOf(message) }))
    .filter(({ text }) => text !== "")
    .slice(-MAX_HISTORY_MESSAGES)
    .map(({ role, text }) => ({ role, text: truncate(text, MAX_ANSWER_LENGTH), isReported: true }));
  return { asked, earlier: asked.conversation_id ? [] : earlier };
}

const FOREIGN_RESULTS = "end with the results of the tool calls of one answer, each with the tool_call_id that the answer has";

/** The results of tool calls at the end of the messages, and the answer that waits for them. */
export interface GivenResults {
  key: AnswerKey;
  results: ToolResult[];
}

/** Finds the results of tool calls at the end of the messages; undefined if there are none of one answer. */
export function resultsIn(messages: CompletionMessage[]): GivenResults | undefined {
  const given = messages.slice(messages.findLastIndex(({ role }) => role !== "tool") + 1);
  const results = given.map((message) => ({ tool_call_id: message.tool_call_id ?? "", content: textOf(message) }));
  const turns = results.map(({ tool_call_id: id }) => turnOfCall(id));
  const [first] = turns;
  if (!first || turns.some((turn) => turn?.answerId !== first.answerId)) return undefined;
  return { key: { conversation_id: first.conversationId, message_id: first.answerId }, results };
}

/** The messages and parameters that are ignored. */
export function ignoredFields({ messages, tools }: CompletionIn): UnknownField[] {
  const ignored: UnknownField[] = messages.flatMap(({ role }, at) => (isInstruction(role) ? [{ path: ["messages", at] }] : []));
  return tools?.length ? [...ignored, { path: ["tools"] }] : ignored;
}

/** Whether a message has instructions. They are ignored, because a caller who may only ask cannot change the agent's settings. */
function isInstruction(role: CompletionIn["messages"][number]["role"]): boolean {
  return role === "system" || role === "developer";
}

function textOf({ content }: CompletionIn["messages"][number]): string {
  return content ?? "";
}

const usageSchema = z
  .object({
    prompt_tokens: z.int().meta({ description: "Always 0.", example: 0 }),
    completion_tokens: z.int().meta({ description: "Always 0.", example: 0 }),
    total_tokens: z.int().meta({ description: "Always 0.", example: 0 }),
  })
  .meta({ description: "The usage in tokens, which is always 0, because the service counts messages." });

export const completionSchema = chatAnswerSchema
  .omit({ answer: true })
  .extend({
    id: uuid().meta({ description: "The completion's identifier." }),
    object: z.literal("chat.completion").meta({ description: "The type of the object." }),
    created: z.int().meta({ description: "The time of creation in Unix seconds.", example: 1_767_225_600 }),
    model: uuid().meta({ description: "The id of the agent." }),
    choices: z
      .array(
        z.object({
          index: z.int().meta({ description: "Always 0.", example: 0 }),
          message: z
            .object({
              role: z.literal("assistant").meta({ description: "The author of the message." }),
              content: chatAnswerSchema.shape.answer,
              tool_calls: z
                .array(
                  z.object({
                    id: toolCallSchema.shape.id,
                    type: z.literal("function").meta({ description: "The type of the call." }),
                    function: z
                      .object({
                        name: toolCallSchema.shape.name,
                        arguments: z.string().meta({ description: "The arguments as JSON.", example: '{"order":"4711"}' }),
                      })
                      .meta({ description: "The tool and its arguments." }),
                  }),
                )
                .optional()
                .meta({ description: "Calls of client tools, whose results the agent waits for. Left out where there are none." }),
              refusal: z.null().meta({ description: "Always null, because a refusal is sent as an answer." }),
            })
            .meta({ description: "The answer." }),
          logprobs: z.null().meta({ description: "Always null." }),
          finish_reason: z.enum(["stop", "tool_calls"]).meta({
            description: "`tool_calls` if the answer waits for tools; otherwise `stop`, even if the question is handed to a human.",
          }),
        }),
      )
      .meta({ description: "A list with one answer." }),
    usage: usageSchema,
  })
  .openapi("ChatCompletion");

export const completionChunksSchema = z.string().openapi("ChatCompletionChunks", {
  description:
    "Server-Sent Events with the chunks of OpenAI's API, and `[DONE]` at the end. The first chunk has `conversation_id` and `message_id`. The chunk with `finish_reason` also has the other fields of ChatAnswer. If the answer fails, a chunk with `error` is sent.",
});

export const modelListSchema = z
  .object({
    object: z.literal("list").meta({ description: "The type of the object." }),
    data: z
      .array(
        z.object({
          id: uuid().meta({ description: "The agent's id, which is the `model` of a request." }),
          object: z.literal("model").meta({ description: "The type of the object." }),
          created: z.int().meta({ description: "The time of creation in Unix seconds.", example: 1_767_225_600 }),
          owned_by: z.string().meta({ description: "The workspace.", example: "acme" }),
          name: z.string().meta({ description: "The agent's name.", example: "Support" }),
        }),
      )
      .meta({ description: "The active agents, oldest first." }),
  })
  .openapi("ModelList");
