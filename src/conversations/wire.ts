import { attachmentIds, attachmentSchema, MAX_FILES, toAttachment } from "../attachments/wire.ts";
import type { CsvColumns } from "../platform/http/csv.ts";
import { z } from "@hono/zod-openapi";
import {
  AUTHOR_TYPES,
  CHANNELS,
  CONVERSATION_STATUSES,
  HANDOFF_REASONS,
  HANDOFF_STATUSES,
  MAX_TAG_LENGTH,
  MAX_TAGS,
  MESSAGE_ROLES,
  type MessageRole,
  PRIORITIES,
  RATINGS,
  RESOLVERS,
  TRANSCRIPT_ROLES,
} from "../platform/db/columns.ts";
import type { conversations, handoffs, messageFeedback, messages, notes, visitors } from "../platform/db/schema.ts";
import { agentRef, filledPersonName, filledText, integerQuery, timeQuery, timestamp, toRecord, uuid } from "../platform/http/fields.ts";
import { cursorPageOf, cursorQuery } from "../platform/http/page.ts";
import { addProblem, valueErrorParams } from "../platform/http/validation.ts";
import { type Citation, citationSchema } from "../knowledge/search-wire.ts";
import { DAY_MS } from "../platform/time.ts";
import { REDACTED } from "../redaction/fields.ts";
import { SETTABLE_STATUSES } from "./status.ts";
import { openingFields } from "../workspaces/business-hours-wire.ts";

/** A member of the team, with an id of the caller's choice. */
export const teamMemberSchema = z
  .object({
    id: z.string().min(1).max(128).meta({ description: "Your stable id for the member of the team.", example: "grace" }),
    name: filledPersonName().meta({ description: "The member's name.", example: "Grace Hopper" }),
  })
  .openapi("TeamMember");

export const visitorSchema = z
  .object({
    id: uuid(),
    anon_id: z.string().meta({
      description: "The id of the visitor in the workspace. For a user of the API, it is `api:` and your id.",
      example: "api:customer-4711",
    }),
    external_id: z.string().nullable().meta({
      description: "Your id for the person, from the API or a signed identity; null without one.",
      example: "customer-4711",
    }),
    name: z.string().nullable().meta({ description: "Their name, if known.", example: "Ann Lee" }),
    email: z.string().nullable().meta({ description: "Their email address, if known.", example: "ann@example.com" }),
    verified: z.boolean().meta({ description: "Whether the API or a signed identity confirms their identity." }),
  })
  .openapi("Visitor");

export const handoffSchema = z
  .object({
    id: uuid(),
    conversation_id: uuid(),
    reason: z.enum(HANDOFF_REASONS).meta({ description: "Why a human is needed." }),
    summary: z
      .string()
      .nullable()
      .meta({ description: "The visitor's request in a sentence.", example: "Wants a human for a refund that is two weeks late." }),
    trigger_message_id: uuid().nullable().meta({ description: "The message that caused the hand-off." }),
    status: z.enum(HANDOFF_STATUSES).meta({ description: "The status: `accepted` once a member of the team has taken the conversation." }),
    requested_at: timestamp().meta({ description: "When the hand-off was requested." }),
    accepted_at: timestamp().nullable().meta({ description: "When a member of the team took the conversation." }),
    resolved_at: timestamp().nullable().meta({ description: "When the hand-off was resolved." }),
    team_open: z.boolean().meta({ description: "Whether it was requested within the business hours.", example: true }),
    opens_at: timestamp()
      .nullable()
      .meta({ description: "When the team opens next, as seen when it was requested; null within the business hours.", example: null }),
  })
  .openapi("Handoff");

