import { and, eq, getTableColumns, inArray, isNotNull, isNull, ne, type SQL, sql } from "drizzle-orm";
import { areTakable, listTakable, missingFiles, takeFiles, takenFiles } from "../attachments/store.ts";
import { findAgent } from "../agents/store.ts";
import { answeringVersion, versionAtStart } from "../agents/version-store.ts";
import { bucketOf, DRAFT } from "../agents/versions.ts";
import {
  conversationExists,
  latestMessageColumns,
  createHandoff,
  erasureExists,
  isConversation,
  messageTime,
  NEWEST_MESSAGE_FIRST,
  recordAnswer,
  SUBJECT_LENGTH,
  transitionConversation,
} from "../conversations/store.ts";
import { conversationRecord, messageRecord } from "../conversations/payloads.ts";
import type { Citation } from "../knowledge/search-wire.ts";
import { HUMAN_STATUSES, SILENCING_REASONS, transitionOn } from "../conversations/status.ts";
import { appendEvent } from "../events/outbox.ts";
import { MAX_HISTORY_MESSAGES } from "../models/limits.ts";
import type { Database } from "../platform/db/client.ts";
import { type BusinessHours, type ConversationStatus, type HandoffReason, UNANSWERED_REASONS } from "../platform/db/columns.ts";
import { compiled } from "../platform/db/compiled.ts";
import { newId, shardOf } from "../platform/db/ids.ts";
import { agents, conversations, handoffs, leads, messages, sources, usagePeriods, visitors, workspaces } from "../platform/db/schema.ts";
import { exists, IF_CHANGED, insertWhere, isOfAgent, isOfConversation, isOwn, type Statement, transact } from "../platform/db/sql.ts";
import { normalizeEmail, toSingleLine } from "../platform/text.ts";
import { findRedaction } from "../redaction/store.ts";
import { type LimitWindow, findFullWindow, windowsOf } from "../workspaces/usage-limits.ts";
import { countInWindows, listCounts, windowsHaveRoom } from "../workspaces/usage-limit-store.ts";
import type { Answer } from "./answer.ts";
import { type Question, questionKeyOf } from "./question.ts";
import { belongsToVisitor, mergedVisitorId, resolveVisitorId, upsertVisitor } from "./visitor-store.ts";
import type { ChatAnswer } from "./wire.ts";

/** How many of an agent's sources its replies name. */
const MAX_TOPICS = 3;

/** Conditions under which a question is stored. */
interface StoreConditions {
  /** Stores the question even if it exceeds a limit. */
  ignoresLimits?: boolean;
  /** The hashes under which an erasure of its visitor is recorded. After such an erasure, the question is not stored. */
  subjectHashes?: string[] | undefined;
}

type CheckedQuestion = Question & StoreConditions;

/**
 * The first batch of a turn: reads what the answer needs, and stores the question if it may be asked. Each write depends on the
 * same condition (`isAdmitted`), and running the batch again changes nothing.
 * @param options `isSmallTalk` also reads the names of the agent's sources, which an answer to small talk mentions.
 */
export async function beginTurn(
  db: Database,
  question: Question,
  { isSmallTalk = false, ...conditions }: StoreConditions & { isSmallTalk?: boolean } = {},
) {
  const { workspaceId, nowMs, visitor } = question;
  const windows = windowsFor(question);
  const emailKey = visitor?.email ? normalizeEmail(visitor.email) : null;
  const checked = { ...storedPart(question), ...conditions };
  const bucket = bucketOf(question.conversationId);
  const values = { question: checked, windows, emailKey, bucket, eventId: newId(shardOf(workspaceId), nowMs) };
  // The number of hashes varies, and a compiled statement takes its values unchanged, so statements with hashes are not compiled.
  const { before, ...batch } = conditions.subjectHashes ? buildBegin(db, values) : compiledBegin(db, values);
  const topics = isSmallTalk && { topics: listTopics(db, question) };
  const sent = windows.length > 0 && { sent: listCounts(db, workspaceId, windows) };
  const ran = await transact(db, { before: { ...before, ...topics, ...sent }, ...batch });
  const [found, { stored }] = [ran.before, ran.after];
  const continued = found.continued?.[0];
  return {
    agent: found.agent[0],
    redaction: found.redaction[0]?.redaction ?? {},
    continued,
    conversation: question.isNew ? stored[0]?.state : continued,
    history: found.history ?? [],
    topics: (found.topics ?? []).map(({ name }) => name),
    full: findFullWindow(windows, found.sent ?? []),
    unknownFiles: missingFiles(question.files, found.takable),
    stored,
    written: ran.written,
  };
}

