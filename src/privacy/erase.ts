import { removeFiles } from "../attachments/uploads.ts";
import type { BatchItem } from "drizzle-orm/batch";
import { sessionOf } from "../chat/session.ts";
import { type PersonIdentifier, subjectHashOf } from "../conversations/persons.ts";
import { conversationIndexOf } from "../conversations/conversation-index.ts";
import { eraseLeads } from "../leads/leads.ts";
import { secretValues } from "../platform/config.ts";
import { decryptSecret, encryptSecret } from "../platform/crypto/secrets.ts";
import type { Operation } from "../platform/db/client.ts";
import { newId, shardOf } from "../platform/db/ids.ts";
import { emailOfAnonId } from "../platform/text.ts";
import { DAY_MS } from "../platform/time.ts";
import type { AuditedOperation } from "../workspaces/audit-store.ts";
import { dayWindow, type LimitWindow } from "../workspaces/usage-limits.ts";
import {
  createErasure,
  type DeletedCounts,
  eraseConversationRows,
  eraseLeadEvents,
  eraseThreadsWith,
  findAudit,
  finishErasure,
  updateDeleted,
} from "./erasure-store.ts";
import {
  eraseRemovedMember,
  eraseVisitors,
  listConversations,
  listLeads,
  listLeadsByVisitor,
  listUploads,
  listVisitors,
} from "./person-store.ts";

/** How many conversations, each with a Durable Object, or leads one step erases. */
export const RECORDS_PER_STEP = 50;
/** How many rows of each kind one step deletes: well below the limits of a D1 query. */
export const ROWS_PER_STEP = 2_000;
/** How many attachments are deleted at once, each with its bytes. */
const FILES_PER_STEP = 500;

/** How long the record of an erasure is kept that found nothing to delete. */
const EMPTY_RECORD_MS = 30 * DAY_MS;

/** The kinds of records that are counted. A response names all of them. */
const KINDS = [
  "visitors",
  "conversations",
  "messages",
  "attachments",
  "notes",
  "message_feedback",
  "answer_drafts",
  "approvals",
  "handoffs",
  "leads",
  "events",
  "deliveries",
  "delivery_attempts",
  "email_outbox",
  "email_threads",
  "idempotency_records",
  "members",
];

/** The result of an erasure: `rate_limited` if it was not started, because the day's erasures are used up. */
type ErasureResult = { outcome: "erased"; auditId: string; deleted: DeletedCounts } | { outcome: "rate_limited"; full: LimitWindow };

/**
 * Erases all data about a person, in bounded steps. The erasure is recorded in D1 first, so that the sweep resumes it if it is
 * interrupted. Repeating it is safe.
 * @param perDay how many erasures the workspace may start in a day.
 */
export async function erasePerson(op: AuditedOperation, person: PersonIdentifier, perDay: number): Promise<ErasureResult> {
  const { env, db, workspaceId, nowMs, actor } = op;
  const auditId = newId(shardOf(workspaceId), nowMs);
  const hashOf = (one: PersonIdentifier) => subjectHashOf(secretValues(env.KEY_SECRET)[0], workspaceId, one);
  const [visitors] = await db.batch([listVisitors(db, workspaceId, person)]);
  const subjectHash = await hashOf(person);
  // By these hashes, turns refuse questions of the erased visitors that are not stored yet.
  const visitorHashes = await Promise.all(visitors.map(({ anonId }) => hashOf({ type: "anon_id", value: anonId })));
  const detail = { deleted: zeroCounts(), visitors: visitorHashes };
  const audit = { id: auditId, workspaceId, actor, action: "privacy.erase", subjectHash, detail, createdAt: nowMs };
  const identifier = await encryptSecret(env, JSON.stringify(person), erasureContext(auditId));
  const day = dayWindow("erasures", perDay, nowMs);
  const [[created]] = await db.batch(createErasure(db, audit, identifier, [day]));
  if (!created) return { outcome: "rate_limited", full: day };
  return { outcome: "erased", auditId, deleted: await runSteps(op, auditId, person, zeroCounts()) };
}

/**
 * Resumes an erasure that was interrupted.
 * @throws UnreadableSecretError while the key of its identifier is not configured.
 */
