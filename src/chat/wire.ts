import { z } from "@hono/zod-openapi";
import { attachmentIds } from "../attachments/wire.ts";
import { answerSettingsSchema } from "../agents/settings-wire.ts";
import { CONVERSATION_STATUSES, HANDOFF_REASONS } from "../platform/db/columns.ts";
import { citationSchema, filterSchema } from "../knowledge/search-wire.ts";
import { MAX_TOOL_CALLS, MAX_TOOLS } from "../models/limits.ts";
import { emailAddress, personName, uuid } from "../platform/http/fields.ts";
import { valueErrorParams } from "../platform/http/validation.ts";
import { REDACTED } from "../redaction/fields.ts";

/** A user of the integrator. */
export const endUserSchema = z
  .object({
    id: z
      .string()
      .min(1)
      .max(128)
      .meta({ description: "Your stable id for the person. It groups the person's conversations.", example: "customer-4711" }),
    name: personName()
      .nullable()
      .optional()
      .meta({ ...REDACTED, description: "Their name.", example: "Ann Lee" }),
    email: emailAddress().max(320).nullable().optional().meta({ description: "Their email address.", example: "ann@example.com" }),
  })
  .openapi("EndUser");

export const streamField = () => z.boolean().default(false).meta({ description: "Whether the answer is streamed as Server-Sent Events." });

export const chatFields = z.object({
  message: z
    .string()
    .min(1)
    .max(2000)
    .meta({ ...REDACTED, description: "The question." }),
  conversation_id: uuid()
    .nullable()
    .optional()
    .meta({ description: "The conversation to continue, which must have the same channel. Leave it out to start a new one." }),
  user: endUserSchema.nullable().meta({ description: "The person who asks. Leave it out if the person is unknown." }).optional(),
  channel: z.enum(["api", "playground"]).optional().meta({
    description:
      "The default is `api`. `playground` is for trying the agent out: the conversation never waits for a human, contact details are not kept as a lead, and a question that the agent cannot answer does not count as a gap.",
  }),
  filter: filterSchema,
  attachments: attachmentIds(),
});

/** @param whenNull what it means to leave the field out. */
export const clientToolsField = (whenNull: string) =>
  z
    .array(z.string().max(64))
    .max(MAX_TOOLS)
    .nullable()
    .optional()
    .meta({ description: `The names of the agent's client tools that you run; the others are not called. ${whenNull}`, example: null });

export const chatInSchema = chatFields
  .extend({
    settings: answerSettingsSchema.nullable().optional().meta({
      description:
        "Settings to try out. They replace the agent's settings for this answer, and are not saved. They need the channel `playground` and the scope `agents:write`.",
    }),
    client_tools: clientToolsField("By default all that run in your program, and none in the playground."),
    version: z.literal("draft").nullable().optional().meta({
      description: "`draft` for an answer by the draft of the agent. It needs the scope `agents:write`.",
    }),
    stream: streamField(),
  })
  .refine(({ channel, settings }) => !settings || channel === "playground", {
    path: ["settings"],
    ...valueErrorParams("use them on the channel playground only"),
  })
  .openapi("ChatIn", {
    example: { message: "How long do refunds take?", user: { id: "customer-4711", name: "Ann Lee", email: "ann@example.com" } },
  });

/** A question as an integrator sends it, over the service's own API or OpenAI's. */
export type Asked = Omit<z.output<typeof chatInSchema>, "stream">;

export const toolCallSchema = z
  .object({
    id: z.string().meta({ description: "The id of the call, with which its result is sent." }),
    name: z.string().meta({ description: "The name of the tool.", example: "cancel_order" }),
    arguments: z
      .record(z.string(), z.unknown())
      .meta({ description: "The arguments, which fit the tool's parameters.", example: { order: "4711" } }),
  })
  .openapi("ToolCall");

const requiredActionSchema = z
  .object({
    expires_at: z.iso.datetime().meta({ description: "The time until which the results are awaited. Then a human gets the question." }),
    tool_calls: z.array(toolCallSchema).meta({ description: "The calls. The results of all of them are sent together." }),
  })
  .openapi("RequiredAction");