/** The windows in which a question is counted. A new conversation over the API is for the agent, so that its question uses the quota. */
function windowsFor({ messageLimit, isNew, nowMs }: Question): LimitWindow[] {
  return messageLimit && !(messageLimit.onlyOutsideQuota && isNew) ? windowsOf(messageLimit, nowMs) : [];
}

/**
 * Leaves out fields that no statement uses, and adds the subject of a new conversation. Statements are compiled for each shape of their
 * values, and callers choose these shapes.
 */
function storedPart({
  filter: _filter,
  settings: _settings,
  earlier: _earlier,
  clientTools: _clientTools,
  ...question
}: Question): Question {
  return question.isNew ? { ...question, subject: question.subject ?? toSingleLine(question.message, SUBJECT_LENGTH) } : question;
}

interface BeginValues {
  question: CheckedQuestion;
  windows: LimitWindow[];
  emailKey: string | null;
  /** See `bucketOf`. */
  bucket: number;
  eventId: string;
}

const compiledBegin = compiled(buildBegin);

function buildBegin(db: Database, { question, windows, emailKey, bucket, eventId }: BeginValues) {
  const { workspaceId, agentId, conversationId, nowMs, visitor, isNew } = question;
  const admitted = isAdmitted(question, windows);
  const event = { id: eventId, workspaceId, conversationId, nowMs };
  return {
    before: {
      agent: findAgent(db, workspaceId, agentId),
      redaction: findRedaction(db, workspaceId),
      // A new conversation has no history, and its state is read after the writes.
      ...(!isNew && { continued: findConversationState(db, question), history: listHistory(db, question) }),
      ...(question.files && { takable: listTakable(db, takingOf(question, question.files)) }),
    },
    writes: [
      ...(visitor ? upsertVisitor(db, question, { ...visitor, emailKey }, admitted) : []),
      ...(isNew ? [createConversation(db, question, bucket, admitted)] : continueConversation(db, question, admitted)),
      addQuestion(db, question, admitted),
      ...countInWindows(
        db,
        workspaceId,
        windows,
        question.messageLimit?.onlyOutsideQuota ? sql`${IF_CHANGED} AND ${isOutsideQuota(question)}` : IF_CHANGED,
      ),
      ...(isNew ? appendEvent(db, event, "conversation.created", conversationRecord(conversationId)) : []),
      ...(question.files ? [takeFiles(db, { ...takingOf(question, question.files), conversationId })] : []),
    ],
    after: { stored: listTurnMessages(db, question) },
  };
}

/** The files that a question takes. */
function takingOf({ workspaceId, questionId: messageId, nowMs }: Question, files: NonNullable<Question["files"]>) {
  return { ...files, workspaceId, messageId, nowMs };
}

/**
 * The result of the first batch: the agent, the conversation that the turn continues, the state of that or of the new one, its last
 * messages, the window of visitors' messages that was full, and the turn's own messages as far as they are stored.
 */
export type TurnState = Awaited<ReturnType<typeof beginTurn>>;

function findConversationState(db: Database, question: CheckedQuestion) {
  return db
    .select({
      agentId: conversations.agentId,
      channel: conversations.channel,
      belongsToVisitor: sql<number>`${belongsToVisitor(question, sql`${conversations.visitorId}`)}`.as("belongs_to_visitor"),
      hasRoom: sql<number>`${hasRoom(question, sql`${conversations.messageCount}`)}`.as("has_room"),
      ...stateColumns(question),
    })
    .from(conversations)
    .where(isConversation(question));
}

/** The columns of a conversation's status and of its hand-off. */
function stateColumns(question: Question) {
  return {
    status: sql<ConversationStatus>`${conversations.status}`.as("conversation_status"),
    openReason: sql<HandoffReason | null>`${openHandoff(question, sql`reason`)}`.as("open_reason"),
    pendingReason: sql<HandoffReason | null>`${pendingReason(question)}`.as("pending_reason"),
  };
}

