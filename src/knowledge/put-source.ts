import { sha256OfPieces } from "../platform/crypto/hashes.ts";
import type { sources } from "../platform/db/schema.ts";
import { IF_CHANGED } from "../platform/db/sql.ts";
import type { Metadata } from "../platform/db/columns.ts";
import { Fault } from "../platform/telemetry/errors.ts";
import { findFullWindow } from "../workspaces/usage-limits.ts";
import { countInWindows, listCounts } from "../workspaces/usage-limit-store.ts";
import type { Limits } from "../workspaces/plans.ts";
import { stageFile } from "./files.ts";
import { knowledgeIndexOf } from "./knowledge-index.ts";
import {
  addSource,
  type KnowledgeOperation,
  maxBytesOf,
  type SourceCreation,
  syncsOfDay,
  type UploadedFile,
  wakeSource,
  wakeSources,
} from "./sources.ts";
import { cancelReplacing, findSourceByKey, finishReplacing, markReplacing, STAGING_LEASE, updateSource, updateText } from "./store.ts";

type SourceRow = typeof sources.$inferSelect;

/** The whole of a source that has a key. */
export type KeyedSource = { name: string; metadata: Metadata } & ({ type: "text"; text: string } | UploadedFile);

export type SourcePut =
  | SourceCreation
  /** Another request is adding, changing or deleting the source. */
  | { outcome: "busy" }
  | { outcome: "other_type"; type: SourceRow["type"] };

/** After this time the parts of an upload are removed, if its request was interrupted. It is longer than any request. */
const UPLOAD_SECONDS = 5 * 60;

/**
 * Adds a source under the caller's key, or replaces the one that has it. The agent answers from the previous content until the new one
 * is read. The same name and content again are not read again, and use no sync of the day.
 */
export async function putSource(op: KnowledgeOperation, limits: Limits, key: string, sent: KeyedSource): Promise<SourcePut> {
  const { db, workspaceId, agentId, nowMs } = op;
  const contentHash = await hashOf(sent);
  const day = syncsOfDay(limits, nowMs);
  const [[found], counts] = await db.batch([findSourceByKey(db, workspaceId, agentId, key), listCounts(db, workspaceId, [day])]);
  if (!found) {
    const added = await addSource(op, limits, { ...sent, max_pages: 1, schedule: "manual", keyed: { key, contentHash } });
    if (added.outcome !== "too_many") return added;
    // The row is not added either if another request has just added the key.
    const [[other]] = await db.batch([findSourceByKey(db, workspaceId, agentId, key)]);
    return other ? { outcome: "busy" } : added;
  }
  if (found.leaseId === STAGING_LEASE) return { outcome: "busy" };
  if (found.type !== sent.type) return { outcome: "other_type", type: found.type };
  const settings = { name: sent.name, metadata: sent.metadata, updatedAt: nowMs };
  if (found.contentHash === contentHash && found.status !== "failed") {
    const [[kept]] = await db.batch([updateSource(db, workspaceId, agentId, found.id, settings)]);
    return kept ? { outcome: "done", source: kept } : { outcome: "busy" };
  }
  if (findFullWindow([day], counts)) return { outcome: "rate_limited", full: day };
  // Of two requests at the same time, it is not known whose content is stored last. The hash of neither is kept then.
  const mark = `replacing:${op.newId()}`;
  const [[marked]] = await db.batch([markReplacing(db, found, mark)]);
  if (!marked) return { outcome: "busy" };
  const refusal = await replaceContent(op, limits, found, sent);
  if (refusal) {
    await db.batch([cancelReplacing(db, found, mark)]);
    return refusal;
  }
  const [, [replaced]] = await db.batch([
    finishReplacing(db, found, mark, contentHash),
    updateText(db, workspaceId, agentId, found.id, settings, nowMs),
    ...countInWindows(db, workspaceId, [day], IF_CHANGED),
  ]);
  // The consumer finds no row of a source that was deleted meanwhile, and removes its content.
  await wakeSource(op.env, replaced ?? found);
  return replaced ? { outcome: "done", source: replaced } : { outcome: "busy" };
}

/** Stores the new text or file beside the index that is in use. @returns the refusal, if it was refused. */
async function replaceContent(op: KnowledgeOperation, limits: Limits, source: SourceRow, sent: KeyedSource) {
  const index = knowledgeIndexOf(op, op.agentId);
  if (sent.type === "text") {
    const bytes = await index.stageText(source.id, sent.name, sent.text, maxBytesOf(limits));
    return bytes === undefined ? undefined : { outcome: "too_large" as const, bytes };
  }
  // The file is uploaded under an id of its own, so that two uploads at the same time do not mix, and replaces the other one at once.
  const uploadId = op.newId();
  // No source has this id, so the consumer removes the parts that this request leaves behind.
  await wakeSources(op.env, [{ ...source, id: uploadId }], UPLOAD_SECONDS);
  if (!(await stageFile(index, uploadId, sent.pieces))) return { outcome: "too_many_waiting" as const };
  if (!(await index.replaceFile(source.id, uploadId))) throw new Fault("The upload was removed before it was complete");
  return undefined;
}

function hashOf(sent: KeyedSource): Promise<string> {
  const encoder = new TextEncoder();
  const pieces = sent.type === "text" ? [encoder.encode(sent.text)] : sent.pieces;
  return sha256OfPieces([encoder.encode(`${sent.type}\n${sent.name}\n`), ...pieces]);
}