export async function resumeErasure(op: Operation, erasure: { id: string; identifier: string }): Promise<void> {
  const { db } = op;
  const person = JSON.parse(await decryptSecret(op.env, erasure.identifier, erasureContext(erasure.id))) as PersonIdentifier;
  const [[audit]] = await db.batch([findAudit(db, op.workspaceId, erasure.id)]);
  const deleted = (audit?.detail as { deleted?: DeletedCounts } | null)?.deleted;
  await runSteps(op, erasure.id, person, { ...zeroCounts(), ...deleted });
}

/**
 * Runs the steps of an erasure. The order matters, because records are found by others: conversations by visitors and leads, leads
 * and files by visitors, and visitors by the leads with the person's email, which are therefore erased last.
 */
async function runSteps(op: Operation, auditId: string, person: PersonIdentifier, deleted: DeletedCounts): Promise<DeletedCounts> {
  const { db } = op;
  for (const step of [
    erasePersonConversations,
    erasePersonThreads,
    eraseLeadsByVisitor,
    erasePersonUploads,
    erasePersonVisitors,
    erasePersonLeads,
    eraseFormerMember,
  ]) {
    while (await step(op, person, deleted)) await db.batch([updateDeleted(db, auditId, deleted)]);
  }
  const isEmpty = Object.values(deleted).every((count) => count === 0);
  await db.batch([updateDeleted(db, auditId, deleted), ...finishErasure(db, auditId, isEmpty ? op.nowMs + EMPTY_RECORD_MS : null)]);
  return deleted;
}

/** A step of an erasure. It adds what it erases to `deleted`, and returns false if nothing is left. */
type Step = (op: Operation, person: PersonIdentifier, deleted: DeletedCounts) => Promise<boolean>;

const erasePersonConversations: Step = async (op, person, deleted) => {
  const [rows] = await op.db.batch([listConversations(op.db, op.workspaceId, person, { afterId: "", limit: RECORDS_PER_STEP })]);
  if (rows.length === 0) return false;
  const ids = rows.map(({ id }) => id);
  addCounts(deleted, await eraseConversations(op, ids));
  return true;
};

/** Erases the mail threads of a person, including those of mails that never became a conversation. */
const erasePersonThreads: Step = async ({ db, workspaceId }, person, deleted) => {
  const address = person.type === "email" ? person.value : person.type === "anon_id" ? emailOfAnonId(person.value) : undefined;
  if (address === undefined) return false;
  const [erased] = await db.batch([eraseThreadsWith(db, workspaceId, address)]);
  addCounts(deleted, { email_threads: erased.length });
  return false;
};

/** Erases files that the person uploaded and has not sent. */
const erasePersonUploads: Step = async (op, person, deleted) => {
  const [files] = await op.db.batch([listUploads(op.db, op.workspaceId, person, FILES_PER_STEP)]);
  if (files.length === 0) return false;
  await removeFiles(
    op,
    files.map(({ id }) => id),
  );
  addCounts(deleted, { attachments: files.length });
  return true;
};

const erasePersonVisitors: Step = async (op, person, deleted) => {
  const { db, workspaceId } = op;
  const [erased, left] = await db.batch([eraseVisitors(db, workspaceId, person), listVisitors(db, workspaceId, person)]);
  addCounts(deleted, { visitors: erased.length });
  if (left.length === 0) return false;
  // A visitor who is left has begun a conversation meanwhile.
  await erasePersonConversations(op, person, deleted);
  await eraseLeadsByVisitor(op, person, deleted);
  return true;
};

const eraseLeadsByVisitor: Step = async (op, person, deleted) => {
  const [rows] = await op.db.batch([listLeadsByVisitor(op.db, op.workspaceId, person, RECORDS_PER_STEP)]);
  return eraseSomeLeads(op, rows, deleted);
};

const erasePersonLeads: Step = async (op, person, deleted) => {
  const [rows] = await op.db.batch([listLeads(op.db, op.workspaceId, person, { afterId: "", limit: RECORDS_PER_STEP })]);
  return eraseSomeLeads(op, rows, deleted);
};

/** Erases a member who was removed from the team. A member of the team is not erased, but removed first. */
const eraseFormerMember: Step = async ({ db, workspaceId }, person, deleted) => {
  if (person.type !== "email") return false;
  const [erased] = await db.batch([eraseRemovedMember(db, workspaceId, person.value)]);
  addCounts(deleted, { members: erased.length });
  return false;
};