/** SQL: a column of the conversation's unresolved hand-off; NULL if there is none. */
function openHandoff({ workspaceId, conversationId }: Question, column: SQL): SQL {
  return sql`(SELECT ${column} FROM ${handoffs} WHERE conversation_id = ${conversationId} AND workspace_id = ${workspaceId} AND status <> 'resolved')`;
}

/** SQL: the reason of the hand-off that no human has accepted yet; NULL if there is none. */
function pendingReason(question: Question): SQL {
  return openHandoff(question, sql`CASE WHEN status = 'pending' THEN reason END`);
}

function listTopics(db: Database, { workspaceId, agentId }: Question) {
  return db
    .select({ name: sources.name })
    .from(sources)
    .where(and(isOfAgent(sources, { workspaceId, agentId }), eq(sources.status, "ready")))
    .orderBy(sources.id)
    .limit(MAX_TOPICS);
}

/** Lists the last messages since the conversation was reopened, newest first. A stored question is not among them. */
function listHistory(db: Database, question: Question) {
  const { conversationId, questionId } = question;
  const reopenedAfter = sql`(SELECT m.created_at FROM ${conversations} c JOIN ${messages} m ON m.id = c.context_after WHERE c.id = ${conversationId})`;
  const askedAt = sql`(SELECT created_at FROM ${messages} WHERE id = ${questionId})`;
  return db
    .select({ role: messages.role, content: messages.content })
    .from(messages)
    .where(
      and(
        isOfConversation(messages, question),
        sql`${messages.createdAt} > coalesce(${reopenedAfter}, 0)`,
        sql`${messages.createdAt} < coalesce(${askedAt}, ${Number.MAX_SAFE_INTEGER})`,
        ne(messages.role, "system"),
      ),
    )
    .orderBy(...NEWEST_MESSAGE_FIRST)
    .limit(MAX_HISTORY_MESSAGES);
}

function createConversation(db: Database, question: Question, bucket: number, isAdmitted: SQL) {
  const { workspaceId, agentId, channel, nowMs, questionId, message } = question;
  const row = {
    id: question.conversationId,
    workspaceId,
    agentId,
    channel,
    status: "open" as const,
    subject: question.subject ?? null,
    visitorId: visitorIdOf(question),
    begunBy: question.visitor ? mergedVisitorId(question, question.visitor) : null,
    agentVersion: question.version ? DRAFT : versionAtStart(agentId, bucket),
    messageCount: 1,
    ...latestMessageColumns(agentId, { id: questionId, content: message, at: nowMs }),
    createdAt: nowMs,
    updatedAt: nowMs,
  };
  return insertWhere(db, conversations, row, isAdmitted).onConflictDoNothing();
}

/** Opens a resolved conversation again, and assigns a conversation without a visitor to the visitor who asks. */
function continueConversation(db: Database, question: Question, isAdmitted: SQL) {
  const where = sql`${isAdmitted} AND NOT ${exists(messages, eq(messages.id, question.questionId))}`;
  const visitorId = visitorIdOf(question);
  const attach = db
    .update(conversations)
    .set({ visitorId })
    .where(and(isConversation(question), isNull(conversations.visitorId), where));
  return [
    ...(question.visitor ? [attach] : []),
    transitionConversation(db, question, transitionOn("visitor_wrote"), { nowMs: question.nowMs, where }),
  ];
}

/**
 * Stores the question. It counts toward the quota if the agent is to answer it. A question to humans does not count, and is stored
 * even if the quota is used up or the agent is paused.
 */
function addQuestion(db: Database, question: Question, isAdmitted: SQL) {
  const { workspaceId, conversationId, visitor, nowMs } = question;
  const row = {
    id: question.questionId,
    workspaceId,
    conversationId,
    role: "user" as const,
    authorType: "visitor" as const,
    authorId: visitorIdOf(question),
    authorName: visitor?.name ?? null,
    content: question.message,
    ...(question.files && { attachments: takenFiles(takingOf(question, question.files)) }),
    quotaPeriod: sql`CASE WHEN ${usesQuota(question)} THEN ${question.quota.period} END`,
    createdAt: question.isNew ? nowMs : messageTime(question, nowMs),
  };
  return insertWhere(db, messages, row, isAdmitted).onConflictDoNothing();
}

