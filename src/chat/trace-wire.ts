import { z } from "@hono/zod-openapi";
import { answerSettingsSchema } from "../agents/settings-wire.ts";
import { HANDOFF_REASONS } from "../platform/db/columns.ts";
import { timestamp, uuid } from "../platform/http/fields.ts";

const ms = (description: string) => z.int().meta({ description, example: 840 });
const score = (description: string) => z.number().nullable().meta({ description, example: 0.74 });
const tokens = (description: string) =>
  z
    .int()
    .nullable()
    .meta({ description: `${description} Null if the server does not report them.` });

/** The reasons of answers. The reasons of hand-offs are HANDOFF_REASONS. */
const ANSWER_REASONS = ["curated_answer", "confident"] as const;

const decisionSchema = z
  .object({
    outcome: z
      .enum(["answered", "handed_off"])
      .meta({ description: "Whether the question was answered or handed to a human.", example: "answered" }),
    reason: z.enum([...ANSWER_REASONS, ...HANDOFF_REASONS]).meta({
      description: "The reason of the answer (a curated answer matched, or the confidence reached the threshold) or of the hand-off.",
      example: "confident",
    }),
    explanation: z.string().meta({
      description: "The reason as a sentence.",
      example: "The confidence of 0.86 reaches the threshold of 0.5.",
    }),
    confidence: z.number().meta({ description: "How likely the answer is right, from 0 to 1.", example: 0.86 }),
    threshold: z.number().meta({ description: "The confidence_threshold at that time.", example: 0.5 }),
  })
  .openapi("TraceDecision");

const passageSchema = z
  .object({
    source_id: uuid(),
    type: z.enum(["page", "text"]).meta({ description: "The kind of its source." }),
    title: z.string().meta({ description: "The title of the page or text.", example: "Refunds" }),
    heading: z.string().nullable().meta({ description: "The heading above the passage; null without one.", example: "How long it takes" }),
    url: z.string().nullable().meta({ description: "The page's address.", example: null }),
    content: z.string().meta({ description: "The beginning of the passage.", example: "Refunds are paid within five working days." }),
    score: z.number().meta({ description: "How well the passage fits, from 0 to 1. `scores` has the parts of this score.", example: 0.74 }),
    scores: z
      .object({
        lexical: score("The score of its words; null if it was not found by its words."),
        semantic: score("The score of its meaning; null if it was not found by its meaning, or if its language is searched by words only."),
        reranker: score("The score by the reranker, which replaces the other scores; null without a reranker."),
      })
      .meta({ description: "The parts of the score." }),
    is_cited: z.boolean().meta({ description: "Whether the answer cites the passage.", example: true }),
  })
  .openapi("TracePassage");

const searchSchema = z
  .object({
    by: z.enum(["question", "tool"]).meta({ description: "Whether the search was for the question, or was a tool call of the model." }),
    query: z.string().meta({ description: "The query of the search.", example: "How long do refunds take?" }),
    previous_question: z
      .string()
      .nullable()
      .meta({ description: "The previous question, if this one was understood only together with it; otherwise null.", example: null }),
    language: z.string().meta({ description: "The language in which the query was analysed.", example: "en" }),
    terms: z.array(z.string()).meta({ description: "The words that were searched for, in their basic form.", example: ["long", "refund"] }),
    passages: z.array(passageSchema).meta({ description: "The passages that were found, best first." }),
    answers: z
      .array(
        z.object({
          answer_id: uuid(),
          question: z.string().meta({ description: "The curated question.", example: "How long do refunds take?" }),
          score: z.number().meta({ description: "How similar the questions are, from 0 to 1.", example: 0.42 }),
          is_cited: z.boolean().meta({ description: "Whether the curated answer was given.", example: false }),
        }),
      )
      .meta({ description: "The curated answers with similar questions, best first." }),
    duration_ms: ms("How long it took."),
  })
  .openapi("TraceSearch");

const modelCallSchema = z
  .object({
    model: z.string().meta({
      description: "The model, by its server's name. `extractive` quotes the knowledge and is no language model.",
      example: "@cf/zai-org/glm-4.7-flash",
    }),
    input_tokens: tokens("The tokens that the model read."),
    output_tokens: tokens("The tokens that the model wrote."),
    finish: z.string().nullable().meta({
      description: "Why the model stopped; null if it failed, or if the service stopped it after it had read enough.",
      example: "stop",
    }),
    failure: z.string().nullable().meta({ description: "How the model failed; null if it did not fail.", example: null }),
    first_token_ms: ms("The time until the model began to write; null if it did not write.").nullable(),
    duration_ms: ms("How long it took."),
  })
  .openapi("TraceModelCall");

const toolCallSchema = z
  .object({
    name: z.string().meta({ description: "The tool.", example: "order_status" }),
    arguments: z.string().meta({
      description: "The arguments that the model gave, as JSON. They never contain headers, variables and other secrets of the request.",
      example: '{"order":"A-17"}',
    }),
    outcome: z.enum(["answered", "refused", "failed", "handed_off"]).meta({
      description:
        "`answered`: the tool responded. `refused`: it was not called, or did nothing. `failed`: the call failed. `handed_off`: the call handed the conversation to a human.",
      example: "answered",
    }),
    note: z.string().nullable().meta({ description: "Why the call was refused or failed.", example: null }),
    status: z.int().nullable().meta({ description: "The HTTP status of its response.", example: 200 }),
    response_length: z.int().nullable().meta({
      description: "How many characters of its response the model read. The response itself is not stored, because it may contain secrets.",
      example: 312,
    }),
    duration_ms: ms("How long it took."),
  })
  .openapi("TraceToolCall");

export const traceSchema = z
  .object({
    message_id: uuid(),
    conversation_id: uuid(),
    agent_id: uuid(),
    agent_version: z.int().nullable().meta({
      description: "The version of the agent that answered, 0 for its draft; null if the answer is older than versions.",
      example: 3,
    }),
    created_at: timestamp(),
    changed_settings: z.array(answerSettingsSchema.keyof()).meta({
      description: "The settings that the question replaced for this answer; empty if it replaced none.",
      example: [],
    }),
    decision: decisionSchema.meta({ description: "The decision and its reason." }),
    searches: z.array(searchSchema).meta({ description: "The searches in the knowledge." }),
    model_calls: z.array(modelCallSchema).meta({ description: "Each call of the model, in order; none for a curated answer." }),
    tool_calls: z.array(toolCallSchema).meta({ description: "Each call of a tool, in order." }),
    duration_ms: ms("The time from the question to the answer."),
  })
  .openapi("Trace");

export type Trace = z.output<typeof traceSchema>;

/** The trace of an answer that is not stored as a message. */
export const traceFactsSchema = traceSchema.omit({
  message_id: true,
  conversation_id: true,
  agent_id: true,
  agent_version: true,
  created_at: true,
  changed_settings: true,
});

export type TraceFacts = z.output<typeof traceFactsSchema>;
