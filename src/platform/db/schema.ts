import { type SQL, sql } from "drizzle-orm";
import { index, integer, primaryKey, real, type SQLiteColumn, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import {
  APPROVAL_OUTCOMES,
  APPROVAL_STATUSES,
  AGENT_STATUSES,
  AVAILABILITIES,
  type Appearance,
  type ApplicationToken,
  ATTACHMENT_TYPES,
  AUTHOR_TYPES,
  type BusinessHours,
  type CaseExpectation,
  CHANNELS,
  type ContactForm,
  CONVERSATION_STATUSES,
  DELIVERY_STATUSES,
  DELIVERY_TRIGGERS,
  DRAFT_STATUSES,
  EVALUATION_STATUSES,
  HANDOFF_REASONS,
  HANDOFF_SETTINGS,
  HANDOFF_STATUSES,
  type HostedPage,
  type MemberRole,
  MEMBER_ROLES,
  MEMBER_STATUSES,
  MESSAGE_ROLES,
  type MessageAttachment,
  type Metadata,
  PLAN_NAMES,
  PRIORITIES,
  RATINGS,
  RESOLVERS,
  type RedactionSettings,
  type OlderSecret,
  type Retention,
  type RuleActions,
  type RuleConditions,
  SCHEDULES,
  SHARD_STATES,
  SIGN_IN_METHODS,
  SOURCE_STATUSES,
  SOURCE_TYPES,
  type StoredTool,
  type Verdict,
  VERDICTS,
  type VersionSettings,
} from "./columns.ts";
import { JURISDICTIONS } from "./regions.ts";

/*
 * All tables. Common rules:
 * - ids are UUIDv7 text whose last byte is the workspace's logical shard; times are Unix milliseconds;
 * - a workspace's table has a `workspace_id`, and an index that begins with it for each list;
 * - there are no foreign keys: a workspace is erased table by table in bounded steps, and each write checks the ids it uses;
 * - triggers maintain `*_count` columns and `usage_periods` (migrations/0001_triggers.sql), so that a row
 *   that is written twice (a resumed turn, a repeated wake-up) is counted once.
 */

const id = () => text("id").primaryKey();
const workspaceId = () => text("workspace_id").notNull();
const createdAt = () => integer("created_at").notNull();
const updatedAt = () => integer("updated_at").notNull();
const flag = (name: string) => integer(name, { mode: "boolean" }).notNull();
const json = <T>(name: string, empty: "[]" | "{}") =>
  text(name, { mode: "json" })
    .$type<T>()
    .notNull()
    .default(sql.raw(`'${empty}'`));
const list = (name: string) => json<string[]>(name, "[]");
const count = (name: string) => integer(name).notNull().default(0);
const partialIndex = (name: string, [first, ...rest]: [SQLiteColumn, ...SQLiteColumn[]], condition: SQL) =>
  index(name)
    .on(first, ...rest)
    .where(condition);

// --- Across workspaces: only in DB ----------------------------------------------------------------------------------

/** How many workspaces each logical shard holds. */
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

/** What the OAuth library keeps of no workspace: the applications that registered themselves, and the assertions that were used. */
export const oauthRecords = sqliteTable(
  "oauth_records",
  { key: text("key").primaryKey(), value: text("value").notNull(), expiresAt: integer("expires_at").notNull() },
  (t) => [index("oauth_records_expires").on(t.expiresAt)],
);

// --- Across the workspaces of a database ----------------------------------------------------------------------------

/** Work that the sweep has put off, most of it because it failed, see platform/db/waiting.ts. */
export const sweepBackoffs = sqliteTable(
  "sweep_backoffs",
  {
    task: text("task").notNull(),
    /** The id of what the work is about: an agent, a workspace, an erasure, … */
    key: text("key").notNull(),
    failures: integer("failures").notNull(),
    retryAt: integer("retry_at").notNull(),
  },
  (t) => [primaryKey({ columns: [t.task, t.key] }), index("sweep_backoffs_retry").on(t.retryAt)],
);

/** The moves of logical shards from or to this database, see platform/db/placement.ts. */
export const shardMoves = sqliteTable("shard_moves", {
  /** The shard as two hexadecimal digits, as identifiers end. */
  shard: text("shard").primaryKey(),
  /** In the former database `copying`, `held`, then `left`; in the new one `arriving`, then `here`. */
  state: text("state", { enum: SHARD_STATES }).notNull(),
  /** The number of the other database of the move. */
  other: integer("other").notNull(),
  /** In the former database: until when writes are held, when the shard left, and when its rows were erased. */
  heldUntil: integer("held_until"),
  leftAt: integer("left_at"),
  erasedAt: integer("erased_at"),
});

/** The move of shards into this database. There is at most one at a time. */
export const shardCopies = sqliteTable("shard_copies", {
  /** The number of the former database. */
  source: integer("source").primaryKey(),
  /** The shards, as a range such as `64-127`. */
  shards: text("shards").notNull(),
  /** How far the comparison of both copies is, as JSON. */
  progress: text("progress").notNull(),
  /** The number of batches that were written. A batch is refused if another one was written after it was prepared. */
  batches: count("batches"),
  startedAt: integer("started_at").notNull(),
});

/** Rows of a shard that changed in its former database while it was copied, and are to be copied again. */
export const shardChanges = sqliteTable(
  "shard_changes",
  {
    /** A number that is never given again, so that a row that changes while it is copied is not taken for copied. */
    number: integer("number").primaryKey({ autoIncrement: true }),
    shard: text("shard").notNull(),
    table: text("table_name").notNull(),
    /** The primary key of the row, as a JSON list. */
    key: text("key").notNull(),
  },
  (t) => [uniqueIndex("shard_changes_row").on(t.shard, t.table, t.key)],
);

/** The audit log of operators. It is kept longer than the workspaces in it, so it holds only ids and names of fields. */
export const operatorAudit = sqliteTable(
  "operator_audit",
  {
    id: id(),
    /** The operator's token, by its fingerprint. */
    actor: text("actor").notNull(),
    operation: text("operation").notNull(),
    workspaceId: text("workspace_id"),
    /** The agent or key that it is about. */
    targetId: text("target_id"),
    /** The names of the fields that were sent. */
    fields: list("fields"),
    requestId: text("request_id").notNull(),
    createdAt: createdAt(),
  },
  (t) => [index("operator_audit_workspace").on(t.workspaceId, t.id)],
);

// --- The workspace --------------------------------------------------------------------------------------------------

export const workspaces = sqliteTable(
  "workspaces",
  {
    id: id(),
    name: text("name").notNull(),
    slug: text("slug").notNull(),
    plan: text("plan", { enum: PLAN_NAMES }).notNull(),
    /** The operator's overrides of the plan's limits, see workspaces/plans.ts. */
    limits: json<Record<string, number | boolean>>("limits", "{}"),
    /** The operator's retention settings, see workspaces/retention.ts. */
    retention: json<Partial<Retention>>("retention", "{}"),
    /** What is masked in texts, see redaction/. */
    redaction: json<Partial<RedactionSettings>>("redaction", "{}"),
    /** When expired records are pruned next; null without retention settings. */
    pruneAt: integer("prune_at"),
    /** When the team is there, as far as it is set: workspaces/business-hours.ts. */
    businessHours: json<Partial<BusinessHours>>("business_hours", "{}"),
    agentsCount: count("agents_count"),
    sourcesCount: count("sources_count"),
    pagesCount: count("pages_count"),
    /** The bytes of the responses in `idempotency_records`, and 512 for each record. */
    keptResponseBytes: count("kept_response_bytes"),
    /** The bytes of the attempts in `delivery_attempts`. */
    deliveryLogBytes: count("delivery_log_bytes"),
    /** The entries in `audit_log`. */
    auditEntriesCount: count("audit_entries_count"),
    /** The bytes of the files in `attachments`, and 512 for each. */
    attachmentBytes: count("attachment_bytes"),
    /** When its events were last read over the API, to the hour. They are recorded for some days after that. */
    eventsReadAt: integer("events_read_at"),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
    /** The jurisdiction that its Durable Objects were created in, where they stay; null if there is none. */
    jurisdiction: text("jurisdiction", { enum: JURISDICTIONS }),
    /** Set when the operator deletes it: from then on it is not found, and is erased step by step. */
    deletedAt: integer("deleted_at"),
  },
  (t) => [
    partialIndex("workspaces_deleted", [t.id, t.deletedAt], sql`deleted_at IS NOT NULL`),
    partialIndex("workspaces_prune", [t.pruneAt], sql`prune_at IS NOT NULL`),
  ],
);

/**
 * Workspaces that were imported from an export (backup/). The workspace's own row is written last, so that nothing finds a
 * partial import, and cron leaves its rows alone.
 */
export const workspaceImports = sqliteTable("workspace_imports", {
  workspaceId: text("workspace_id").primaryKey(),
  exportId: text("export_id").notNull(),
  /** The workspace's own record, JSON, which becomes its row at the end. */
  workspace: text("workspace"),
  /** When the triggers' counts were replaced by those of the export. */
  recountedAt: integer("recounted_at"),
  /** How far the import was verified against the export, JSON. */
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
    /** The key's first 16 characters, to recognize it by. */
    prefix: text("prefix").notNull(),
    /** SHA-256 of the key, hex. The key itself is not stored. */
    hash: text("hash").notNull(),
    scopes: list("scopes"),
    createdAt: createdAt(),
    revokedAt: integer("revoked_at"),
    /** The value of KEY_SECRET that signed it last. */
    secretId: text("secret_id").notNull(),
    /** When it was last used while that value was no longer the first, to the hour. */
    outdatedUseAt: integer("outdated_use_at"),
  },
  (t) => [index("api_keys_workspace").on(t.workspaceId, t.id), index("api_keys_revoked").on(t.workspaceId, t.revokedAt)],
);

/** The people of the team. A member who was removed is kept as the name of what the member wrote. */
export const members = sqliteTable(
  "members",
  {
    id: id(),
    workspaceId: workspaceId(),
    name: text("name").notNull(),
    /** In lower case. */
    email: text("email").notNull(),
    role: text("role", { enum: MEMBER_ROLES }).notNull(),
    /** The scopes of the role `custom`; the other roles have theirs in workspaces/scopes.ts. */
    scopes: list("scopes"),
    status: text("status", { enum: MEMBER_STATUSES }).notNull(),
    availability: text("availability", { enum: AVAILABILITIES }).notNull(),
    /** The account of the identity provider that signed in first: no other account signs in as this member. */
    oidcIssuer: text("oidc_issuer"),
    oidcSubject: text("oidc_subject"),
    /** When a conversation was last assigned to the member, as a trigger records it. It is later than that of all other members then. */
    lastAssignedAt: integer("last_assigned_at"),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (t) => [index("members_workspace").on(t.workspaceId, t.id), uniqueIndex("members_email").on(t.workspaceId, t.email)],
);

/** The teams among which conversations are divided. A trigger takes a member who is removed out of them. */
export const teams = sqliteTable(
  "teams",
  {
    id: id(),
    workspaceId: workspaceId(),
    name: text("name").notNull(),
    memberIds: list("member_ids"),
    /** Round robin gives nothing to a member with this many conversations that the team handles or that wait for it. */
    conversationsPerMember: integer("conversations_per_member").notNull(),
    /** After this time without a reply of its assignee, a conversation gets another one; null if it keeps its assignee. */
    unassignAfterMinutes: integer("unassign_after_minutes"),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (t) => [index("teams_workspace").on(t.workspaceId, t.id)],
);

/** The rules that route hand-offs, in order of their positions: see routing/. */
export const routingRules = sqliteTable(
  "routing_rules",
  {
    id: id(),
    workspaceId: workspaceId(),
    name: text("name").notNull(),
    position: integer("position").notNull(),
    conditions: json<RuleConditions>("conditions", "{}"),
    actions: json<RuleActions>("actions", "{}"),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (t) => [index("routing_rules_workspace").on(t.workspaceId, t.id)],
);

/** The sessions in which members are signed in. A session that ended has no row. */
export const memberSessions = sqliteTable(
  "member_sessions",
  {
    id: id(),
    workspaceId: workspaceId(),
    memberId: text("member_id").notNull(),
    /** SHA-256 of the session's token, hex. The token itself is not stored. */
    hash: text("hash").notNull(),
    method: text("method", { enum: SIGN_IN_METHODS }).notNull(),
    /** The browser, by its User-Agent. */
    client: text("client"),
    createdAt: createdAt(),
    expiresAt: integer("expires_at").notNull(),
  },
  (t) => [index("member_sessions_workspace").on(t.workspaceId, t.memberId, t.id), index("member_sessions_expires").on(t.expiresAt)],
);

/** The applications that members have connected by OAuth, such as Claude and ChatGPT. One that was disconnected has no row. */
export const applications = sqliteTable(
  "applications",
  {
    id: id(),
    workspaceId: workspaceId(),
    memberId: text("member_id").notNull(),
    /** The id of the grant, which the OAuth library gives. */
    grantId: text("grant_id").notNull(),
    /** The library's record of the grant. It has its code and refresh tokens only as hashes. */
    grant: text("grant_record").notNull(),
    /** The library's metadata of the record, as JSON. */
    metadata: text("metadata"),
    name: text("name").notNull(),
    /** The host that receives the tokens. */
    host: text("host").notNull(),
    scopes: list("scopes"),
    /** The access tokens, newest first: a refreshed one works beside the next. */
    tokens: json<ApplicationToken[]>("tokens", "[]"),
    createdAt: createdAt(),
    expiresAt: integer("expires_at").notNull(),
  },
  (t) => [index("applications_workspace").on(t.workspaceId, t.memberId, t.id), index("applications_expires").on(t.expiresAt)],
);

/** How the members of a workspace sign in. A workspace without a row has the default settings. */
export const signInSettings = sqliteTable(
  "sign_in_settings",
  {
    id: id(),
    workspaceId: workspaceId(),
    /** The values of `CONSOLE_METHODS` that are allowed. */
    methods: list("methods"),
    oidcIssuer: text("oidc_issuer"),
    oidcClientId: text("oidc_client_id"),
    /** Encrypted. */
    oidcClientSecret: text("oidc_client_secret"),
    /** Who may join without an invitation, by the domain of the email address. */
    domains: json<{ domain: string; role: MemberRole }[]>("domains", "[]"),
    updatedAt: updatedAt(),
  },
  (t) => [uniqueIndex("sign_in_settings_workspace").on(t.workspaceId)],
);

export const usagePeriods = sqliteTable(
  "usage_periods",
  {
    workspaceId: workspaceId(),
    /** A calendar month, UTC: "2026-11". */
    period: text("period").notNull(),
    messages: count("messages"),
    /** How often each kind of text was masked: `card`, `iban`, and the names of patterns. */
    redactions: json<Record<string, number>>("redactions", "{}"),
  },
  (t) => [primaryKey({ columns: [t.workspaceId, t.period] })],
);

/**
 * Counts for the limits of workspaces/usage-limits.ts: what all visitors together sent and uploaded in a UTC day, what each sender sent in
 * an hour, and what the team wrote, evaluated and erased in a day. The sweep deletes old counts.
 */
export const visitorCounts = sqliteTable(
  "visitor_counts",
  {
    workspaceId: workspaceId(),
    flow: text("flow", {
      enum: ["messages", "leads", "attachments", "team_messages", "evaluation_cases", "erasures", "syncs", "deliveries"],
    }).notNull(),
    startsAt: integer("starts_at").notNull(),
    /** A keyed hash of the address or the verified person; empty for all of them together. */
    sender: text("sender").notNull(),
    count: count("count"),
  },
  (t) => [primaryKey({ columns: [t.workspaceId, t.flow, t.startsAt, t.sender] }), index("visitor_counts_start").on(t.startsAt)],
);

/** What the team, its keys and the operator did in a workspace, without personal data and secrets. See workspaces/audit-store.ts. */
export const auditLog = sqliteTable(
  "audit_log",
  {
    id: id(),
    workspaceId: workspaceId(),
    /** `member/<id>`, `key/<id>` or `operator`. */
    actor: text("actor").notNull(),
    action: text("action").notNull(),
    /** What it is about: an agent, a key, a member, … */
    targetId: text("target_id"),
    subjectHash: text("subject_hash"),
    detail: text("detail", { mode: "json" }).$type<Record<string, unknown>>(),
    createdAt: createdAt(),
    /** When the record is deleted; null if it is kept: an erasure that deleted something. */
    expiresAt: integer("expires_at"),
  },
  (t) => [
    index("audit_log_workspace").on(t.workspaceId, t.id),
    partialIndex("audit_log_oldest", [t.workspaceId, t.id], sql`expires_at IS NOT NULL`),
    partialIndex("audit_log_expires", [t.expiresAt], sql`expires_at IS NOT NULL`),
  ],
);

export const idempotencyRecords = sqliteTable(
  "idempotency_records",
  {
    workspaceId: workspaceId(),
    key: text("key").notNull(),
    /** SHA-256 of method, path and body: the same key with another request is a conflict. */
    requestHash: text("request_hash").notNull(),
    responseStatus: integer("response_status"),
    /** Encrypted, since some responses hold a secret that is shown once. */
    responseBody: text("response_body"),
    /** The conversation of the response: both are erased together. */
    conversationId: text("conversation_id"),
    /** The request runs until then at most; a later request with the key takes over, with the same derived ids. */
    leaseUntil: integer("lease_until").notNull(),
    createdAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.key] }),
    index("idempotency_records_created").on(t.createdAt),
    index("idempotency_records_conversation").on(t.workspaceId, t.conversationId),
  ],
);

/** Running erasures of a person. A row is deleted when its erasure is complete. */
export const privacyErasures = sqliteTable(
  "privacy_erasures",
  {
    /** The id of the audit record. */
    id: id(),
    workspaceId: workspaceId(),
    /** Encrypted: the person's identifier. */
    identifier: text("identifier").notNull(),
    createdAt: createdAt(),
  },
  (t) => [index("privacy_erasures_workspace").on(t.workspaceId, t.createdAt)],
);

// --- Agents and knowledge ------------------------------------------------------------------------------------------

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
    /** Header values are encrypted. */
    tools: json<StoredTool[]>("tools", "[]"),
    allowedOrigins: list("allowed_origins"),
    emailAddress: text("email_address"),
    /** Encrypted, like the previous one, which stays valid until its time so that rotation causes no outage. */
    identitySecret: text("identity_secret"),
    previousIdentitySecret: text("previous_identity_secret"),
    previousIdentitySecretUntil: integer("previous_identity_secret_until"),
    /** Its visitors' tokens up to this time are invalid. */
    tokensEndedAt: integer("tokens_ended_at"),
    turnstileSiteKey: text("turnstile_site_key"),
    /** Encrypted. */
    turnstileSecret: text("turnstile_secret"),
    // What visitors see: agents/widget-wire.ts.
    appearance: json<Partial<Appearance>>("appearance", "{}"),
    /** Null: visitors are not asked for contact details. */
    contactForm: text("contact_form", { mode: "json" }).$type<ContactForm>(),
    /** The chat's languages, each with the texts that replace its own. */
    languages: json<Record<string, Record<string, string>>>("languages", "{}"),
    hostedPage: json<Partial<HostedPage>>("hosted_page", "{}"),
    /** Off: the agent never hands a conversation to a human. */
    handoff: text("handoff", { enum: HANDOFF_SETTINGS }).notNull().default("on"),
    /** What visitors then read instead, by language. */
    handoffOffMessages: json<Record<string, string>>("handoff_off_messages", "{}"),
    /** Messages with one of these words or phrases are always handed off. */
    handoffWords: list("handoff_words"),
    sourcesCount: count("sources_count"),
    answersCount: count("answers_count"),
    /** The size of the text of all its sources, in UTF-8. */
    textBytes: count("text_bytes"),
    /** The published version, whose settings the columns above hold. */
    version: integer("version").notNull().default(1),
    /** The version that a share of new conversations gets, from 0 to 1; null if there is none. */
    rolloutVersion: integer("rollout_version"),
    rolloutShare: real("rollout_share"),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (t) => [index("agents_workspace").on(t.workspaceId, t.id), uniqueIndex("agents_workspace_slug").on(t.workspaceId, t.slug)],
);

