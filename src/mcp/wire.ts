import { z } from "@hono/zod-openapi";
import { agentSchema } from "../agents/wire.ts";
import { overviewSchema } from "../analytics/wire.ts";
import { chatAnswerSchema, chatFields } from "../chat/wire.ts";
import { approvalQuery, approvalSchema, approveInSchema, declineInSchema } from "../conversations/approval-wire.ts";
import {
  conversationQuery,
  conversationSchema,
  conversationUpdateSchema,
  listedConversationSchema,
  messageSchema,
  replyInSchema,
  replySchema,
} from "../conversations/wire.ts";
import { savedReplySchema } from "../conversations/saved-reply-wire.ts";
import { answerCreateSchema, answerSchema, searchSchema, sourceSchema } from "../knowledge/wire.ts";
import { leadQuery, leadSchema } from "../leads/wire.ts";
import { agentRef, uuid } from "../platform/http/fields.ts";
import { businessHoursSchema } from "../workspaces/business-hours-wire.ts";

/** How many records a page holds. Few, since a model reads all of them. */
export const PAGE_SIZE = 20;

const agentId = () =>
  agentRef().optional().meta({
    description: "The agent, by the id or slug of list_agents. Leave it out where the workspace has one agent.",
  });
const ofAgent = () => agentRef().optional().meta({ description: "Only those of this agent." });
const conversationId = () => uuid().meta({ description: "The conversation." });
const cursor = () => z.string().max(200).optional().meta({ description: "The next_cursor of the page before, unchanged." });
const idempotencyKey = () =>
  z.string().min(1).max(255).optional().meta({
    description: "A text of your choice. The same call with the same text is done once within 24 hours: send it when you repeat a call.",
  });
const nextCursor = () => z.string().nullable().meta({ description: "Send it as cursor to get the next page; null on the last page." });

function pageOf<Item extends z.ZodType>(item: Item) {
  const total = z.int().meta({ description: "How many there are on all pages." });
  return z.object({ data: z.array(item), total, next_cursor: nextCursor() });
}

/** The arguments of each tool. */
export const inputs = {
  search: searchSchema.extend({
    limit: z.int().gte(1).lte(PAGE_SIZE).default(10).meta({ description: "How many passages to return at most." }),
    agent_id: agentId(),
  }),
  fetch: z.object({ id: z.string().max(2_100).meta({ description: "The id of a search result." }), cursor: cursor() }),
  // A model has no files to upload.
  ask_agent: chatFields.omit({ attachments: true }).extend({ agent_id: agentId(), idempotency_key: idempotencyKey() }),
  list_agents: z.object({ cursor: cursor() }),
  list_conversations: z
    .object(conversationQuery.shape)
    .pick({ q: true, status: true, channel: true, updated_since: true, assignee_id: true })
    .extend({
      agent_id: ofAgent(),
      unread: z.boolean().optional().meta({ description: "True: only those with messages that wait for the team to read them." }),
      cursor: cursor(),
    }),
  get_conversation: z.object({ conversation_id: conversationId(), cursor: cursor() }),
  reply_to_conversation: replyInSchema
    .omit({ attachments: true })
    .extend({ conversation_id: conversationId(), idempotency_key: idempotencyKey() }),
  update_conversation: conversationUpdateSchema.extend({ conversation_id: conversationId() }),
  list_saved_replies: z.object({
    conversation_id: uuid().optional().meta({ description: "The conversation whose values replace the variables." }),
    cursor: cursor(),
  }),
  get_business_hours: z.object({}),
  list_approvals: z.object(approvalQuery.shape).pick({ status: true, conversation_id: true }).extend({ cursor: cursor() }),
  decide_approval: z.object({
    approval_id: uuid().meta({ description: "The call, by the id of list_approvals." }),
    decision: z.enum(["approve", "decline"]).meta({ description: "Whether the call is made." }),
    arguments: approveInSchema.shape.arguments,
    reason: declineInSchema.shape.reason.optional().meta({ description: "Why it is declined, which the support agent reads." }),
    author: approveInSchema.shape.author,
  }),
  list_leads: z.object(leadQuery.shape).pick({ q: true, created_since: true }).extend({ agent_id: ofAgent(), cursor: cursor() }),
  get_analytics: z.object({
    days: z.int().gte(1).lte(365).default(30).meta({ description: "The number of days, including today." }),
    agent_id: ofAgent(),
  }),
  list_sources: z.object({ agent_id: agentId(), cursor: cursor() }),
  add_answer: answerCreateSchema.extend({ agent_id: agentId(), idempotency_key: idempotencyKey() }),
  sync_source: z.object({
    source_id: uuid().meta({ description: "The source, by the id of list_sources." }),
    agent_id: agentId(),
    idempotency_key: idempotencyKey(),
  }),
};

const kind = () => z.enum(["page", "text", "answer"]).meta({ description: "A page of a website, a text, or a curated answer." });
/** Always a string, never null: ChatGPT requires one in the results of search and fetch. */
const url = () => z.string().meta({ description: "The address of the document; empty for a text or a curated answer." });

/** A search result in the form that ChatGPT's connectors require. */
const resultSchema = z.object({
  id: z.string().meta({ description: "Give it to fetch to read the whole document." }),
  title: z.string(),
  url: url(),
  text: z.string().meta({ description: "The passage that was found." }),
  type: kind(),
  score: z.number().meta({ description: "0 to 1: how well it fits." }),
});

/** The result of each tool. */
export const outputs = {
  search: z.object({ results: z.array(resultSchema).meta({ description: "Best first." }) }),
  fetch: z.object({
    id: z.string(),
    title: z.string(),
    text: z.string().meta({ description: "The text of the document, or the part of it that fits on a page." }),
    url: url(),
    metadata: z.object({ type: kind(), agent_id: z.string(), source_id: z.string() }),
    next_cursor: nextCursor(),
  }),
  ask_agent: chatAnswerSchema,
  list_agents: pageOf(agentSchema),
  list_conversations: pageOf(listedConversationSchema),
  get_conversation: conversationSchema.extend({
    messages: z.array(messageSchema).meta({ description: "The latest first page; each page is oldest first." }),
    next_cursor: nextCursor(),
  }),
  reply_to_conversation: replySchema,
  update_conversation: conversationSchema,
  list_saved_replies: pageOf(savedReplySchema),
  get_business_hours: businessHoursSchema,
  list_approvals: pageOf(approvalSchema),
  decide_approval: approvalSchema,
  list_leads: pageOf(leadSchema),
  get_analytics: overviewSchema,
  list_sources: pageOf(sourceSchema),
  add_answer: answerSchema,
  sync_source: sourceSchema,
} satisfies Record<keyof typeof inputs, z.ZodObject>;

/** Converts a schema to JSON Schema 2020-12, with the descriptions of the OpenAPI document. Unknown arguments are not allowed. */
export function toJsonSchema(schema: z.ZodObject, io: "input" | "output"): Record<string, unknown> {
  const json = z.toJSONSchema(schema, {
    io,
    // Fields with a check of our own are described by their metadata.
    unrepresentable: "any",
    override: ({ jsonSchema }) => {
      // Examples are only for the OpenAPI document.
      delete jsonSchema["example"];
      // Results may get further fields in later versions.
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      // The format says the same as the pattern, and each character costs tokens.
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
    },
  });
  return io === "input" ? { ...json, additionalProperties: false } : json;
}