export const messageSchema = z
  .object({
    id: uuid(),
    conversation_id: uuid(),
    role: z.enum(TRANSCRIPT_ROLES).meta({
      description: "`user` is the visitor, `human` the team. A `note` is for the team only: visitors and models never see it.",
      example: "assistant",
    }),
    author: z
      .object({
        type: z.enum(AUTHOR_TYPES).meta({ description: "The kind of author." }),
        id: z.string().nullable().meta({ description: "The visitor, the agent or the member of the team; null if unknown." }),
        name: z.string().nullable().meta({ description: "Their name, if known." }),
      })
      .meta({ description: "The author of the message." }),
    content: z.string().meta({ description: "The text.", example: "Refunds are paid within five working days." }),
    citations: z.array(citationSchema).meta({ description: "The sources of an answer." }),
    attachments: z.array(attachmentSchema).meta({ description: `The files of the message, at most ${MAX_FILES}.` }),
    confidence: z
      .number()
      .nullable()
      .meta({ description: "How likely an answer is right, from 0 to 1; null for other messages.", example: 0.86 }),
    needs_human: z.boolean().meta({ description: "Whether the message hands the conversation to a human." }),
    agent_version: z.int().nullable().meta({
      description: "The version of the agent that answered, 0 for its draft; null for other messages.",
      example: 3,
    }),
    created_at: timestamp(),
  })
  .openapi("Message");

export const csatSchema = z
  .object({
    score: z.int().meta({ description: "The score from 1 to 5.", example: 5 }),
    comment: z.string().nullable().meta({ description: "The visitor's comment.", example: "Quick and clear." }),
  })
  .openapi("Csat");

export const feedbackInSchema = z
  .object({
    rating: z.enum(RATINGS).meta({ description: "Whether the answer helped." }),
    comment: z
      .string()
      .max(2000)
      .nullable()
      .optional()
      .meta({ ...REDACTED, description: "A comment on the rating." }),
  })
  .openapi("FeedbackIn", { example: { rating: "down", comment: "It does not say how long a refund takes." } });

export const feedbackSchema = z
  .object({
    id: uuid(),
    agent_id: uuid(),
    conversation_id: uuid(),
    message_id: uuid(),
    author: z.string().meta({ description: "`visitor`, or the id of the member or API key that rated.", example: "visitor" }),
    rating: z.enum(RATINGS).meta({ description: "Whether the answer helped." }),
    comment: z.string().nullable().meta({ description: "A comment on the rating.", example: "It does not say how long a refund takes." }),
    created_at: timestamp(),
    updated_at: timestamp(),
  })
  .openapi("Feedback");

export const feedbackPageSchema = cursorPageOf(feedbackSchema, "FeedbackPage");

export const feedbackQuery = cursorQuery.extend({
  agent_id: agentRef().optional(),
  rating: z.enum(RATINGS).optional().meta({ description: "Only these ratings.", example: "down" }),
  since: timeQuery().optional().meta({ description: "Only ratings first given at or after this time." }),
});

export const conversationSchema = z
  .object({
    id: uuid(),
    agent_id: uuid(),
    channel: z.enum(CHANNELS).meta({ description: "The channel on which the visitor writes." }),
    status: z.enum(CONVERSATION_STATUSES).meta({
      description:
        "`open` before the first answer, `ai_handled` after an answer, `needs_human` while it waits for the team, `human_active` while the team handles it, or `resolved`.",
    }),
    subject: z
      .string()
      .nullable()
      .meta({ description: "The beginning of the first message, or the subject of a mail.", example: "How long do refunds take?" }),
    tags: z.array(z.string()).meta({ description: "Your team's tags.", example: ["refund"] }),
    assignee: teamMemberSchema.nullable().meta({ description: "The member of the team to whom it is assigned." }),
    team_id: uuid().nullable().meta({ description: "The team that has it; null without one." }),
    priority: z.enum(PRIORITIES).meta({ description: "How urgent it is, as your team or a routing rule has set it.", example: "normal" }),
    visitor: visitorSchema.nullable().meta({ description: "The visitor; null after their erasure." }),
    message_count: z.int().meta({ description: "The number of its messages, without notes.", example: 2 }),
    unread_count: z.int().meta({
      description:
        "How many messages of the visitor the team has not read. Messages count from the one that caused the hand-off. A reply or a new status marks them as read.",
      example: 0,
    }),
    snoozed_until: timestamp().nullable().meta({
      description: "Until when it is hidden from the lists of waiting conversations. A time in the past has no effect.",
      example: null,
    }),
    last_message_preview: z
      .string()
      .nullable()
      .meta({ description: "The beginning of the latest message.", example: "Refunds are paid within five working days." }),
    last_message_at: timestamp().meta({ description: "The time of the latest message." }),
    handoff: handoffSchema.nullable().meta({ description: "The latest hand-off to a human." }),
    csat: csatSchema.nullable().meta({ description: "The visitor's rating; null without one." }),
    resolved_at: timestamp().nullable().meta({ description: "When the conversation was resolved; null if it is not resolved." }),
    resolved_by: z
      .enum(RESOLVERS)
      .nullable()
      .meta({ description: "Who resolved the conversation. `auto` means that it was resolved because it was idle." }),
    first_human_reply_at: timestamp().nullable().meta({ description: "When a member of the team first replied." }),
    reopened_count: z.int().meta({ description: "How often the visitor wrote again after it was resolved." }),
    created_at: timestamp(),
    updated_at: timestamp(),
  })
  .openapi("Conversation");