/** SQL condition: the agent is to answer the question, so that it uses the quota. */
function usesQuota(question: Question): SQL {
  const status = sql`(SELECT status FROM ${conversations} WHERE id = ${question.conversationId})`;
  const isWaiting = sql`${status} = 'needs_human' AND ${pendingReason(question)} NOT IN ${SILENCING_REASONS}`;
  return sql`((${status} NOT IN ${HUMAN_STATUSES} OR coalesce(${isWaiting}, FALSE)) AND ${mayBeAnswered(question)})`;
}

/** SQL condition: the question is stored, and does not use the quota. */
function isOutsideQuota({ workspaceId, questionId }: Question): SQL {
  return exists(messages, isOwn(messages, workspaceId, questionId), isNull(messages.quotaPeriod));
}

/**
 * Lists the turn's own messages, as far as they are stored, with the visitor who asks, the state of the conversation, the version of
 * the agent that answers it instead of the published one, and the business hours of the team.
 */
function listTurnMessages(db: Database, question: Question) {
  const { workspaceId, questionId, answerId } = question;
  const { externalId, email, emailVerified, verified } = visitors;
  const version = answeringVersion(question, question.version !== undefined);
  const businessHours = sql`(SELECT business_hours FROM ${workspaces} WHERE id = ${workspaceId})`
    .mapWith(workspaces.businessHours)
    .as("team_hours") as SQL.Aliased<Partial<BusinessHours> | null>;
  const hasLead = sql`EXISTS (SELECT 1 FROM ${leads} l WHERE l.workspace_id = ${workspaceId} AND l.visitor_id = ${messages.authorId})`;
  const hasContact = sql<number>`(${email} IS NOT NULL OR ${hasLead})`.as("has_contact");
  const visitor = { externalId, email, emailVerified, verified, hasContact };
  return db
    .select({ ...storedReplyColumns, ...visitor, version, businessHours, state: stateColumns(question) })
    .from(messages)
    .innerJoin(conversations, eq(conversations.id, messages.conversationId))
    .leftJoin(visitors, and(eq(visitors.id, messages.authorId), eq(visitors.workspaceId, messages.workspaceId)))
    .where(and(eq(messages.workspaceId, workspaceId), inArray(messages.id, [questionId, answerId])));
}

/**
 * The second batch of a turn: the answer, the conversation's new status and, if a human is needed, the hand-off.
 * @param furtherWrites further statements of the batch.
 * @returns the conversation's new status, which is undefined if it was erased, the reason of its open hand-off, and what was written.
 */
export async function finishTurn(
  db: Database,
  question: Question,
  { handoff, citations, ...given }: Answer & { agentName: string; agentVersion: number; nowMs: number },
  furtherWrites: readonly Statement[] = [],
) {
  const { nowMs } = given;
  const needsHuman = handoff !== null && !handoff.isOff;
  const answer = { ...given, citations: JSON.stringify(citations), needsHuman };
  // A conversation in the playground never waits for the team.
  const isWaiting = needsHuman && question.channel !== "playground";
  const eventId = newId(shardOf(question.workspaceId), nowMs);
  const [first, ...rest] = compiledFinish(db, { question: storedPart(question), answer, isWaiting, eventId });
  const written = await db.batch([
    first,
    ...rest,
    ...(isWaiting ? handoffWrites(db, question, handoff, nowMs) : []),
    ...furtherWrites,
    ...(handoff?.reason === "model_failure" ? refundQuota(db, { ...question, nowMs }) : []),
  ]);
  // Another attempt has stored the answer, or the conversation is erased.
  const [conversation] = written[0].length > 0 ? written[0] : (await db.batch([findConversationState(db, question)]))[0];
  return { status: conversation?.status, openReason: conversation?.openReason ?? null, written };
}

