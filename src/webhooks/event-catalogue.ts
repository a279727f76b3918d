import type { z } from "@hono/zod-openapi";
import { type ConversationRow, type HandoffRow, toConversation, toHandoff, toMessage, type VisitorRow } from "../conversations/wire.ts";
import { API_VERSION, EVENT_TYPES, type EventType } from "../events/event-types.ts";
import { toSource } from "../knowledge/wire.ts";
import type { LeadRow } from "../leads/leads.ts";
import { toLead } from "../leads/wire.ts";
import type { messages, sources } from "../platform/db/schema.ts";
import { toTimestamp } from "../platform/http/fields.ts";
import type { eventSchema, webhookListSchema } from "./wire.ts";

/*
 * The event catalogue of `GET /webhooks`. To add an event type: name it in events/event-types.ts, describe it and give an
 * example here (the types demand both), and append it with `appendEvent` in the batch that causes it.
 */

const DESCRIPTIONS: Record<EventType, string> = {
  "conversation.created": "A visitor began a conversation. data is the conversation, before the agent has answered.",
  "conversation.resolved": "A conversation was resolved: by the team, over the API or because it was idle. data is the conversation.",
  "message.ai_replied": "An agent answered. data is its message, with citations and confidence.",
  "message.human_replied": "Someone of the team replied. data is the message.",
  "handoff.created": "A conversation needs a human. data is the hand-off, with its reason.",
  "lead.created": "A visitor left contact details. data is the lead.",
  "source.synced": "A knowledge source was read and is in use. data is the source.",
  "source.failed": "Reading a knowledge source failed; what was read before stays in use. data is the source, with its error.",
};

/** The times of the examples. */
const AT_MS = Date.UTC(2026, 0, 31, 12);
const LATER_MS = AT_MS + 90_000;
/** An id of the examples. */
const idOf = (end: string) => `019c1423-e000-7d42-8a55-6f1d2e3c${end}00`;

const WORKSPACE_ID = idOf("a0");
const AGENT_ID = idOf("a1");
const CONVERSATION_ID = idOf("c0");
const QUESTION_ID = idOf("b0");

const visitor: VisitorRow = {
  id: idOf("f0"),
  workspaceId: WORKSPACE_ID,
  anonId: "api:u-1",
  externalId: "u-1",
  name: "Ada",
  email: "ada@example.com",
  emailKey: "ada@example.com",
  verified: true,
  mergedInto: null,
  createdAt: AT_MS,
  updatedAt: AT_MS,
};

const handoff: HandoffRow = {
  id: idOf("d0"),
  workspaceId: WORKSPACE_ID,
  agentId: AGENT_ID,
  conversationId: CONVERSATION_ID,
  reason: "missing_knowledge",
  summary: "Do you ship to Iceland?",
  triggerMessageId: QUESTION_ID,
  questionKey: null,
  status: "pending",
  requestedAt: LATER_MS,
  acceptedAt: null,
  resolvedAt: null,
};

const created: ConversationRow = {
  id: CONVERSATION_ID,
  workspaceId: WORKSPACE_ID,
  agentId: AGENT_ID,
  channel: "api",
  status: "open",
  subject: null,
  tags: [],
  visitorId: visitor.id,
  begunBy: null,
  messageCount: 1,
  lastMessagePreview: "When are refunds paid?",
  lastMessageAt: AT_MS,
  idleAt: null,
  csatScore: null,
  csatComment: null,
  resolvedAt: null,
  resolvedBy: null,
  firstHumanReplyAt: null,
  reopenedCount: 0,
  contextAfter: null,
  firstAiReplyAt: null,
  aiResolvedAt: null,
  createdAt: AT_MS,
  updatedAt: AT_MS,
};

const resolved: ConversationRow = {
  ...created,
  status: "resolved",
  tags: ["refunds"],
  messageCount: 2,
  lastMessagePreview: "Refunds are paid within five working days.",
  lastMessageAt: LATER_MS,
  resolvedAt: LATER_MS,
  resolvedBy: "api",
  updatedAt: LATER_MS,
};

const aiReply: typeof messages.$inferSelect = {
  id: idOf("b1"),
  workspaceId: WORKSPACE_ID,
  conversationId: CONVERSATION_ID,
  role: "assistant",
  authorType: "agent",
  authorId: AGENT_ID,
  authorName: "Support",
  content: "Refunds are paid within five working days.",
  citations: [
    {
      title: "Refunds",
      url: "https://www.example.com/refunds",
      source_id: idOf("e0"),
      type: "page",
      snippet: "Refunds are paid…",
      score: 0.92,
    },
  ],
  confidence: 0.92,
  needsHuman: false,
  quotaPeriod: null,
  createdAt: LATER_MS,
};

const humanReply: typeof messages.$inferSelect = {
  ...aiReply,
  id: idOf("b2"),
  role: "human",
  authorType: "member",
  authorId: null,
  authorName: null,
  content: "We do, twice a week.",
  citations: [],
  confidence: null,
};

const lead: LeadRow = {
  id: idOf("90"),
  workspaceId: WORKSPACE_ID,
  agentId: AGENT_ID,
  conversationId: CONVERSATION_ID,
  visitorId: visitor.id,
  name: "Ada",
  email: "ada@example.com",
  emailKey: "ada@example.com",
  phone: "+43 1 2345678",
  message: "Please call me back.",
  customFields: { company: "Acme" },
  sourceUrl: "https://www.example.com/contact",
  indexedAt: null,
  createdAt: LATER_MS,
};

const synced: typeof sources.$inferSelect = {
  id: idOf("e0"),
  workspaceId: WORKSPACE_ID,
  agentId: AGENT_ID,
  type: "website",
  name: "Help centre",
  url: "https://www.example.com/help",
  status: "ready",
  schedule: "weekly",
  maxPages: 100,
  pagesFound: 42,
  pagesIndexed: 41,
  pagesFailed: 1,
  pagesSkipped: 0,
  chunksCount: 230,
  errorCode: null,
  errorMessage: null,
  lastSyncedAt: LATER_MS,
  syncNumber: 0,
  nextSyncAt: LATER_MS + 7 * 24 * 60 * 60 * 1000,
  leaseUntil: null,
  leaseId: null,
  createdAt: AT_MS,
  updatedAt: LATER_MS,
};

const failed: typeof sources.$inferSelect = {
  ...synced,
  status: "failed",
  errorCode: "ingestion_failed",
  errorMessage: "Reading this source failed several times. Sync it again; what was read before stays in use.",
};

/** The `data` of each event type: a record as the API shows it. */
const EXAMPLES: Record<EventType, () => z.infer<typeof eventSchema>["data"]> = {
  "conversation.created": () => toConversation(created, visitor, undefined),
  "conversation.resolved": () => toConversation(resolved, visitor, undefined),
  "message.ai_replied": () => toMessage(aiReply),
  "message.human_replied": () => toMessage(humanReply),
  "handoff.created": () => toHandoff(handoff),
  "lead.created": () => toLead(lead),
  "source.synced": () => toSource(synced),
  "source.failed": () => toSource(failed),
};

/** Every event type with a description and an example body. */
export function eventCatalogue(): z.infer<typeof webhookListSchema>["event_types"] {
  return EVENT_TYPES.map((type) => ({
    type,
    description: DESCRIPTIONS[type],
    example: {
      id: idOf("10"),
      type,
      created_at: toTimestamp(type === "conversation.created" ? AT_MS : LATER_MS),
      api_version: API_VERSION,
      workspace_id: WORKSPACE_ID,
      data: EXAMPLES[type](),
    },
  }));
}