/** A model reads about 3,000 characters of a result. */
const MAX_RESULT_LENGTH = 16_000;

export const toolResultSchema = z
  .object({
    tool_call_id: z.string().min(1).max(100).meta({ description: "The id of the call." }),
    content: z
      .string()
      .max(MAX_RESULT_LENGTH)
      .optional()
      .meta({ ...REDACTED, description: "The result as text or JSON, as the model reads it.", example: '{"cancelled":true}' }),
    error: z
      .string()
      .min(1)
      .max(MAX_RESULT_LENGTH)
      .optional()
      .meta({ ...REDACTED, description: "Why there is no result. The model then tries again or does without it." }),
  })
  .refine(({ content, error }) => (content === undefined) !== (error === undefined), valueErrorParams("send either content or error"))
  .openapi("ToolResult");

export type ToolResult = z.output<typeof toolResultSchema>;

export const toolResultsInSchema = z
  .object({
    results: z.array(toolResultSchema).min(1).max(MAX_TOOL_CALLS).meta({ description: "The results of all calls of `required_action`." }),
    stream: streamField(),
  })
  .openapi("ToolResultsIn", {
    example: {
      results: [{ tool_call_id: "call_AZqfDjwbfUKKVW8dLjxLAAGanw48G31CilVvHS48SwE_1_1", content: '{"cancelled":true}' }],
    },
  });

export const chatAnswerSchema = z
  .object({
    answer: z.string().nullable().meta({
      description:
        "The answer of the agent, or the hand-off message; empty while a human has the conversation. It is null only with a `required_action`.",
      example: "Refunds are paid within five working days.",
    }),
    citations: z.array(citationSchema).meta({ description: "The sources of the answer; empty with a hand-off." }),
    confidence: z.number().meta({ description: "How likely the answer is right, from 0 to 1.", example: 0.86 }),
    needs_human: z
      .boolean()
      .meta({ description: "Whether a human is needed. The conversation then waits for one, except in the playground.", example: false }),
    conversation_id: uuid(),
    message_id: uuid()
      .nullable()
      .meta({ description: "The agent's message; null while a human has the conversation, because the agent then says nothing." }),
    status: z.enum(CONVERSATION_STATUSES).meta({ description: "The status of the conversation after the answer.", example: "ai_handled" }),
    handoff_reason: z.enum(HANDOFF_REASONS).nullable().meta({
      description: "Why a human is needed; null if no human is needed, or if the team took the conversation itself.",
      example: null,
    }),
    required_action: z.union([requiredActionSchema, z.null()]).meta({
      description: "Calls of client tools, for whose results the answer waits: run them, and send the results. null in all other cases.",
      example: null,
    }),
  })
  .openapi("ChatAnswer");

export type ChatAnswer = z.infer<typeof chatAnswerSchema>;

/** The header in which a client sends the id of the last event that it read. */
export const LAST_EVENT_ID = "Last-Event-ID";

export const resumeHeaders = z.object({
  [LAST_EVENT_ID]: z.string().optional().meta({
    description: "The id of the last event that you have. Without it, or with one that is not of this answer, the stream starts over.",
  }),
});

export const chatEventsSchema = z.string().openapi("ChatEvents", {
  description: `Server-Sent Events, each with an \`id\` and one line of JSON:

- \`start\` {conversation_id, message_id}: the question is stored and will be answered. If it is sent again after a reconnection, the answer starts over: discard the earlier text. \`message_id\` is null if a human has the conversation; \`done\` then follows without a \`delta\`.
- \`delta\` {text}: the next part of the answer. All parts joined are the answer.
- \`tool_call\` {id, name, arguments}: a client tool to run. \`done\` then has the \`required_action\`, and the stream of the results starts over with the answer.
- \`done\`: the whole answer, as without streaming. It is the last event.
- \`error\` {error: {code, message, request_id}}: the service failed. It is the last event of this response.

A comment every 15 seconds keeps the connection open. A client that disconnects does not stop the answer.

With \`Accept: text/event-stream; profile=ai-sdk\` the events are a UI message stream of the AI SDK instead.`,
});