interface FinishValues {
  question: Question;
  /** The citations are JSON. */
  answer: {
    text: string;
    citations: string;
    confidence: number;
    needsHuman: boolean;
    agentName: string;
    agentVersion: number;
    nowMs: number;
  };
  /** Whether the conversation waits for the team from now on. */
  isWaiting: boolean;
  eventId: string;
}

const compiledFinish = compiled((db, { question, answer, isWaiting, eventId }: FinishValues) => {
  const { workspaceId, conversationId, answerId } = question;
  const { text: content, nowMs } = answer;
  const event = { id: eventId, workspaceId, conversationId, nowMs };
  const record = { id: answerId, content, isWaiting, nowMs };
  return [
    recordAnswer(db, question, record, transitionOn(isWaiting ? "agent_handed_off" : "agent_answered")).returning(stateColumns(question)),
    addAnswer(db, question, answer),
    ...appendEvent(db, event, "message.ai_replied", messageRecord(answerId)),
  ] as const;
});

/** Stores the answer at the time of the conversation's last message, which `recordAnswer` has just set. */
function addAnswer(db: Database, question: Question, given: FinishValues["answer"]) {
  const { text, citations, confidence, needsHuman, agentName, agentVersion } = given;
  const { workspaceId, conversationId, agentId } = question;
  const answer = {
    id: question.answerId,
    workspaceId,
    conversationId,
    role: "assistant" as const,
    authorType: "agent" as const,
    authorId: agentId,
    authorName: agentName,
    content: text,
    citations: sql`${citations}`,
    confidence,
    needsHuman,
    agentVersion,
    createdAt: sql`(SELECT last_message_at FROM ${conversations} WHERE id = ${conversationId})`,
  };
  return insertWhere(db, messages, answer, conversationExists(question)).onConflictDoNothing();
}

function handoffWrites(db: Database, question: Question, handoff: NonNullable<Answer["handoff"]>, nowMs: number) {
  const { isOff: _isOff, opensAtMs: opensAt, routingText, ...cause } = handoff;
  const { texts, language } = routingText;
  // Knowledge alone would not answer a question about a file.
  const isGap = UNANSWERED_REASONS.includes(cause.reason) && !question.files;
  const questionKey = isGap ? questionKeyOf(question.message) : null;
  const routed = { texts: question.subject === undefined ? texts : [...texts, question.subject], language };
  return createHandoff(db, { ...question, nowMs }, { ...cause, opensAt, triggerMessageId: question.questionId, questionKey }, routed);
}

/**
 * Takes a question out of the quota, since the service failed to answer it or a human does. Over the API it then counts among the day's
 * messages, and where these have no room, it stays in the quota: a model whose name the workspace has misspelled fails each question.
 */
export function refundQuota(db: Database, { workspaceId, questionId, messageLimit, nowMs }: Question) {
  const windows = messageLimit?.onlyOutsideQuota ? windowsOf(messageLimit, nowMs) : [];
  return [
    db
      .update(messages)
      .set({ quotaPeriod: null })
      .where(and(isOwn(messages, workspaceId, questionId), isNotNull(messages.quotaPeriod), windowsHaveRoom(workspaceId, windows))),
    ...countInWindows(db, workspaceId, windows, IF_CHANGED),
  ] as const;
}

/** SQL condition: the agent is active, and the month's quota is not used up. */
function mayBeAnswered({ workspaceId, agentId, quota }: Question): SQL {
  const isActive = sql`EXISTS (SELECT 1 FROM ${agents} WHERE id = ${agentId} AND status = 'active')`;
  const used = sql`(SELECT messages FROM ${usagePeriods} WHERE workspace_id = ${workspaceId} AND period = ${quota.period})`;
  return sql`(${isActive} AND coalesce(${used}, 0) < ${quota.limit})`;
}

