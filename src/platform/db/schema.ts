import { sql } from "drizzle-orm";
import { index, integer, primaryKey, real, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import {
  AGENT_STATUSES,
  AUTHOR_TYPES,
  CHANNELS,
  CONVERSATION_STATUSES,
  DELIVERY_STATUSES,
  DELIVERY_TRIGGERS,
  HANDOFF_REASONS,
  HANDOFF_STATUSES,
  MESSAGE_ROLES,
  PLAN_NAMES,
  RESOLVERS,
  type Retention,
  SCHEDULES,
  SOURCE_STATUSES,
  SOURCE_TYPES,
  type StoredTool,
} from "./columns.ts";

/*
 * All tables. The rules they share:
 * - identifiers are UUIDv7 text whose last byte is the workspace's shard; times are integer milliseconds, UTC;
 * - a table that belongs to a workspace has its id, and an index that begins with it for each of its lists;
 * - there are no foreign keys: a workspace is erased table by table, in bounded steps, and ids are checked in the
 *   statement that writes;
 * - `*_count` columns and `usage_periods` are kept by the triggers of migrations/0001_counters.sql and 0003_webhooks.sql, so
 *   a row written twice (a resumed turn, a repeated wake-up) is counted once.
 */

const id = () => text("id").primaryKey();
const workspaceId = () => text("workspace_id").notNull();
const createdAt = () => integer("created_at").notNull();
const updatedAt = () => integer("updated_at").notNull();
const flag = (name: string) => integer(name, { mode: "boolean" }).notNull();
const list = (name: string) =>
  text(name, { mode: "json" })
    .$type<string[]>()
    .notNull()
    .default(sql`'[]'`);
const count = (name: string) => integer(name).notNull().default(0);

// --- Across workspaces: these live in shard 0 alone -----------------------------------------------------------------

/** How full each shard is. */
export const shards = sqliteTable("shards", { shard: integer("shard").primaryKey(), workspacesCount: count("workspaces_count") });

export const workspaceDirectory = sqliteTable(
  "workspace_directory",
  { workspaceId: text("workspace_id").primaryKey(), slug: text("slug").notNull(), shard: integer("shard").notNull() },
  (t) => [uniqueIndex("workspace_directory_slug").on(t.slug)],
);

export const emailDirectory = sqliteTable(
  "email_directory",
  { address: text("address").primaryKey(), workspaceId: workspaceId(), agentId: text("agent_id").notNull() },
  (t) => [index("email_directory_workspace").on(t.workspaceId, t.agentId)],
);

// --- The workspace --------------------------------------------------------------------------------------------------

export const workspaces = sqliteTable(
  "workspaces",
  {
    id: id(),
    name: text("name").notNull(),
    slug: text("slug").notNull(),
    plan: text("plan", { enum: PLAN_NAMES }).notNull(),
    /** The operator's overrides of the plan's numbers, by the names of the plan table. */
    limits: text("limits", { mode: "json" })
      .$type<Record<string, number | boolean>>()
      .notNull()
      .default(sql`'{}'`),
    /** The operator's settings of how long records are kept, see workspaces/retention.ts. */
    retention: text("retention", { mode: "json" })
      .$type<Partial<Retention>>()
      .notNull()
      .default(sql`'{}'`),
    /** When records that are kept no longer are looked for next; null where nothing is set. */
    pruneAt: integer("prune_at"),
    agentsCount: count("agents_count"),
    sourcesCount: count("sources_count"),
    pagesCount: count("pages_count"),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
    /** Set when the operator deletes it: from then on it is not found, and the erasure removes it step by step. */
    deletedAt: integer("deleted_at"),
  },
  (t) => [
    index("workspaces_deleted")
      .on(t.deletedAt)
      .where(sql`deleted_at IS NOT NULL`),
    index("workspaces_prune")
      .on(t.pruneAt)
      .where(sql`prune_at IS NOT NULL`),
  ],
);

/**
 * Workspaces that came or come from an export (operator/backup). While one is under way the workspace's own row is not there
 * yet, so that nobody finds it, and cron leaves its rows alone.
 */
export const workspaceImports = sqliteTable("workspace_imports", {
  workspaceId: text("workspace_id").primaryKey(),
  exportId: text("export_id").notNull(),
  /** The workspace's own record, JSON; it becomes its row when everything else is there. */
  workspace: text("workspace"),
  /** When what the triggers counted meanwhile gave way to the counts of the export. */
  recountedAt: integer("recounted_at"),
  /** How far what is stored was compared with the export, JSON. */
  checked: text("checked"),
  createdAt: createdAt(),
  completedAt: integer("completed_at"),
});

export const apiKeys = sqliteTable(
  "api_keys",
  {
    id: id(),
    workspaceId: workspaceId(),
    name: text("name").notNull(),
    /** The key's first 16 characters, to tell keys apart. */
    prefix: text("prefix").notNull(),
    /** SHA-256 of the whole key, hex. The key itself is stored nowhere. */
    hash: text("hash").notNull(),
    scopes: list("scopes"),
    createdAt: createdAt(),
    revokedAt: integer("revoked_at"),
    /** Which value of KEY_SECRET made it; null for a key from before this was kept, until it is used. */
    secretId: text("secret_id"),
    /** When it was last used while that value was no longer the first, to the hour: who still needs it. */
    outdatedUseAt: integer("outdated_use_at"),
  },
  (t) => [index("api_keys_workspace").on(t.workspaceId, t.id)],
);

export const usagePeriods = sqliteTable(
  "usage_periods",
  {
    workspaceId: workspaceId(),
    /** A calendar month, UTC: "2026-11". */
    period: text("period").notNull(),
    messages: count("messages"),
  },
  (t) => [primaryKey({ columns: [t.workspaceId, t.period] })],
);

export const auditLog = sqliteTable(
  "audit_log",
  {
    id: id(),
    workspaceId: workspaceId(),
    actor: text("actor").notNull(),
    action: text("action").notNull(),
    subjectHash: text("subject_hash"),
    detail: text("detail", { mode: "json" }).$type<Record<string, unknown>>(),
    createdAt: createdAt(),
  },
  (t) => [index("audit_log_workspace").on(t.workspaceId, t.id)],
);

export const idempotencyRecords = sqliteTable(
  "idempotency_records",
  {
    workspaceId: workspaceId(),
    key: text("key").notNull(),
    /** SHA-256 over operation, path and body: the same key with another request is a conflict. */
    requestHash: text("request_hash").notNull(),
    responseStatus: integer("response_status"),
    /** Encrypted: some responses hold a secret that is shown once. */
    responseBody: text("response_body"),
    /** The conversation that the response tells of, so that it is erased with it. */
    conversationId: text("conversation_id"),
    /** Until then the request is being answered; a later one with the key takes over, with the same identifiers. */
    leaseUntil: integer("lease_until").notNull(),
    createdAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.key] }),
    index("idempotency_records_created").on(t.createdAt),
    index("idempotency_records_conversation").on(t.workspaceId, t.conversationId),
  ],
);