export const matchSchema = z
  .object({
    message_id: uuid()
      .nullable()
      .meta({ description: "The latest message or note that matches; null if only the subject or the visitor matches." }),
    snippet: z
      .array(
        z.object({
          text: z.string().meta({ description: "Plain text, as it was written." }),
          is_match: z.boolean().meta({ description: "Whether this part matches the search." }),
        }),
      )
      .meta({
        description: "The text around the match, in parts that are to be joined.",
        example: [
          { text: "Where is my ", is_match: false },
          { text: "refund", is_match: true },
        ],
      }),
  })
  .openapi("ConversationMatch");

export const listedConversationSchema = conversationSchema
  .extend({
    last_message_role: z.enum(MESSAGE_ROLES).nullable().meta({
      description: "Who wrote the latest message: `user` is the visitor, `assistant` the agent, `human` the team and `system` the service.",
      example: "assistant",
    }),
    question_preview: z.string().nullable().meta({
      description: "The beginning of the visitor's last message while the status is `needs_human`; otherwise null.",
      example: null,
    }),
    match: matchSchema.nullable().meta({ description: "The text that matches `q`; null without a search." }),
  })
  .openapi("ListedConversation");

export const conversationPageSchema = cursorPageOf(listedConversationSchema, "ConversationPage");

export const conversationQuery = cursorQuery
  .extend({
    agent_id: agentRef().optional(),
    status: z.enum(CONVERSATION_STATUSES).optional().meta({ description: "Only conversations with this status.", example: "needs_human" }),
    channel: z.enum(CHANNELS).optional().meta({ description: "Only conversations of this channel." }),
    updated_since: timeQuery().optional().meta({ description: "Only conversations with activity at or after this time." }),
    q: z.string().max(200).optional().meta({
      description:
        "Only conversations with a message or note that contains all these words or beginnings of words, or whose subject and visitor contain them. Case and accents do not matter. Text in quotation marks must match word for word.",
      example: "refund late",
    }),
    assignee_id: z
      .string()
      .min(1)
      .max(128)
      .optional()
      .meta({ description: "Only conversations that are assigned to this member of the team.", example: "grace" }),
    with_team: z.enum(["true"]).optional().meta({
      description: "Only conversations that wait for the team or that it handles. It cannot be combined with `q` or `status`.",
      example: undefined,
    }),
    unassigned: z.enum(["true"]).optional().meta({
      description:
        "Only conversations that wait for the team or that it handles, and that are assigned to nobody. It cannot be combined with `q` or `assignee_id`.",
      example: undefined,
    }),
    team_id: uuid()
      .optional()
      .meta({ description: "Only conversations of this team. It cannot be combined with `q`.", example: undefined }),
    priority: z.enum(PRIORITIES).optional().meta({
      description: "Only conversations with this priority. It cannot be combined with `q`.",
      example: undefined,
    }),
    unread: z
      .enum(["true"])
      .optional()
      .meta({ description: "Only conversations with unread messages. The `total` is then the number of unread conversations." }),
    snoozed: z.enum(["true", "false"]).optional().meta({
      description: "`false` leaves conversations out while they are snoozed, and `true` lists only those. It cannot be combined with `q`.",
      example: undefined,
    }),
    // It has no example: samples send all parameters that have one, and `q` does.
    visitor_id: uuid()
      .optional()
      .meta({ description: "Only conversations of this visitor. It cannot be combined with `q`.", example: undefined }),
    order: z
      .enum(["newest", "oldest"])
      .default("newest")
      .meta({ description: "Whether the list begins with the newest or the oldest activity. `oldest` cannot be combined with `q`." }),
  })
  .superRefine(({ q, order, ...query }, ctx) => {
    if (query.with_team && query.status !== undefined) addProblem(ctx, "send either with_team or status", "with_team");
    if (query.unassigned && query.assignee_id !== undefined) addProblem(ctx, "send either unassigned or assignee_id", "unassigned");
    if (!q) return;
    for (const name of ["with_team", "unassigned", "team_id", "priority", "visitor_id", "snoozed"] as const) {
      if (query[name] !== undefined) addProblem(ctx, `send either q or ${name}`, name);
    }
    if (order !== "newest") addProblem(ctx, "a search has its newest activity first", "order");
  });

