import { z } from "@hono/zod-openapi";
import { answerSettingsSchema } from "../agents/settings-wire.ts";
import { CONVERSATION_STATUSES, HANDOFF_REASONS } from "../platform/db/columns.ts";
import { citationSchema, filterSchema } from "../knowledge/search-wire.ts";
import { personName, uuid } from "../platform/http/fields.ts";
import { valueErrorParams } from "../platform/http/validation.ts";

/** A user of the integrator. */
export const endUserSchema = z
  .object({
    id: z
      .string()
      .min(1)
      .max(128)
      .meta({ description: "Your stable id for the person. It groups the person's conversations.", example: "customer-4711" }),
    name: personName().nullable().optional().meta({ description: "Their name.", example: "Ann Lee" }),
    email: z.email().max(320).nullable().optional().meta({ description: "Their email address.", example: "ann@example.com" }),
  })
  .openapi("EndUser");

export const streamField = () => z.boolean().default(false).meta({ description: "Whether the answer is streamed as Server-Sent Events." });

export const chatFields = z.object({
  message: z.string().min(1).max(2000).meta({ description: "The question." }),
  conversation_id: uuid()
    .nullable()
    .optional()
    .meta({ description: "The conversation to continue, which must have the same channel. Leave it out to start a new one." }),
  user: endUserSchema.nullable().meta({ description: "The person who asks. Leave it out if the person is unknown." }).optional(),
  channel: z.enum(["api", "playground"]).optional().meta({
    description:
      "The default is `api`. `playground` is for trying the agent out: the conversation never waits for a human, and a question that the agent cannot answer does not count as a gap.",
  }),
  filter: filterSchema,
});

export const chatInSchema = chatFields
  .extend({
    settings: answerSettingsSchema.nullable().optional().meta({
      description:
        "Settings to try out. They replace the agent's settings for this answer, and are not saved. They need the channel `playground` and the scope `agents:write`.",
    }),
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

export const chatAnswerSchema = z
  .object({
    answer: z.string().meta({
      description: "The answer of the agent, or the hand-off message; empty while a human has the conversation.",
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
- \`done\`: the whole answer, as without streaming. It is the last event.
- \`error\` {error: {code, message, request_id}}: the service failed. It is the last event of this response.

A comment every 15 seconds keeps the connection open. A client that disconnects does not stop the answer.

With \`Accept: text/event-stream; profile=ai-sdk\` the events are a UI message stream of the AI SDK instead.`,
});
