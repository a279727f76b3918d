import { waitUntil } from "cloudflare:workers";
import type { BatchItem } from "drizzle-orm/batch";
import { announce } from "../events/live-channel.ts";
import { appendEvent, wakeDeliveries } from "../events/outbox.ts";
import type { Operation } from "../platform/db/client.ts";
import type { leads } from "../platform/db/schema.ts";
import { IF_CHANGED, transact } from "../platform/db/sql.ts";
import { logProblem } from "../platform/telemetry/log.ts";
import { normalizeEmail } from "../platform/text.ts";
import { type LimitWindow, findFullWindow, type VisitorLimit, windowsOf } from "../workspaces/usage-limits.ts";
import { countInWindows, listCounts } from "../workspaces/usage-limit-store.ts";
import { type IndexedLead, leadIndexOf, type LeadQuery } from "./lead-index.ts";
import { toSearchText } from "./search-text.ts";
import { createLead, eraseLeadRows, findLead, listLeads, markIndexed, pageLeads, leadRecord } from "./store.ts";

export type LeadRow = typeof leads.$inferSelect;

/** The fields of a contact form. */
export interface NewLead {
  agentId: string;
  conversationId: string | null;
  visitorId: string | null;
  name: string | null;
  email: string | null;
  phone: string | null;
  message: string | null;
  customFields: Record<string, unknown>;
  sourceUrl: string | null;
}

/** Reads one page of leads, newest first, plus one row if there is another page, and the total. With `q`, the index finds them. */
export async function findLeads(op: Operation, query: Omit<LeadQuery, "q"> & { q?: string | undefined }) {
  const { db, workspaceId } = op;
  const { q, ...rest } = query;
  if (!q) {
    const [rows, [counted]] = await db.batch(pageLeads(db, workspaceId, rest, rest));
    return { rows, total: counted?.total ?? 0 };
  }
  const { ids, total } = await leadIndexOf(op).search({ ...rest, q });
  if (ids.length === 0) return { rows: [], total };
  const [found] = await db.batch([listLeads(db, workspaceId, ids)]);
  const byId = new Map(found.map((row) => [row.id, row]));
  return { rows: ids.flatMap((id) => byId.get(id) ?? []), total };
}

/** Reads one page of leads like `findLeads`, without the total. */
export async function listLeadRows(op: Operation, query: Omit<LeadQuery, "q"> & { q?: string | undefined }): Promise<LeadRow[]> {
  if (query.q) return (await findLeads(op, query)).rows;
  const { db, workspaceId } = op;
  const [page] = pageLeads(db, workspaceId, query, query);
  return (await db.batch([page]))[0];
}

/** The outcome of adding a lead: `not_found` if its agent, visitor or conversation no longer exists. */
type AddResult = { outcome: "added"; lead: LeadRow } | { outcome: "not_found" } | { outcome: "rate_limited"; full: LimitWindow };

/**
 * Adds a lead with its event, and indexes it. If the index cannot be reached, the lead is stored and the sweep indexes it later.
 * @param limit the limit of leads by visitors; without it, any number may be added.
 * @param id makes the call idempotent: a lead with the same id is added once.
 */
export async function addLead(op: Operation, fields: NewLead, limit?: VisitorLimit, id = op.newId()): Promise<AddResult> {
  const { db, workspaceId, nowMs } = op;
  const windows = limit ? windowsOf(limit, nowMs) : [];
  const row = { id, workspaceId, ...fields, emailKey: fields.email && normalizeEmail(fields.email), createdAt: nowMs };
  // The event has the id of the lead, so that the erasure of the lead finds it.
  const event = { id, workspaceId, conversationId: fields.conversationId, leadId: id, nowMs };
  const write = () =>
    transact(db, {
      before: [listCounts(db, workspaceId, windows)],
      writes: [
        createLead(db, row, windows),
        ...countInWindows(db, workspaceId, windows, IF_CHANGED),
        ...appendEvent(db, event, "lead.created", leadRecord(id)),
      ],
      after: [findLead(db, workspaceId, id)],
    });
  // The write is repeated once. If it failed after it was stored, the visitor would otherwise submit the lead a second time.
  const { before, written, after } = await write().catch(write);
  await wakeDeliveries(op.env, written);
  const [[lead]] = after;
  const full = findFullWindow(windows, before[0]);
  if (lead) announce(op.env, workspaceId, { kind: "lead", id: lead.id });
  if (!lead) return full ? { outcome: "rate_limited", full } : { outcome: "not_found" };
  try {
    await putLeads(op, [lead]);
    waitUntil(confirmIndexed(op, [lead]));
  } catch (error) {
    logProblem("lead_not_indexed", { workspace_id: workspaceId, lead_id: id }, error);
  }
  return { outcome: "added", lead };
}

/** Indexes leads of one workspace that could not be indexed when they were added. */
export async function indexLeads(op: Operation, rows: readonly LeadRow[]): Promise<void> {
  await putLeads(op, rows);
  await confirmIndexed(op, rows);
}

/** Indexes imported leads. */
export async function restoreLeads(op: Operation, leadIds: readonly string[]): Promise<void> {
  const [rows] = await op.db.batch([listLeads(op.db, op.workspaceId, [...leadIds])]);
  if (rows.length > 0) await putLeads(op, rows);
}

/**
 * Erases leads in the index and then in D1: if the Worker is interrupted, the rows are still there, and the next erasure finds them.
 * @param along statements that run in the same transaction.
 * @returns how many leads were erased, and the results of `along`.
 */
export async function eraseLeads(op: Operation, leadIds: readonly string[], along: readonly BatchItem<"sqlite">[] = []) {
  if (leadIds.length === 0) return { leads: 0, others: [] };
  const { db, workspaceId } = op;
  await leadIndexOf(op).remove([...leadIds]);
  const [erased, ...others] = await db.batch([eraseLeadRows(db, workspaceId, leadIds), ...along]);
  return { leads: erased.length, others };
}

async function putLeads(op: Operation, rows: readonly LeadRow[]): Promise<void> {
  const indexed = rows.map((row): IndexedLead => {
    const { id, agentId, createdAt: createdAtMs } = row;
    return { id, agentId, createdAtMs, ...toSearchText(row) };
  });
  await leadIndexOf(op).put(indexed);
}

/** Marks leads as indexed, and removes those from the index that were erased in the meantime. */
async function confirmIndexed(op: Operation, rows: readonly LeadRow[]): Promise<void> {
  const { db, workspaceId, nowMs } = op;
  const ids = rows.map(({ id }) => id);
  const [marked] = await db.batch([markIndexed(db, workspaceId, ids, nowMs)]);
  const existing = new Set(marked.map(({ id }) => id));
  const erased = ids.filter((id) => !existing.has(id));
  if (erased.length > 0) await leadIndexOf(op).remove(erased);
}
