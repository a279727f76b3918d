import type { z } from "@hono/zod-openapi";
import type { approvalSchema } from "../conversations/approval-wire.ts";
import type { conversationSchema, messageSchema } from "../conversations/wire.ts";
import { API_VERSION, EVENT_TYPES, type EventType } from "../events/event-types.ts";
import type { sourceSchema } from "../knowledge/wire.ts";
import type { eventSchema, webhookListSchema } from "./wire.ts";

/*
 * The event catalogue of `GET /webhooks`. To add an event type: name it in events/event-types.ts, describe it and give an
 * example in EVENTS (its type demands both), and append it with `appendEvent` in the batch that causes it.
 */

const CREATED_AT = "2026-01-31T12:00:00.000Z";
const UPDATED_AT = "2026-01-31T12:01:30.000Z";

/** An id of the examples. */
const idOf = (end: string) => `019c1423-e000-7d42-8a55-6f1d2e3c${end}00`;

const AGENT_ID = idOf("a1");
const CONVERSATION_ID = idOf("c0");
const VISITOR_ID = idOf("f0");
const SOURCE_ID = idOf("e0");

const conversation: z.infer<typeof conversationSchema> = {
  id: CONVERSATION_ID,
  agent_id: AGENT_ID,
  channel: "api",
  status: "open",
  subject: null,
  tags: [],
  assignee: null,
  team_id: null,
  priority: "normal",
  visitor: { id: VISITOR_ID, anon_id: "api:u-1", external_id: "u-1", name: "Ada", email: "ada@example.com", verified: true },
  message_count: 1,
  unread_count: 0,
  snoozed_until: null,
  last_message_preview: "When are refunds paid?",
  last_message_at: CREATED_AT,
  handoff: null,
  csat: null,
  resolved_at: null,
  resolved_by: null,
  first_human_reply_at: null,
  reopened_count: 0,
  created_at: CREATED_AT,
  updated_at: CREATED_AT,
};

const aiReply: z.infer<typeof messageSchema> = {
  id: idOf("b1"),
  conversation_id: CONVERSATION_ID,
  role: "assistant",
  author: { type: "agent", id: AGENT_ID, name: "Support" },
  content: "Refunds are paid within five working days.",
  citations: [
    {
      title: "Refunds",
      url: "https://www.example.com/refunds",
      source_id: SOURCE_ID,
      type: "page",
      snippet: "Refunds are paid…",
      score: 0.92,
    },
  ],
  attachments: [],
  confidence: 0.92,
  needs_human: false,
  agent_version: 1,
  created_at: UPDATED_AT,
};

const source: z.infer<typeof sourceSchema> = {
  id: SOURCE_ID,
  agent_id: AGENT_ID,
  type: "website",
  name: "Help centre",
  url: "https://www.example.com/help",
  key: null,
  metadata: { product: "billing" },
  status: "ready",
  schedule: "weekly",
  max_pages: 100,
  pages_found: 42,
  pages_indexed: 41,
  pages_failed: 1,
  pages_skipped: 0,
  chunks_count: 230,
  error: null,
  last_synced_at: UPDATED_AT,
  next_sync_at: "2026-02-07T12:01:30.000Z",
  created_at: CREATED_AT,
  updated_at: UPDATED_AT,
};

const approval: z.infer<typeof approvalSchema> = {
  id: idOf("70"),
  agent_id: AGENT_ID,
  conversation_id: CONVERSATION_ID,
  message_id: idOf("b1"),
  tool: "refund_order",
  arguments: { order: "4711", amount: 48 },
  status: "pending",
  reason: null,
  decided_by: null,
  outcome: null,
  requested_at: CREATED_AT,
  decided_at: null,
  expires_at: "2026-02-01T12:00:00.000Z",
};

type SentEvent = z.infer<typeof eventSchema>;

/** What each event type means, and an example of its `data`. */
const EVENTS: { [Type in EventType]: { description: string; data: Extract<SentEvent, { type: Type }>["data"] } } = {
  "conversation.created": {
    description: "A visitor, or your team, started a conversation. data is the conversation, before it is answered.",
    data: conversation,
  },
  "conversation.resolved": {
    description:
      "A conversation was resolved: by the team, over the API or because it was idle. It is sent again only after somebody has written in the conversation. data is the conversation.",
    data: {
      ...conversation,
      status: "resolved",
      tags: ["refunds"],
      message_count: 2,
      last_message_preview: aiReply.content,
      last_message_at: UPDATED_AT,
      resolved_at: UPDATED_AT,
      resolved_by: "api",
      updated_at: UPDATED_AT,
    },
  },
  "message.ai_replied": { description: "An agent answered. data is its message, with citations and confidence.", data: aiReply },
  "message.human_replied": {
    description: "Someone on the team replied. data is the message.",
    data: {
      ...aiReply,
      id: idOf("b2"),
      role: "human",
      author: { type: "member", id: null, name: null },
      content: "We do, twice a week.",
      citations: [],
      confidence: null,
    },
  },
  "handoff.created": {
    description: "A conversation needs a human. data is the hand-off, with its reason.",
    data: {
      id: idOf("d0"),
      conversation_id: CONVERSATION_ID,
      reason: "missing_knowledge",
      summary: "Do you ship to Iceland?",
      trigger_message_id: idOf("b0"),
      status: "pending",
      requested_at: UPDATED_AT,
      accepted_at: null,
      resolved_at: null,
      team_open: true,
      opens_at: null,
    },
  },
  "tool_call.approval_requested": {
    description: "An agent asks your team to approve a tool call. data is the call, which can be approved or declined within a day.",
    data: approval,
  },
  "tool_call.decided": {
    description: "A tool call was approved or declined, or nobody decided within a day. data is the call, before it is made.",
    data: { ...approval, status: "approved", decided_by: { id: "grace", name: "Grace Hopper" }, decided_at: UPDATED_AT },
  },
  "lead.created": {
    description: "A visitor left contact details. data is the lead.",
    data: {
      id: idOf("90"),
      agent_id: AGENT_ID,
      conversation_id: CONVERSATION_ID,
      visitor_id: VISITOR_ID,
      name: "Ada",
      email: "ada@example.com",
      phone: "+43 1 2345678",
      message: "Please call me back.",
      custom_fields: { company: "Acme" },
      source_url: "https://www.example.com/contact",
      created_at: UPDATED_AT,
    },
  },
  "source.synced": { description: "A knowledge source was read and is in use. data is the source.", data: source },
  "source.failed": {
    description: "Reading a knowledge source failed; what was read before stays in use. data is the source, with its error.",
    data: {
      ...source,
      status: "failed",
      error: {
        code: "ingestion_failed",
        message: "Reading this source failed several times. Sync it again; what was read before stays in use.",
      },
    },
  },
};

/** Every event type with its description and an example body. */
export function eventCatalogue(): z.infer<typeof webhookListSchema>["event_types"] {
  return EVENT_TYPES.map((type) => {
    const { description, data } = EVENTS[type];
    const created_at = type === "conversation.created" ? CREATED_AT : UPDATED_AT;
    const example = { id: idOf("10"), type, created_at, api_version: API_VERSION, workspace_id: idOf("a0"), data } as SentEvent;
    return { type, description, example };
  });
}