async function eraseSomeLeads(op: Operation, rows: readonly { id: string }[], deleted: DeletedCounts) {
  if (rows.length === 0) return false;
  const ids = rows.map(({ id }) => id);
  addCounts(deleted, await eraseLeadRecords(op, ids));
  return true;
}

/** Further statements for the same transaction, by the kind of record that they delete. Each returns the deleted rows. */
type FurtherErasures = Record<string, BatchItem<"sqlite"> & { _: { result: readonly unknown[] } }>;

/**
 * Erases conversations with all their records. The object is erased first, while its row still exists. A conversation that is too
 * large for one step keeps its row, so that the next step finds it again. The bytes of files follow, when it is certain that their
 * conversation is not kept.
 * @param inactiveSinceMs skips conversations with activity at or after this time, or with an unfinished turn. A turn that is asked for
 * during the erasure waits until the rows are erased.
 * @param failures receives the conversations whose object fails, with the reasons. They are skipped. Without it, the first failure ends
 * the erasure.
 * @returns how many records of each kind were deleted.
 */
export async function eraseConversations(
  op: Operation,
  ids: readonly string[],
  {
    inactiveSinceMs,
    further = {},
    failures,
  }: { inactiveSinceMs?: number; further?: FurtherErasures; failures?: Map<string, unknown> } = {},
): Promise<DeletedCounts> {
  const { db, workspaceId } = op;
  using holds = new DisposableStack();
  const eraseSession = async (id: string): Promise<string[]> => {
    const session = sessionOf(op, id);
    try {
      if (inactiveSinceMs === undefined) await session.erase();
      else if (!holds.use(await session.eraseIdle())) return [];
      return [id];
    } catch (reason) {
      if (!failures) throw reason;
      failures.set(id, reason);
      return [];
    }
  };
  const erased = (await Promise.all(ids.map(eraseSession))).flat();
  if (erased.length > 0) await conversationIndexOf(op).remove(erased);
  const rows = eraseConversationRows(db, workspaceId, erased, ROWS_PER_STEP, inactiveSinceMs);
  const { delivery_attempts, ...others } = { ...rows, ...further };
  const kinds = ["delivery_attempts", ...Object.keys(others)];
  const results: unknown[] = await db.batch([delivery_attempts, ...Object.values(others)]);
  const files = (results[kinds.indexOf("attachments")] as { id: string }[]).map(({ id }) => id);
  for (let at = 0; at < files.length; at += FILES_PER_STEP) await removeFiles(op, files.slice(at, at + FILES_PER_STEP));
  return countRows(kinds, results);
}

/** Erases leads with their events and index entries, or some of the events where there are many. @returns how many records of each kind were deleted. */
export async function eraseLeadRecords(op: Operation, ids: readonly string[], further: FurtherErasures = {}) {
  const { db, workspaceId } = op;
  const kinds = eraseLeadEvents(db, workspaceId, ids, ROWS_PER_STEP);
  const results = await db.batch([kinds.delivery_attempts, kinds.deliveries, kinds.events]);
  // The leads stay until all of their events are erased, which are found by them.
  if (results.some((rows) => rows.length === ROWS_PER_STEP)) return countRows(Object.keys(kinds), results);
  const { leads, others } = await eraseLeads(op, ids, Object.values(further));
  const deleted: DeletedCounts = { ...countRows(Object.keys(kinds), results), leads, ...countRows(Object.keys(further), others) };
  return deleted;
}

/** Adds counts to `deleted`. */
export function addCounts(deleted: DeletedCounts, counts: DeletedCounts): void {
  for (const [kind, count] of Object.entries(counts)) deleted[kind] = (deleted[kind] ?? 0) + count;
}

/** Counts the rows that each statement returned, by kind. */
export function countRows(kinds: readonly string[], results: readonly unknown[]): DeletedCounts {
  return Object.fromEntries(kinds.map((kind, at) => [kind, (results[at] as readonly unknown[] | undefined)?.length ?? 0]));
}

function zeroCounts(): DeletedCounts {
  return Object.fromEntries(KINDS.map((kind) => [kind, 0]));
}

/** Returns the encryption context of an erasure's identifier, which cannot be decrypted with another one. */
export function erasureContext(auditId: string): string {
  return `privacy/${auditId}`;
}