export const MAX_SNOOZE_DAYS = 366;

export const tag = () => z.string().max(MAX_TAG_LENGTH);

/** An optional time in the near future, turned into milliseconds; null ends a snooze. */
export const snoozeTime = (description: string) =>
  timeQuery()
    .refine((atMs) => atMs > Date.now() && atMs <= Date.now() + MAX_SNOOZE_DAYS * DAY_MS, {
      ...valueErrorParams(`choose a time within the next ${MAX_SNOOZE_DAYS} days`),
    })
    .nullable()
    .optional()
    .meta({ type: ["string", "null"], format: "date-time", description });

export const conversationUpdateSchema = z
  .object({
    status: z
      .enum(SETTABLE_STATUSES)
      .nullable()
      .optional()
      .meta({ description: "The new status. `open` gives the conversation back to the agent." }),
    tags: z.array(tag()).max(MAX_TAGS).nullable().optional().meta({ description: "Replaces the tags; null leaves them unchanged." }),
    assignee: teamMemberSchema.nullable().optional().meta({ description: "The member of the team to assign it to; null unassigns it." }),
    team_id: uuid()
      .nullable()
      .optional()
      .meta({ description: "The team that gets it; null for none. The assignee stays unless you send one, or `assign`." }),
    priority: z.enum(PRIORITIES).nullable().optional().meta({ description: "The new priority; null leaves it unchanged." }),
    assign: z.enum(["round_robin"]).nullable().optional().meta({
      description:
        "Takes it from its assignee and gives it to a free member of its team, to somebody else if possible. While nobody is free, it waits in the team. The status must be, or become, `needs_human` or `human_active`.",
    }),
    snoozed_until: snoozeTime(
      `Hides it from the lists of waiting conversations until this time, at most ${MAX_SNOOZE_DAYS} days ahead, or until the visitor writes or it is resolved. null ends that. This does not count as activity.`,
    ),
    read: z.boolean().nullable().optional().meta({
      description:
        "Whether the team has read it: true sets unread_count to 0, false sets it to at least 1. This does not count as activity.",
    }),
  })
  .refine(({ assign, assignee }) => !assign || assignee === undefined, {
    ...valueErrorParams("send either assign or assignee"),
    path: ["assign"],
  })
  .openapi("ConversationUpdate", {
    example: { status: "resolved", tags: ["refund", "vip"], assignee: { id: "grace", name: "Grace Hopper" } },
  });

const author = () =>
  teamMemberSchema
    .nullable()
    .optional()
    .meta({ description: "The member of the team who writes. Visitors see the name. Ignored if a member is signed in." });

export const replyInSchema = z
  .object({
    content: filledText(8000).meta({ ...REDACTED, description: "The text that the visitor reads." }),
    resolve: z.boolean().default(false).meta({ description: "Whether the reply resolves the conversation." }),
    author: author(),
    attachments: attachmentIds(),
  })
  .openapi("ReplyIn", { example: { content: "Your refund went out this morning. You will have it by Friday.", resolve: true } });

export const noteInSchema = z
  .object({
    content: filledText(8000).meta({ ...REDACTED, description: "The text that your team reads." }),
    author: teamMemberSchema.nullable().optional().meta({ description: "The member of the team who writes." }),
  })
  .openapi("NoteIn", {
    example: { content: "Called the bank: the refund arrives tomorrow.", author: { id: "grace", name: "Grace Hopper" } },
  });

export const replySchema = messageSchema
  .extend({
    conversation_status: z.enum(CONVERSATION_STATUSES).meta({ description: "The status of the conversation after the reply." }),
  })
  .openapi("Reply");

/** How many messages are returned with their conversation. */
export const LATEST_MESSAGES = 100;