/** Erasures of a person that are under way. The row goes when nothing of the person is left. */
export const privacyErasures = sqliteTable(
  "privacy_erasures",
  {
    /** The audit record's. */
    id: id(),
    workspaceId: workspaceId(),
    /** Encrypted: who is to be erased. */
    identifier: text("identifier").notNull(),
    createdAt: createdAt(),
  },
  (t) => [index("privacy_erasures_created").on(t.createdAt), index("privacy_erasures_workspace").on(t.workspaceId)],
);

// --- Agents and what they know --------------------------------------------------------------------------------------

export const agents = sqliteTable(
  "agents",
  {
    id: id(),
    workspaceId: workspaceId(),
    name: text("name").notNull(),
    slug: text("slug").notNull(),
    description: text("description"),
    status: text("status", { enum: AGENT_STATUSES }).notNull(),
    language: text("language").notNull(),
    instructions: text("instructions"),
    welcomeMessage: text("welcome_message").notNull(),
    handoffMessage: text("handoff_message").notNull(),
    confidenceThreshold: real("confidence_threshold").notNull(),
    inactivityMinutes: integer("inactivity_minutes").notNull(),
    model: text("model"),
    /** Headers' values are encrypted: the only secrets beside the identity secrets, and all that a rotation has to find here. */
    tools: text("tools", { mode: "json" })
      .$type<StoredTool[]>()
      .notNull()
      .default(sql`'[]'`),
    allowedOrigins: list("allowed_origins"),
    emailAddress: text("email_address"),
    /** Encrypted; the previous one stays valid until its time, so that it can be rotated without an outage. */
    identitySecret: text("identity_secret"),
    previousIdentitySecret: text("previous_identity_secret"),
    previousIdentitySecretUntil: integer("previous_identity_secret_until"),
    sourcesCount: count("sources_count"),
    answersCount: count("answers_count"),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (t) => [index("agents_workspace").on(t.workspaceId, t.id), uniqueIndex("agents_workspace_slug").on(t.workspaceId, t.slug)],
);

export const sources = sqliteTable(
  "sources",
  {
    id: id(),
    workspaceId: workspaceId(),
    agentId: text("agent_id").notNull(),
    type: text("type", { enum: SOURCE_TYPES }).notNull(),
    name: text("name").notNull(),
    url: text("url"),
    status: text("status", { enum: SOURCE_STATUSES }).notNull(),
    schedule: text("schedule", { enum: SCHEDULES }).notNull(),
    maxPages: integer("max_pages").notNull(),
    pagesFound: count("pages_found"),
    pagesIndexed: count("pages_indexed"),
    pagesFailed: count("pages_failed"),
    pagesSkipped: count("pages_skipped"),
    chunksCount: count("chunks_count"),
    errorCode: text("error_code"),
    errorMessage: text("error_message"),
    lastSyncedAt: integer("last_synced_at"),
    /** When cron asks for the next sync; null while one waits or runs. */
    nextSyncAt: integer("next_sync_at"),
    /** How many syncs were asked for after the first reading: tells one sync's work from another's. */
    syncNumber: count("sync_number"),
    /** A consumer that holds the source works on it until then; afterwards, or if none holds it, it is to be taken up. */
    leaseUntil: integer("lease_until"),
    /** Which consumer run holds it: only that run may finish it. */
    leaseId: text("lease_id"),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (t) => [
    index("sources_agent").on(t.workspaceId, t.agentId, t.id),
    index("sources_unfinished")
      .on(t.updatedAt)
      .where(sql`status IN ('pending', 'processing')`),
    index("sources_due")
      .on(t.nextSyncAt)
      .where(sql`next_sync_at IS NOT NULL`),
  ],
);

export const answers = sqliteTable(
  "answers",
  {
    id: id(),
    workspaceId: workspaceId(),
    agentId: text("agent_id").notNull(),
    question: text("question").notNull(),
    answer: text("answer").notNull(),
    /** When the agent's index took it up; the sweep hands over what a crash left behind. */
    indexedAt: integer("indexed_at"),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (t) => [
    index("answers_agent").on(t.workspaceId, t.agentId, t.id),
    index("answers_unindexed")
      .on(t.createdAt)
      .where(sql`indexed_at IS NULL`),
  ],
);

// --- People and conversations ---------------------------------------------------------------------------------------

export const visitors = sqliteTable(
  "visitors",
  {
    id: id(),
    workspaceId: workspaceId(),
    anonId: text("anon_id").notNull(),
    externalId: text("external_id"),
    name: text("name"),
    email: text("email"),
    /** The email in lower case, by which a person is found. */
    emailKey: text("email_key"),
    verified: flag("verified").default(false),
    /** The visitor with an identity that this anonymous one turned out to be: all that was its own is that one's now. */
    mergedInto: text("merged_into"),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (t) => [
    uniqueIndex("visitors_anon").on(t.workspaceId, t.anonId),
    index("visitors_external").on(t.workspaceId, t.externalId),
    index("visitors_email").on(t.workspaceId, t.emailKey),
    index("visitors_merged")
      .on(t.workspaceId, t.mergedInto)
      .where(sql`merged_into IS NOT NULL`),
  ],
);

export const conversations = sqliteTable(
  "conversations",
  {
    id: id(),
    workspaceId: workspaceId(),
    agentId: text("agent_id").notNull(),
    channel: text("channel", { enum: CHANNELS }).notNull(),
    status: text("status", { enum: CONVERSATION_STATUSES }).notNull(),
    subject: text("subject"),
    tags: list("tags"),
    visitorId: text("visitor_id"),
    /** The anonymous visitor that began it and was merged since: that one's token opens it still, and nothing else of the person. */
    begunBy: text("begun_by"),
    messageCount: count("message_count"),
    lastMessagePreview: text("last_message_preview"),
    lastMessageAt: integer("last_message_at").notNull(),
    /** When it is resolved if nobody writes: the agent's inactivity after the last message. */
    idleAt: integer("idle_at"),
    csatScore: integer("csat_score"),
    csatComment: text("csat_comment"),
    resolvedAt: integer("resolved_at"),
    resolvedBy: text("resolved_by", { enum: RESOLVERS }),
    firstHumanReplyAt: integer("first_human_reply_at"),
    reopenedCount: count("reopened_count"),
    /** The model sees only messages after this one: set when a resolved conversation is written to again. */
    contextAfter: text("context_after"),
    /** When the agent first replied; kept by a trigger, for analytics. */
    firstAiReplyAt: integer("first_ai_reply_at"),
    /** When the agent alone resolved it for the first time (analytics/definitions.ts); kept by a trigger. */
    aiResolvedAt: integer("ai_resolved_at"),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (t) => [
    // One for each set of filters with a status, all in the order of the list. Without a status a page merges the ranges of the
    // five that there are (conversations/list-store.ts): four more indexes would save it next to nothing, and each message two writes
    // in each of them.
    index("conversations_by_status").on(t.workspaceId, t.status, t.updatedAt, t.id),
    index("conversations_by_agent_status").on(t.workspaceId, t.agentId, t.status, t.updatedAt, t.id),
    index("conversations_by_status_channel").on(t.workspaceId, t.status, t.channel, t.updatedAt, t.id),
    index("conversations_by_all").on(t.workspaceId, t.agentId, t.status, t.channel, t.updatedAt, t.id),
    index("conversations_visitor").on(t.workspaceId, t.visitorId, t.id),
    index("conversations_idle")
      .on(t.idleAt)
      .where(sql`status = 'ai_handled'`),
  ],
);

/** How many conversations there are of each kind: every total is a sum of these. */
export const conversationCounts = sqliteTable(
  "conversation_counts",
  {
    workspaceId: workspaceId(),
    agentId: text("agent_id").notNull(),
    status: text("status").notNull(),
    channel: text("channel").notNull(),
    count: count("count"),
  },
  (t) => [primaryKey({ columns: [t.workspaceId, t.agentId, t.status, t.channel] })],
);

/**
 * How many conversations of each kind were last active in a span of days, so that what happened since a time is counted by
 * spans: every conversation is in one of a day and in one of 32 days.
 */
export const conversationSpans = sqliteTable(
  "conversation_spans",
  {
    workspaceId: workspaceId(),
    /** 1 or 32. */
    days: integer("days").notNull(),
    /** Its first day, since 1970-01-01: a multiple of its days. */
    day: integer("day").notNull(),
    agentId: text("agent_id").notNull(),
    status: text("status").notNull(),
    channel: text("channel").notNull(),
    count: count("count"),
  },
  (t) => [primaryKey({ columns: [t.workspaceId, t.days, t.day, t.agentId, t.status, t.channel] })],
);

export const messages = sqliteTable(
  "messages",
  {
    id: id(),
    workspaceId: workspaceId(),
    conversationId: text("conversation_id").notNull(),
    role: text("role", { enum: MESSAGE_ROLES }).notNull(),
    authorType: text("author_type", { enum: AUTHOR_TYPES }).notNull(),
    authorId: text("author_id"),
    authorName: text("author_name"),
    content: text("content").notNull(),
    citations: text("citations", { mode: "json" })
      .$type<Record<string, unknown>[]>()
      .notNull()
      .default(sql`'[]'`),
    confidence: real("confidence"),
    needsHuman: flag("needs_human").default(false),
    /** The month whose quota the question used; null when it used none. Clearing it gives the message back. */
    quotaPeriod: text("quota_period"),
    createdAt: createdAt(),
  },
  (t) => [index("messages_conversation").on(t.workspaceId, t.conversationId, t.id)],
);

export const handoffs = sqliteTable(
  "handoffs",
  {
    id: id(),
    workspaceId: workspaceId(),
    agentId: text("agent_id").notNull(),
    conversationId: text("conversation_id").notNull(),
    reason: text("reason", {
      enum: HANDOFF_REASONS,
    }).notNull(),
    summary: text("summary"),
    triggerMessageId: text("trigger_message_id"),
    /** The question that knowledge was missing for, normalised: asked again, it is the same one to analytics. */
    questionKey: text("question_key"),
    status: text("status", { enum: HANDOFF_STATUSES }).notNull(),
    requestedAt: integer("requested_at").notNull(),
    acceptedAt: integer("accepted_at"),
    resolvedAt: integer("resolved_at"),
  },
  (t) => [
    index("handoffs_conversation").on(t.workspaceId, t.conversationId, t.id),
    uniqueIndex("handoffs_open")
      .on(t.conversationId)
      .where(sql`status <> 'resolved'`),
  ],
);

export const leads = sqliteTable(
  "leads",
  {
    id: id(),
    workspaceId: workspaceId(),
    agentId: text("agent_id").notNull(),
    conversationId: text("conversation_id"),
    visitorId: text("visitor_id"),
    name: text("name"),
    email: text("email"),
    emailKey: text("email_key"),
    phone: text("phone"),
    message: text("message"),
    customFields: text("custom_fields", { mode: "json" })
      .$type<Record<string, unknown>>()
      .notNull()
      .default(sql`'{}'`),
    sourceUrl: text("source_url"),
    /** When the workspace's index took it up; the sweep hands over what a crash left behind. */
    indexedAt: integer("indexed_at"),
    createdAt: createdAt(),
  },
  (t) => [
    index("leads_created").on(t.workspaceId, t.createdAt, t.id),
    index("leads_agent").on(t.workspaceId, t.agentId, t.createdAt, t.id),
    index("leads_email").on(t.workspaceId, t.emailKey),
    index("leads_visitor").on(t.workspaceId, t.visitorId),
    index("leads_unindexed")
      .on(t.createdAt)
      .where(sql`indexed_at IS NULL`),
  ],
);

/** How many leads each agent has brought: every total without a search or a time is a sum of these. */
export const leadCounts = sqliteTable(
  "lead_counts",
  { workspaceId: workspaceId(), agentId: text("agent_id").notNull(), count: count("count") },
  (t) => [primaryKey({ columns: [t.workspaceId, t.agentId] })],
);

/** How many leads each agent has brought on a day, so that those since a time are counted by days. */
export const leadDays = sqliteTable(
  "lead_days",
  { workspaceId: workspaceId(), day: integer("day").notNull(), agentId: text("agent_id").notNull(), count: count("count") },
  (t) => [primaryKey({ columns: [t.workspaceId, t.day, t.agentId] })],
);

// --- Analytics: kept by the triggers of the migration analytics_rollups, defined in analytics/definitions.ts ----------

const counters = (name: string) =>
  text(name, { mode: "json" })
    .$type<Record<string, number>>()
    .notNull()
    .default(sql`'{}'`);

/** One UTC day of one agent, and of all agents together under the agent `''`. */
export const analyticsDays = sqliteTable(
  "analytics_days",
  {
    workspaceId: workspaceId(),
    agentId: text("agent_id").notNull(),
    /** Days since 1970-01-01. */
    day: integer("day").notNull(),
    // What happened on that day.
    messages: count("messages"),
    aiReplies: count("ai_replies"),
    humanReplies: count("human_replies"),
    leads: count("leads"),
    handoffs: count("handoffs"),
    unanswered: count("unanswered"),
    aiResolutions: count("ai_resolutions"),
    aiResolutionsUndone: count("ai_resolutions_undone"),
    // What became of the conversations that began on that day.
    conversations: count("conversations"),
    withAgent: count("with_agent"),
    handedOff: count("handed_off"),
    aiResolved: count("ai_resolved"),
    resolved: count("resolved"),
    reopened: count("reopened"),
    csatSum: count("csat_sum"),
    csatCount: count("csat_count"),
    handoffReasons: counters("handoff_reasons"),
    channels: counters("channels"),
    /** Histograms: how many conversations there are in each bucket of time. */
    firstResponses: counters("first_responses"),
    resolutions: counters("resolutions"),
  },
  (t) => [primaryKey({ columns: [t.workspaceId, t.agentId, t.day] })],
);

/**
 * Never holds a row: a trigger adds what is inserted here to the days of the agent and of all agents, and drops it. A view
 * would do the same, but `wrangler d1 export` leaves views out.
 */
export const analyticsChanges = sqliteTable("analytics_changes", {
  workspaceId: workspaceId(),
  agentId: text("agent_id").notNull(),
  day: integer("day").notNull(),
  messages: integer("messages"),
  aiReplies: integer("ai_replies"),
  humanReplies: integer("human_replies"),
  leads: integer("leads"),
  handoffs: integer("handoffs"),
  unanswered: integer("unanswered"),
  aiResolutions: integer("ai_resolutions"),
  aiResolutionsUndone: integer("ai_resolutions_undone"),
  conversations: integer("conversations"),
  withAgent: integer("with_agent"),
  handedOff: integer("handed_off"),
  aiResolved: integer("ai_resolved"),
  resolved: integer("resolved"),
  reopened: integer("reopened"),
  csatSum: integer("csat_sum"),
  csatCount: integer("csat_count"),
  handoffReason: text("handoff_reason"),
  channel: text("channel"),
  firstResponseMs: integer("first_response_ms"),
  resolutionMs: integer("resolution_ms"),
});

/** Questions that knowledge was missing for. A question goes when the last hand-off that asked it is erased. */
export const unansweredQuestions = sqliteTable(
  "unanswered_questions",
  {
    workspaceId: workspaceId(),
    /** Empty for all agents together. */
    agentId: text("agent_id").notNull(),
    questionKey: text("question_key").notNull(),
    /** As it was asked last. */
    question: text("question").notNull(),
    /** How often in the year before it was asked last. */
    asked: count("asked"),
    lastAskedAt: integer("last_asked_at").notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.agentId, t.questionKey] }),
    index("unanswered_questions_asked").on(t.workspaceId, t.agentId, t.asked),
    index("unanswered_questions_latest").on(t.workspaceId, t.agentId, t.lastAskedAt),
  ],
);

/**
 * The days on which such a question was asked, so that a range of any length is the difference of two rows. Of those more
 * than a year before the last one only the latest is kept.
 */
export const unansweredQuestionDays = sqliteTable(
  "unanswered_question_days",
  {
    workspaceId: workspaceId(),
    agentId: text("agent_id").notNull(),
    questionKey: text("question_key").notNull(),
    day: integer("day").notNull(),
    /** How often it had been asked by the end of the day, ever since it is kept. */
    askedUntil: count("asked_until"),
  },
  (t) => [primaryKey({ columns: [t.workspaceId, t.agentId, t.questionKey, t.day] })],
);

// --- Email ----------------------------------------------------------------------------------------------------------

/** What mails of a conversation need to stay one thread in a mail program. */
export const emailThreads = sqliteTable(
  "email_threads",
  {
    conversationId: text("conversation_id").primaryKey(),
    workspaceId: workspaceId(),
    /** Whom the agent's mails go to. */
    address: text("address").notNull(),
    subject: text("subject").notNull(),
    /** The Message-ID of the visitor's latest mail, and those before it, oldest first. */
    lastMessageId: text("last_message_id"),
    earlierIds: list("earlier_ids"),
    createdAt: createdAt(),
  },
  (t) => [
    index("email_threads_workspace").on(t.workspaceId, t.conversationId),
    index("email_threads_address").on(t.workspaceId, t.address),
  ],
);

/** Mails that came lately: the same one again is taken once, and nobody sends more than a person does. The sweep forgets them. */
export const emailArrivals = sqliteTable(
  "email_arrivals",
  {
    workspaceId: workspaceId(),
    /** A hash of agent and Message-ID. */
    mailKey: text("mail_key").notNull(),
    /** A keyed hash of agent and sender. */
    senderKey: text("sender_key").notNull(),
    createdAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.mailKey] }),
    index("email_arrivals_sender").on(t.workspaceId, t.senderKey, t.createdAt),
    index("email_arrivals_created").on(t.createdAt),
  ],
);