/** SQL condition of every write of the first batch. `refusalOf` says which part of it did not hold. */
function isAdmitted(question: CheckedQuestion, windows: readonly LimitWindow[]): SQL {
  const { workspaceId, agentId, conversationId } = question;
  const agent = sql`FROM ${agents} a JOIN ${workspaces} w ON w.id = a.workspace_id`;
  const agentFits = sql`a.id = ${agentId} AND a.workspace_id = ${workspaceId} AND w.deleted_at IS NULL`;
  const isSent = windowsHaveRoom(workspaceId, windows);
  const { onlyOutsideQuota } = question.messageLimit ?? {};
  const hasRoomToday = onlyOutsideQuota ? sql`(c.status NOT IN ${HUMAN_STATUSES} OR ${usesQuota(question)} OR ${isSent})` : isSent;
  const hasFiles = question.files && !question.ignoresLimits ? areTakable(takingOf(question, question.files)) : sql`TRUE`;
  const hasRoomNow = question.ignoresLimits ? sql`TRUE` : question.isNew ? isSent : hasRoomToday;
  const isWithin = sql`${hasRoomNow} AND ${hasFiles} AND ${isNotErased(question)}`;
  const mayBeAsked = question.ignoresLimits ? sql`TRUE` : mayBeAnswered(question);
  if (question.isNew) return sql`EXISTS (SELECT 1 ${agent} WHERE ${agentFits} AND ${mayBeAsked}) AND ${isWithin}`;
  return sql`EXISTS (SELECT 1 ${agent} JOIN ${conversations} c ON c.agent_id = a.id
    WHERE ${agentFits} AND c.id = ${conversationId} AND c.workspace_id = ${workspaceId} AND c.channel = ${question.channel}
      AND ${belongsToVisitor(question, sql`c.visitor_id`)} AND ${hasRoom(question, sql`c.message_count`)}
      AND (c.status IN ${HUMAN_STATUSES} OR ${mayBeAsked}) AND ${isWithin})`;
}

/** SQL condition: the visitor was not erased while the question waited. */
function isNotErased({ workspaceId, subjectHashes, nowMs }: CheckedQuestion): SQL {
  return subjectHashes ? sql`NOT ${erasureExists(workspaceId, nowMs, subjectHashes)}` : sql`TRUE`;
}

/** SQL condition: a conversation with this number of messages has room for a question and its answer. */
function hasRoom({ maxMessages, ignoresLimits }: CheckedQuestion, messageCount: SQL): SQL {
  return ignoresLimits ? sql`TRUE` : sql`${messageCount} + 2 <= ${maxMessages}`;
}

/** SQL: the id of the question's visitor, or of the conversation's visitor if the question names nobody. */
function visitorIdOf({ workspaceId, conversationId, visitor }: Question): SQL {
  return visitor
    ? resolveVisitorId(workspaceId, visitor.anonId)
    : sql`(SELECT visitor_id FROM ${conversations} WHERE id = ${conversationId})`;
}

/** The columns of a message, and the reason of the last hand-off up to it. */
export const storedReplyColumns = {
  ...getTableColumns(messages),
  handoffReason: sql<HandoffReason | null>`(SELECT h.reason FROM ${handoffs} h WHERE h.workspace_id = "messages"."workspace_id"
    AND h.conversation_id = "messages"."conversation_id" AND h.requested_at <= "messages"."created_at" ORDER BY h.id DESC LIMIT 1)`.as(
    "handoff_reason",
  ),
};

export type StoredReply = typeof messages.$inferSelect & { handoffReason: HandoffReason | null };

/** Returns a stored answer as it was first given, except for the status, which is the conversation's current one. */
export function toChatAnswer(stored: StoredReply, status: ConversationStatus): ChatAnswer {
  const { id, conversationId, content, confidence, needsHuman } = stored;
  const fields = { answer: content, citations: stored.citations as Citation[], confidence: confidence ?? 0, needs_human: needsHuman };
  return {
    ...fields,
    conversation_id: conversationId,
    message_id: id,
    status,
    handoff_reason: needsHuman ? stored.handoffReason : null,
    required_action: null,
  };
}

/** Finds an agent's answer in a conversation. */
export const findReply = compiled((db, workspaceId: string, conversationId: string, messageId: string) =>
  db
    .select(storedReplyColumns)
    .from(messages)
    .where(isAnswer(workspaceId, conversationId, messageId)),
);

/** SQL condition on `messages`: the message is an agent's answer in this conversation. */
export function isAnswer(workspaceId: string | SQL, conversationId: string, messageId: string): SQL {
  return and(isOwn(messages, workspaceId, messageId), eq(messages.conversationId, conversationId), eq(messages.role, "assistant"))!;
}