/** The versions of agents' settings: those that were published, and a draft. See agents/version-store.ts. */
export const agentVersions = sqliteTable(
  "agent_versions",
  {
    id: id(),
    workspaceId: workspaceId(),
    agentId: text("agent_id").notNull(),
    /** 1 for the first version, 0 for the draft. */
    number: integer("number").notNull(),
    /** All settings of a version; of the draft, only those that differ from the published version. */
    settings: json<Partial<VersionSettings>>("settings", "{}"),
    /** The version that was published when this one was made; null for the first one. */
    base: integer("base"),
    /** The settings that differ from that version. */
    changed: json<(keyof VersionSettings)[]>("changed", "[]"),
    note: text("note"),
    /** Who published it: `operator`, or the id of an API key. */
    author: text("author"),
    createdAt: createdAt(),
  },
  (t) => [uniqueIndex("agent_versions_agent").on(t.workspaceId, t.agentId, t.number)],
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
    /** The caller's name for the source, unique in its agent. */
    key: text("key"),
    /** The hash of the name and the text or file that was last sent for the key. */
    contentHash: text("content_hash"),
    status: text("status", { enum: SOURCE_STATUSES }).notNull(),
    schedule: text("schedule", { enum: SCHEDULES }).notNull(),
    maxPages: integer("max_pages").notNull(),
    pagesFound: count("pages_found"),
    pagesIndexed: count("pages_indexed"),
    pagesFailed: count("pages_failed"),
    pagesSkipped: count("pages_skipped"),
    chunksCount: count("chunks_count"),
    /** Its text as of the end of the last sync, in UTF-8. */
    textBytes: count("text_bytes"),
    errorCode: text("error_code"),
    errorMessage: text("error_message"),
    lastSyncedAt: integer("last_synced_at"),
    /** When cron starts the next sync; null while one is pending or running. */
    nextSyncAt: integer("next_sync_at"),
    /** How many syncs were requested after the first: identifies a sync's work. */
    syncNumber: count("sync_number"),
    /** A consumer's claim on the source expires then; another may claim it afterwards. */
    leaseUntil: integer("lease_until"),
    /** Which consumer run has claimed it: only that run may finish it. */
    leaseId: text("lease_id"),
    metadata: json<Metadata>("metadata", "{}"),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (t) => [
    index("sources_agent").on(t.workspaceId, t.agentId, t.id),
    uniqueIndex("sources_key")
      .on(t.agentId, t.key)
      .where(sql`key IS NOT NULL`),
    partialIndex("sources_metadata", [t.workspaceId, t.agentId, t.metadata, t.id], sql`metadata <> '{}'`),
    partialIndex("sources_unfinished", [t.workspaceId, t.updatedAt], sql`status IN ('pending', 'processing')`),
    partialIndex("sources_due", [t.workspaceId, t.nextSyncAt], sql`next_sync_at IS NOT NULL`),
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
    /** When the agent's index received it; the sweep sends what a crash left behind. */
    indexedAt: integer("indexed_at"),
    metadata: json<Metadata>("metadata", "{}"),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (t) => [
    index("answers_agent").on(t.workspaceId, t.agentId, t.id),
    partialIndex("answers_metadata", [t.workspaceId, t.agentId, t.metadata, t.id], sql`metadata <> '{}'`),
    partialIndex("answers_unindexed", [t.workspaceId, t.createdAt], sql`indexed_at IS NULL`),
  ],
);

/**
 * Human replies to questions that the agent could not answer. A draft becomes a curated answer when somebody accepts it. A trigger keeps
 * 200 drafts of each agent.
 */
export const answerDrafts = sqliteTable(
  "answer_drafts",
  {
    /** The id of the hand-off, which has one draft. */
    id: id(),
    workspaceId: workspaceId(),
    agentId: text("agent_id").notNull(),
    conversationId: text("conversation_id").notNull(),
    /** The reply. */
    messageId: text("message_id").notNull(),
    question: text("question").notNull(),
    answer: text("answer").notNull(),
    status: text("status", { enum: DRAFT_STATUSES }).notNull(),
    /** The curated answer that it became. */
    answerId: text("answer_id"),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (t) => [
    index("answer_drafts_agent").on(t.workspaceId, t.agentId, t.id),
    index("answer_drafts_conversation").on(t.workspaceId, t.conversationId),
  ],
);

/** Runs of questions whose answers are compared with expectations. */
export const evaluations = sqliteTable(
  "evaluations",
  {
    id: id(),
    workspaceId: workspaceId(),
    agentId: text("agent_id").notNull(),
    name: text("name"),
    status: text("status", { enum: EVALUATION_STATUSES }).notNull(),
    casesCount: integer("cases_count").notNull(),
    /** The version of the agent that answers, 0 for its draft; null for the published one. */
    version: integer("version"),
    /** The number of finished cases by verdict. */
    verdicts: json<Partial<Record<Verdict, number>>>("verdicts", "{}"),
    /** Why it failed. */
    error: text("error"),
    /** A consumer's claim on it expires then; another may claim it afterwards. */
    leaseUntil: integer("lease_until"),
    leaseId: text("lease_id"),
    startedAt: integer("started_at"),
    completedAt: integer("completed_at"),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (t) => [
    index("evaluations_agent").on(t.workspaceId, t.agentId, t.id),
    partialIndex("evaluations_unfinished", [t.workspaceId, t.updatedAt], sql`status IN ('pending', 'running')`),
  ],
);

/** The cases of an evaluation, with the results of those that have run. */
export const evaluationCases = sqliteTable(
  "evaluation_cases",
  {
    workspaceId: workspaceId(),
    evaluationId: text("evaluation_id").notNull(),
    position: integer("position").notNull(),
    question: text("question").notNull(),
    /** The visitor's questions before it, oldest first. */
    previous: list("previous"),
    expect: json<CaseExpectation>("expect", "{}"),
    /** Null until it has run. */
    verdict: text("verdict", { enum: VERDICTS }),
    answer: text("answer"),
    confidence: real("confidence"),
    /** Whether the expected source was found; null if none is expected. */
    sourceFound: integer("source_found", { mode: "boolean" }),
    /** How the answer came about: see chat/trace-wire.ts. A case of several turns that has not ended has its conversation so far. */
    trace: json<Record<string, unknown>>("trace", "{}"),
  },
  (t) => [primaryKey({ columns: [t.workspaceId, t.evaluationId, t.position] })],
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
    /** The email in lower case, for look-ups. */
    emailKey: text("email_key"),
    /** Whether an API key or a signature proved the email: anything else may be what somebody typed. */
    emailVerified: flag("email_verified").default(false),
    verified: flag("verified").default(false),
    /** The identified visitor that this anonymous one was merged into, with all records. */
    mergedInto: text("merged_into"),
    /** Their tokens up to this time are invalid. */
    tokensEndedAt: integer("tokens_ended_at"),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (t) => [
    uniqueIndex("visitors_anon").on(t.workspaceId, t.anonId),
    partialIndex("visitors_external", [t.workspaceId, t.externalId], sql`external_id IS NOT NULL`),
    partialIndex("visitors_email", [t.workspaceId, t.emailKey], sql`email_key IS NOT NULL`),
    partialIndex("visitors_merged", [t.workspaceId, t.mergedInto], sql`merged_into IS NOT NULL`),
  ],
);

/** The condition of the index of an export. */
export const EVERY_CONVERSATION = sql`id > ''`;

/** SQL condition: the team has the conversation. The statuses are not bound, because SQLite would then not use a partial index. */
export const IS_WITH_TEAM = sql`status IN ('needs_human', 'human_active')`;
/** SQL condition of the index of conversations that the team has and that are assigned to nobody. */
export const IS_UNASSIGNED = sql`assignee_id IS NULL AND ${IS_WITH_TEAM}`;
/** SQL condition of the index of conversations with another priority than `normal`. */
export const IS_UNUSUAL_PRIORITY = sql`priority <> 'normal'`;

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
    /** The member of the team whom it is assigned to. */
    assigneeId: text("assignee_id"),
    assigneeName: text("assignee_name"),
    teamId: text("team_id"),
    priority: text("priority", { enum: PRIORITIES }).notNull().default("normal"),
    /** Since when it waits for a member of its team to be free; a trigger clears it when it is assigned or the team has it no more. */
    queuedAt: integer("queued_at"),
    /** The member from whom it was taken, who gets it back only if nobody else is free. */
    passedOverId: text("passed_over_id"),
    /** Since when its visitor waits for a reply of the assignee, as triggers record it; null if nobody waits or it has no assignee. */
    unansweredSince: integer("unanswered_since"),
    visitorId: text("visitor_id"),
    /** The anonymous visitor who started it and was merged since: their token still opens this conversation, and nothing else. */
    begunBy: text("begun_by"),
    messageCount: count("message_count"),
    /** The visitor's messages to the team that it has not read; a trigger counts them. */
    unreadCount: count("unread_count"),
    /** Until then it is hidden from the lists of waiting conversations; a trigger clears it when the visitor writes. */
    snoozedUntil: integer("snoozed_until"),
    lastMessagePreview: text("last_message_preview"),
    lastMessageAt: integer("last_message_at").notNull(),
    /** The latest message that the columns above include. A trigger counts any other new message: see `latestMessageColumns` in conversations/store.ts. */
    latestMessageId: text("latest_message_id"),
    /** When it is resolved for inactivity. */
    idleAt: integer("idle_at"),
    csatScore: integer("csat_score"),
    csatComment: text("csat_comment"),
    resolvedAt: integer("resolved_at"),
    resolvedBy: text("resolved_by", { enum: RESOLVERS }),
    firstHumanReplyAt: integer("first_human_reply_at"),
    reopenedCount: count("reopened_count"),
    /** The version of the agent with which it started; 0 for the draft. While that version is rolled out, it answers the conversation. */
    agentVersion: integer("agent_version"),
    /** The model sees only messages after this one: set when a resolved conversation is reopened. */
    contextAfter: text("context_after"),
    /** When the agent first replied; set by a trigger, for analytics. */
    firstAiReplyAt: integer("first_ai_reply_at"),
    /** When it was first resolved by the agent without the team (analytics/definitions.ts); set by a trigger. */
    aiResolvedAt: integer("ai_resolved_at"),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (t) => [
    // There is one index for each set of filters that includes a status, in the order of the list. Without a status, a page merges the ranges of
    // all five (conversations/list-store.ts): four more indexes would save little, and cost two writes each for every message.
    index("conversations_by_status").on(t.workspaceId, t.status, t.updatedAt, t.id),
    index("conversations_by_agent_status").on(t.workspaceId, t.agentId, t.status, t.updatedAt, t.id),
    index("conversations_by_status_channel").on(t.workspaceId, t.status, t.channel, t.updatedAt, t.id),
    index("conversations_by_all").on(t.workspaceId, t.agentId, t.status, t.channel, t.updatedAt, t.id),
    index("conversations_visitor").on(t.workspaceId, t.visitorId, t.id),
    // An export reads in the order of ids, since a conversation may get another visitor. The condition holds for every row. It hides the
    // index from other statements, which would sort if they used it.
    partialIndex("conversations_export", [t.workspaceId, t.id], EVERY_CONVERSATION),
    partialIndex("conversations_idle", [t.workspaceId, t.idleAt], sql`status = 'ai_handled'`),
    // Conversations that the agent handles by itself are in neither, so that a question writes nothing to them.
    partialIndex(
      "conversations_assigned",
      [t.workspaceId, t.assigneeId, t.status, t.updatedAt, t.id, t.agentId, t.channel],
      sql`assignee_id IS NOT NULL`,
    ),
    partialIndex(
      "conversations_unassigned",
      [t.workspaceId, t.status, t.updatedAt, t.id, t.agentId, t.channel, t.teamId, t.priority],
      IS_UNASSIGNED,
    ),
    partialIndex(
      "conversations_team",
      [t.workspaceId, t.teamId, t.status, t.updatedAt, t.id, t.agentId, t.channel],
      sql`team_id IS NOT NULL`,
    ),
    partialIndex(
      "conversations_priority",
      [t.workspaceId, t.priority, t.status, t.updatedAt, t.id, t.agentId, t.channel],
      IS_UNUSUAL_PRIORITY,
    ),
    partialIndex(
      "conversations_queued",
      [t.workspaceId, t.queuedAt, t.id, t.teamId, t.priority, t.passedOverId],
      sql`queued_at IS NOT NULL`,
    ),
    partialIndex("conversations_unanswered", [t.workspaceId, t.unansweredSince], sql`unanswered_since IS NOT NULL`),
    partialIndex("conversations_unread", [t.workspaceId, t.status, t.updatedAt, t.id, t.agentId, t.channel], sql`unread_count > 0`),
    partialIndex(
      "conversations_snoozed",
      [t.workspaceId, t.status, t.updatedAt, t.id, t.agentId, t.channel, t.snoozedUntil],
      sql`snoozed_until IS NOT NULL`,
    ),
  ],
);

/** A column for each status, so that a conversation that changes its status changes one row. */
const byStatus = () => ({
  open: count("open"),
  ai_handled: count("ai_handled"),
  needs_human: count("needs_human"),
  human_active: count("human_active"),
  resolved: count("resolved"),
});

/** Conversations by agent, channel and status: every total is a sum of these. */
export const conversationCounts = sqliteTable(
  "conversation_counts",
  { workspaceId: workspaceId(), agentId: text("agent_id").notNull(), channel: text("channel").notNull(), ...byStatus() },
  (t) => [primaryKey({ columns: [t.workspaceId, t.agentId, t.channel] })],
);

/**
 * The number of conversations by the day of their last activity, and by spans of 32 days, so that a total since some time is a sum of
 * spans. Every conversation is counted in one span of each length.
 */
export const conversationSpans = sqliteTable(
  "conversation_spans",
  {
    workspaceId: workspaceId(),
    /** The span's length, 1 or 32. */
    days: integer("days").notNull(),
    /** The span's first day since 1970-01-01, a multiple of its length. */
    day: integer("day").notNull(),
    agentId: text("agent_id").notNull(),
    channel: text("channel").notNull(),
    ...byStatus(),
  },
  (t) => [primaryKey({ columns: [t.workspaceId, t.days, t.day, t.agentId, t.channel] })],
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
    citations: json<Record<string, unknown>[]>("citations", "[]"),
    /** The files that it carries, as the rows of `attachments` were when it was stored. */
    attachments: json<MessageAttachment[]>("attachments", "[]"),
    confidence: real("confidence"),
    needsHuman: flag("needs_human").default(false),
    /** The month whose quota the question used, or null. Clearing it gives the quota back. */
    quotaPeriod: text("quota_period"),
    /** The version of the agent that wrote it; 0 for the draft, null for other authors. */
    agentVersion: integer("agent_version"),
    createdAt: createdAt(),
  },
  (t) => [index("messages_transcript").on(t.workspaceId, t.conversationId, t.createdAt, t.id)],
);

/** Files that were uploaded for messages. attachments/contents.ts says where their bytes are. */
export const attachments = sqliteTable(
  "attachments",
  {
    id: id(),
    workspaceId: workspaceId(),
    /** The conversation and the message that carry it; null until a message takes it. */
    conversationId: text("conversation_id"),
    messageId: text("message_id"),
    /** Whose messages may take it, see attachments/store.ts. */
    owner: text("owner").notNull(),
    name: text("name").notNull(),
    type: text("type", { enum: ATTACHMENT_TYPES }).notNull(),
    size: integer("size").notNull(),
    createdAt: createdAt(),
    /** When it is deleted; null once a message carries it. */
    expiresAt: integer("expires_at"),
  },
  (t) => [
    index("attachments_workspace").on(t.workspaceId, t.id),
    partialIndex("attachments_conversation", [t.workspaceId, t.conversationId, t.id], sql`conversation_id IS NOT NULL`),
    partialIndex("attachments_unused", [t.workspaceId, t.expiresAt], sql`expires_at IS NOT NULL`),
  ],
);

/** The team's internal notes. They are not messages, so that nothing that a visitor or a model reads can include them. */
export const notes = sqliteTable(
  "notes",
  {
    id: id(),
    workspaceId: workspaceId(),
    conversationId: text("conversation_id").notNull(),
    authorId: text("author_id"),
    authorName: text("author_name"),
    content: text("content").notNull(),
    createdAt: createdAt(),
  },
  (t) => [index("notes_conversation").on(t.workspaceId, t.conversationId, t.createdAt, t.id)],
);

/** The tool calls that need the approval of the team. */
export const approvals = sqliteTable(
  "approvals",
  {
    id: id(),
    workspaceId: workspaceId(),
    agentId: text("agent_id").notNull(),
    conversationId: text("conversation_id").notNull(),
    /** The agent's message that told the visitor that a colleague is asked. */
    messageId: text("message_id").notNull(),
    tool: text("tool").notNull(),
    arguments: json<Record<string, unknown>>("arguments", "{}"),
    status: text("status", { enum: APPROVAL_STATUSES }).notNull(),
    reason: text("reason"),
    decidedById: text("decided_by_id"),
    decidedByName: text("decided_by_name"),
    outcome: text("outcome", { enum: APPROVAL_OUTCOMES }),
    requestedAt: integer("requested_at").notNull(),
    decidedAt: integer("decided_at"),
    expiresAt: integer("expires_at").notNull(),
  },
  (t) => [
    index("approvals_conversation").on(t.workspaceId, t.conversationId, t.id),
    index("approvals_status").on(t.workspaceId, t.status, t.id),
    index("approvals_workspace").on(t.workspaceId, t.id),
  ],
);

/** The team's texts for frequent replies. */
export const savedReplies = sqliteTable(
  "saved_replies",
  {
    id: id(),
    workspaceId: workspaceId(),
    name: text("name").notNull(),
    content: text("content").notNull(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
    /** The team that uses it; null for everybody. */
    teamId: text("team_id"),
  },
  (t) => [index("saved_replies_workspace").on(t.workspaceId, t.id)],
);

/** Ratings of answers: at most one by each author for each message. */
export const messageFeedback = sqliteTable(
  "message_feedback",
  {
    id: id(),
    workspaceId: workspaceId(),
    agentId: text("agent_id").notNull(),
    conversationId: text("conversation_id").notNull(),
    messageId: text("message_id").notNull(),
    /** "visitor", or the id of an API key. */
    author: text("author").notNull(),
    rating: text("rating", { enum: RATINGS }).notNull(),
    comment: text("comment"),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (t) => [
    uniqueIndex("message_feedback_message").on(t.workspaceId, t.conversationId, t.messageId, t.author),
    index("message_feedback_rated").on(t.workspaceId, t.rating, t.createdAt, t.id),
    index("message_feedback_agent").on(t.workspaceId, t.agentId, t.rating, t.createdAt, t.id),
  ],
);

/** The number of ratings by agent and by the day on which they were given. Every total of a list of ratings is a sum of these. */
export const feedbackDays = sqliteTable(
  "feedback_days",
  { workspaceId: workspaceId(), day: integer("day").notNull(), agentId: text("agent_id").notNull(), up: count("up"), down: count("down") },
  (t) => [primaryKey({ columns: [t.workspaceId, t.day, t.agentId] })],
);

export const handoffs = sqliteTable(
  "handoffs",
  {
    id: id(),
    workspaceId: workspaceId(),
    agentId: text("agent_id").notNull(),
    conversationId: text("conversation_id").notNull(),
    reason: text("reason", { enum: HANDOFF_REASONS }).notNull(),
    summary: text("summary"),
    triggerMessageId: text("trigger_message_id"),
    /** The question that the agent could not answer, normalized, by which analytics groups questions. */
    questionKey: text("question_key"),
    /** How the model failed, if that is the reason of the hand-off. */
    failure: text("failure"),
    /** When the team opens next, if it was requested outside the business hours. */
    opensAt: integer("opens_at"),
    status: text("status", { enum: HANDOFF_STATUSES }).notNull(),
    requestedAt: integer("requested_at").notNull(),
    acceptedAt: integer("accepted_at"),
    /** When the team first replied while the hand-off was open, as a trigger records it. */
    repliedAt: integer("replied_at"),
    resolvedAt: integer("resolved_at"),
  },
  (t) => [
    index("handoffs_conversation").on(t.workspaceId, t.conversationId, t.id),
    uniqueIndex("handoffs_open")
      .on(t.conversationId)
      .where(sql`status <> 'resolved'`),
    partialIndex("handoffs_failed", [t.requestedAt], sql`failure IS NOT NULL`),
    partialIndex(
      "handoffs_question",
      [t.workspaceId, t.agentId, t.questionKey, t.requestedAt, t.conversationId, t.triggerMessageId],
      sql`question_key IS NOT NULL`,
    ),
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
    customFields: json<Record<string, unknown>>("custom_fields", "{}"),
    sourceUrl: text("source_url"),
    /** When the workspace's index received it; the sweep sends what a crash left behind. */
    indexedAt: integer("indexed_at"),
    createdAt: createdAt(),
  },
  (t) => [
    index("leads_created").on(t.workspaceId, t.createdAt, t.id),
    index("leads_agent").on(t.workspaceId, t.agentId, t.createdAt, t.id),
    index("leads_email").on(t.workspaceId, t.emailKey),
    index("leads_visitor").on(t.workspaceId, t.visitorId),
    partialIndex("leads_unindexed", [t.workspaceId, t.createdAt], sql`indexed_at IS NULL`),
  ],
);

/** Leads by agent: every total without a search or a time is a sum of these. */
export const leadCounts = sqliteTable(
  "lead_counts",
  { workspaceId: workspaceId(), agentId: text("agent_id").notNull(), count: count("count") },
  (t) => [primaryKey({ columns: [t.workspaceId, t.agentId] })],
);

/** Leads by agent and day, for totals since some time. */
export const leadDays = sqliteTable(
  "lead_days",
  { workspaceId: workspaceId(), day: integer("day").notNull(), agentId: text("agent_id").notNull(), count: count("count") },
  (t) => [primaryKey({ columns: [t.workspaceId, t.day, t.agentId] })],
);

// --- Analytics: maintained by triggers (migrations/0001_triggers.sql), see analytics/definitions.ts -----------------

const counters = (name: string) => json<Record<string, number>>(name, "{}");

/** The counters that a day and its changes have in common. */
function dayCounters<Counter>(column: (name: string) => Counter) {
  return {
    // The number of events on that day.
    messages: column("messages"),
    aiReplies: column("ai_replies"),
    humanReplies: column("human_replies"),
    leads: column("leads"),
    handoffs: column("handoffs"),
    unanswered: column("unanswered"),
    ratedUp: column("rated_up"),
    ratedDown: column("rated_down"),
    aiResolutions: column("ai_resolutions"),
    aiResolutionsUndone: column("ai_resolutions_undone"),
    // The conversations that started on that day, and how many of them were handed off, resolved and so on.
    conversations: column("conversations"),
    withAgent: column("with_agent"),
    handedOff: column("handed_off"),
    aiResolved: column("ai_resolved"),
    resolved: column("resolved"),
    reopened: column("reopened"),
    csatSum: column("csat_sum"),
    csatCount: column("csat_count"),
  };
}

/** Counters by name, within a day. */
function namedCounters() {
  return {
    handoffReasons: counters("handoff_reasons"),
    channels: counters("channels"),
    /** Histograms: conversations by bucket of time. */
    firstResponses: counters("first_responses"),
    resolutions: counters("resolutions"),
    /** A histogram: hand-offs by the time until the team replied. */
    teamReplies: counters("team_replies"),
  };
}

/** A UTC day of an agent, or of all agents under the agent id `''`. */
export const analyticsDays = sqliteTable(
  "analytics_days",
  {
    workspaceId: workspaceId(),
    agentId: text("agent_id").notNull(),
    /** Days since 1970-01-01. */
    day: integer("day").notNull(),
    ...dayCounters(count),
    ...namedCounters(),
  },
  (t) => [primaryKey({ columns: [t.workspaceId, t.agentId, t.day] })],
);

/**
 * The sums of the named counters over 16 days, so that an overview of a year reads about forty rows instead of 365. An overview adds
 * the spans that are missing, and a trigger deletes a span when such a counter of one of its days changes.
 */
export const analyticsSpans = sqliteTable(
  "analytics_spans",
  {
    workspaceId: workspaceId(),
    agentId: text("agent_id").notNull(),
    /** The span's first day since 1970-01-01, a multiple of 16. */
    day: integer("day").notNull(),
    ...namedCounters(),
  },
  (t) => [primaryKey({ columns: [t.workspaceId, t.agentId, t.day] })],
);

/**
 * The conversations and answers of each version of an agent, in which triggers count it (migrations/0006_agent_versions.sql). A row is deleted
 * with its version.
 */
export const agentVersionCounts = sqliteTable(
  "agent_version_counts",
  {
    workspaceId: workspaceId(),
    agentId: text("agent_id").notNull(),
    version: integer("version").notNull(),
    // Answers that the version wrote, and their ratings.
    aiReplies: count("ai_replies"),
    handoffReplies: count("handoff_replies"),
    ratedUp: count("rated_up"),
    ratedDown: count("rated_down"),
    // Conversations that started with the version and in which the agent wrote.
    conversations: count("conversations"),
    handedOff: count("handed_off"),
    aiResolved: count("ai_resolved"),
    csatSum: count("csat_sum"),
    csatCount: count("csat_count"),
  },
  (t) => [primaryKey({ columns: [t.workspaceId, t.agentId, t.version] })],
);

/**
 * Never holds a row: a trigger adds inserted values to the days of the agent and of all agents, and ignores the insert. A view
 * would do, but `wrangler d1 export` omits views.
 */
export const analyticsChanges = sqliteTable("analytics_changes", {
  workspaceId: workspaceId(),
  agentId: text("agent_id").notNull(),
  day: integer("day").notNull(),
  ...dayCounters((name) => integer(name)),
  handoffReason: text("handoff_reason"),
  channel: text("channel"),
  firstResponseMs: integer("first_response_ms"),
  resolutionMs: integer("resolution_ms"),
  teamReplyMs: integer("team_reply_ms"),
});

/** Questions that the agent could not answer. A question is deleted with its last hand-off. */
export const unansweredQuestions = sqliteTable(
  "unanswered_questions",
  {
    workspaceId: workspaceId(),
    /** Empty for all agents together. */
    agentId: text("agent_id").notNull(),
    questionKey: text("question_key").notNull(),
    /** The question as it was last asked. */
    question: text("question").notNull(),
    /** How often it was asked in the year up to the last time. */
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
 * The days on which such a question was asked, with running totals, so that a count over any range is the difference of two
 * rows. Of the days more than a year before the last, only the latest is kept.
 */
export const unansweredQuestionDays = sqliteTable(
  "unanswered_question_days",
  {
    workspaceId: workspaceId(),
    agentId: text("agent_id").notNull(),
    questionKey: text("question_key").notNull(),
    day: integer("day").notNull(),
    /** How often it had been asked by the end of the day. */
    askedUntil: count("asked_until"),
  },
  (t) => [primaryKey({ columns: [t.workspaceId, t.agentId, t.questionKey, t.day] })],
);

// --- Email ----------------------------------------------------------------------------------------------------------

/** The headers that keep the mails of a conversation in one thread of a mail program. */
export const emailThreads = sqliteTable(
  "email_threads",
  {
    conversationId: text("conversation_id").primaryKey(),
    workspaceId: workspaceId(),
    /** The recipient of the agent's mails. */
    address: text("address").notNull(),
    subject: text("subject").notNull(),
    /** The Message-ID of the visitor's latest mail; `earlierIds` holds the earlier ones, oldest first. */
    lastMessageId: text("last_message_id"),
    earlierIds: list("earlier_ids"),
    createdAt: createdAt(),
  },
  (t) => [
    index("email_threads_workspace").on(t.workspaceId, t.conversationId),
    index("email_threads_address").on(t.workspaceId, t.address),
  ],
);

/** Recent inbound mails, for deduplication and rate limits. The sweep prunes them. */
export const inboundEmails = sqliteTable(
  "inbound_emails",
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
    index("inbound_emails_sender").on(t.workspaceId, t.senderKey, t.createdAt),
    index("inbound_emails_created").on(t.createdAt),
  ],
);

/** Messages to be sent as mail; a trigger adds each message of a team member or agent in an email conversation. */
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
    /** The error code of the mail service. */
    error: text("error"),
    createdAt: createdAt(),
  },
  (t) => [
    index("email_outbox_conversation").on(t.workspaceId, t.conversationId),
    partialIndex("email_outbox_due", [t.workspaceId, t.nextAttemptAt], sql`status = 'pending'`),
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
    /** When an event was last not delivered, because the day's deliveries of the plan were used up. */
    lastSkippedAt: integer("last_skipped_at"),
    /** How long its last request took, or has taken so far. */
    lastDurationMs: integer("last_duration_ms"),
    /** Encrypted, like the previous one, which also signs until its time. */
    secret: text("secret").notNull(),
    /** Which request rotated the secret, so that its retry does not rotate it again. */
    rotationId: text("rotation_id"),
    previousSecret: text("previous_secret"),
    previousSecretUntil: integer("previous_secret_until"),
    /** Those before the previous one that still sign, if the secret was rotated several times within a day. */
    olderSecrets: json<OlderSecret[]>("older_secrets", "[]"),
    // Deliveries by status.
    pendingCount: count("pending_count"),
    succeededCount: count("succeeded_count"),
    failedCount: count("failed_count"),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (t) => [index("webhook_endpoints_workspace").on(t.workspaceId, t.id)],
);

/** Deleted endpoints whose delivery log is being erased. A row is deleted when its erasure is complete. */
export const webhookErasures = sqliteTable(
  "webhook_erasures",
  {
    /** The id of the endpoint. */
    id: id(),
    workspaceId: workspaceId(),
    createdAt: createdAt(),
  },
  (t) => [index("webhook_erasures_workspace").on(t.workspaceId, t.createdAt)],
);

export const events = sqliteTable(
  "events",
  {
    id: id(),
    workspaceId: workspaceId(),
    type: text("type").notNull(),
    /** The exact bytes that every attempt sends. */
    payload: text("payload").notNull(),
    /** The conversation or lead in the payload: both are erased together. */
    conversationId: text("conversation_id"),
    leadId: text("lead_id"),
    /** Its place among the workspace's events, in the order in which they were committed: see events/outbox.ts. */
    sequence: count("sequence"),
    createdAt: createdAt(),
  },
  (t) => [
    index("events_created").on(t.createdAt),
    index("events_workspace").on(t.workspaceId, t.id),
    index("events_conversation").on(t.workspaceId, t.conversationId),
    index("events_lead").on(t.workspaceId, t.leadId),
    index("events_sequence").on(t.workspaceId, t.sequence),
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
    partialIndex("deliveries_due", [t.workspaceId, t.nextAttemptAt], sql`status = 'pending'`),
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
    /** The conversation of the response: both are erased together. */
    conversationId: text("conversation_id"),
    responseTruncated: flag("response_truncated").default(false),
    error: text("error"),
    url: text("url").notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.deliveryId, t.number] }),
    index("delivery_attempts_workspace").on(t.workspaceId, t.deliveryId),
    partialIndex("delivery_attempts_answered", [t.startedAt], sql`error IS NULL AND response_body IS NOT NULL`),
  ],
);