export const transcriptSchema = conversationSchema
  .extend({
    messages: z
      .array(messageSchema)
      .meta({ description: `The latest ${LATEST_MESSAGES} messages, oldest first, with the team's notes between them.` }),
    has_more_messages: z.boolean().meta({ description: "Whether there are earlier messages: see `GET …/messages`." }),
    ...openingFields,
  })
  .openapi("ConversationWithMessages");

export const messagePageSchema = cursorPageOf(messageSchema, "MessagePage");

/** The longest time that a request may wait for a message. Proxies close connections that are idle for half a minute. */
const MAX_WAIT_SECONDS = 25;

export const messageQuery = cursorQuery
  .omit({ offset: true })
  .extend({
    after: uuid().optional().meta({
      description: "The latest message that you have. The list then has the messages after it.",
      example: undefined,
    }),
    wait: integerQuery({ min: 0, max: MAX_WAIT_SECONDS, default: 0 }).meta({
      description: "With after: how many seconds to wait if there is no message yet.",
    }),
  })
  .superRefine(({ after, wait }, ctx) => {
    if (after === undefined && wait > 0) {
      ctx.addIssue({
        code: "custom",
        path: ["after"],
        ...valueErrorParams("send the latest message that you have, so that the request can wait for the next one"),
      });
    }
  });

export type ConversationRecord = z.infer<typeof conversationSchema>;
export type ConversationRow = typeof conversations.$inferSelect;
/** A conversation in a list. */
export type ListedRow = { record: ConversationRecord; lastMessageRole: MessageRole | null; questionPreview: string | null };
export type VisitorRow = typeof visitors.$inferSelect;
/** A message, or a note in the form of a message. */
type TranscriptRow = Omit<typeof messages.$inferSelect, "role"> & { role: (typeof TRANSCRIPT_ROLES)[number] };

/** Returns the wire record of a visitor. */
export function toVisitor(row: VisitorRow): z.infer<typeof visitorSchema> {
  return toRecord(visitorSchema, row, {});
}

/** Returns the wire record of a hand-off. */
export function toHandoff(row: typeof handoffs.$inferSelect): z.infer<typeof handoffSchema> {
  return toRecord(handoffSchema, row, { team_open: row.opensAt === null });
}

/** Returns the wire record of a rating of an answer. */
export function toFeedback(row: typeof messageFeedback.$inferSelect): z.infer<typeof feedbackSchema> {
  return toRecord(feedbackSchema, row, {});
}

/** Returns the wire record of a message or a note. */
export function toMessage(row: TranscriptRow): z.infer<typeof messageSchema> {
  return toRecord(messageSchema, row, {
    author: { type: row.authorType, id: row.authorId, name: row.authorName },
    citations: row.citations as Citation[],
    attachments: row.attachments.map(toAttachment),
  });
}

/** Returns the wire record of a note. */
export function toNote(row: typeof notes.$inferSelect): z.infer<typeof messageSchema> {
  const empty = { citations: [], attachments: [], confidence: null, needsHuman: false, quotaPeriod: null, agentVersion: null };
  return toMessage({ ...row, role: "note", authorType: "member", ...empty });
}

/** A conversation as a row of CSV. */
export const conversationColumns: CsvColumns<z.infer<typeof conversationSchema>> = {
  id: ({ id }) => id,
  created_at: ({ created_at: createdAt }) => createdAt,
  last_message_at: ({ last_message_at: lastMessageAt }) => lastMessageAt,
  status: ({ status }) => status,
  channel: ({ channel }) => channel,
  visitor_name: ({ visitor }) => visitor?.name ?? null,
  visitor_email: ({ visitor }) => visitor?.email ?? null,
  subject: ({ subject }) => subject,
  tags: ({ tags }) => tags.join(", "),
  assignee: ({ assignee }) => assignee?.name ?? null,
  team_id: ({ team_id: teamId }) => teamId,
  priority: ({ priority }) => priority,
  message_count: ({ message_count: count }) => count,
  handoff_reason: ({ handoff }) => handoff?.reason ?? null,
  csat_score: ({ csat }) => csat?.score ?? null,
  resolved_at: ({ resolved_at: resolvedAt }) => resolvedAt,
  agent_id: ({ agent_id: agentId }) => agentId,
};