/** Messages that are to go out as mail; a trigger adds each message of a team or an agent in a conversation by email. */
export const emailOutbox = sqliteTable(
  "email_outbox",
  {
    messageId: text("message_id").primaryKey(),
    workspaceId: workspaceId(),
    conversationId: text("conversation_id").notNull(),
    status: text("status", { enum: ["pending", "sent", "failed"] }).notNull(),
    attemptCount: count("attempt_count"),
    nextAttemptAt: integer("next_attempt_at").notNull(),
    leaseUntil: integer("lease_until"),
    /** What the mail service said, when it refused: its code alone. */
    error: text("error"),
    createdAt: createdAt(),
  },
  (t) => [
    index("email_outbox_conversation").on(t.workspaceId, t.conversationId),
    index("email_outbox_due")
      .on(t.nextAttemptAt)
      .where(sql`status = 'pending'`),
  ],
);

// --- Events and their delivery --------------------------------------------------------------------------------------

export const webhookEndpoints = sqliteTable(
  "webhook_endpoints",
  {
    id: id(),
    workspaceId: workspaceId(),
    url: text("url").notNull(),
    events: list("events"),
    description: text("description"),
    enabled: flag("enabled"),
    disabledReason: text("disabled_reason"),
    disabledAt: integer("disabled_at"),
    failureStreak: count("failure_streak"),
    failingSince: integer("failing_since"),
    lastSuccessAt: integer("last_success_at"),
    /** How long its last exchange took, or has taken so far. */
    lastDurationMs: integer("last_duration_ms"),
    /** Encrypted, like the previous one, which signs beside it until its time. */
    secret: text("secret").notNull(),
    /** Which rotation made the secret, so that one that is asked for again is done once. */
    rotationId: text("rotation_id"),
    previousSecret: text("previous_secret"),
    previousSecretUntil: integer("previous_secret_until"),
    // Its deliveries of each status.
    pendingCount: count("pending_count"),
    succeededCount: count("succeeded_count"),
    failedCount: count("failed_count"),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (t) => [index("webhook_endpoints_workspace").on(t.workspaceId, t.id)],
);

/** Endpoints that were deleted and whose log is not erased yet. The row goes when nothing of it is left. */
export const webhookErasures = sqliteTable(
  "webhook_erasures",
  {
    /** The endpoint's. */
    id: id(),
    workspaceId: workspaceId(),
    createdAt: createdAt(),
  },
  (t) => [index("webhook_erasures_created").on(t.createdAt), index("webhook_erasures_workspace").on(t.workspaceId)],
);

export const events = sqliteTable(
  "events",
  {
    id: id(),
    workspaceId: workspaceId(),
    type: text("type").notNull(),
    /** The exact bytes that every attempt sends. */
    payload: text("payload").notNull(),
    /** Whose record the payload holds, so that it is erased with it. */
    conversationId: text("conversation_id"),
    leadId: text("lead_id"),
    createdAt: createdAt(),
  },
  (t) => [
    index("events_created").on(t.createdAt),
    index("events_workspace").on(t.workspaceId, t.id),
    index("events_conversation").on(t.workspaceId, t.conversationId),
    index("events_lead").on(t.workspaceId, t.leadId),
  ],
);

export const deliveries = sqliteTable(
  "deliveries",
  {
    id: id(),
    workspaceId: workspaceId(),
    webhookId: text("webhook_id").notNull(),
    eventId: text("event_id").notNull(),
    eventType: text("event_type").notNull(),
    status: text("status", { enum: DELIVERY_STATUSES }).notNull(),
    trigger: text("trigger", { enum: DELIVERY_TRIGGERS }).notNull(),
    attemptCount: count("attempt_count"),
    nextAttemptAt: integer("next_attempt_at"),
    leaseUntil: integer("lease_until"),
    createdAt: createdAt(),
    completedAt: integer("completed_at"),
  },
  (t) => [
    index("deliveries_webhook").on(t.workspaceId, t.webhookId, t.id),
    index("deliveries_webhook_status").on(t.workspaceId, t.webhookId, t.status, t.id),
    index("deliveries_event").on(t.workspaceId, t.eventId),
    index("deliveries_due")
      .on(t.nextAttemptAt)
      .where(sql`status = 'pending'`),
  ],
);

export const deliveryAttempts = sqliteTable(
  "delivery_attempts",
  {
    deliveryId: text("delivery_id").notNull(),
    workspaceId: workspaceId(),
    number: integer("number").notNull(),
    startedAt: integer("started_at").notNull(),
    durationMs: integer("duration_ms").notNull(),
    responseStatus: integer("response_status"),
    responseBody: text("response_body"),
    /** The conversation that the response tells of, so that it is erased with it. */
    conversationId: text("conversation_id"),
    responseTruncated: flag("response_truncated").default(false),
    error: text("error"),
    url: text("url").notNull(),
  },
  (t) => [primaryKey({ columns: [t.deliveryId, t.number] }), index("delivery_attempts_workspace").on(t.workspaceId, t.deliveryId)],
);
