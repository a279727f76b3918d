import { getTableName } from "drizzle-orm";
import { PART_BYTES, readPart as readFilePart } from "../attachments/contents.ts";
import { findAttachmentAfter } from "../attachments/store.ts";
import { knowledgeIndexOf } from "../knowledge/knowledge-index.ts";
import { apiKeySecrets, secretValues } from "../platform/config.ts";
import { keyIdsOf } from "../platform/crypto/secrets.ts";
import type { Operation } from "../platform/db/client.ts";
import { FILE, KNOWLEDGE, PARTS, type RowsPart, WORKSPACE } from "./parts.ts";
import { schemaVersion } from "./records.ts";
import { findAgentAfter, findWorkspaceRow, listRows, type StoredRow } from "./store.ts";
import { createProgress, type End, FORMAT, type Header, type Position, type Progress, toCursor } from "./wire.ts";

/**
 * Yields the lines of an export: its header, records, and finally its end or the cursor of the next call. It reads a page when the
 * consumer asks for one, so one page is in memory at a time.
 * @param from where the previous call stopped.
 */
export async function* exportLines(op: Operation, slug: string, from: Progress | undefined, pages: number): AsyncGenerator<string, void> {
  let progress = from ?? createProgress(crypto.randomUUID());
  if (!from) yield `${JSON.stringify(await headerOf(op, slug, progress.exportId))}\n`;
  for (let left = pages; left > 0; left--) {
    const page = await readPage(op, progress);
    if (!page) {
      const { counts, checksum } = progress;
      yield `${JSON.stringify({ type: "end", counts, checksum } satisfies End)}\n`;
      return;
    }
    ({ progress } = page);
    if (page.lines.length > 0) yield `${page.lines.join("\n")}\n`;
  }
  yield `${JSON.stringify({ type: "continue", cursor: await toCursor(op.env, op.workspaceId, progress) })}\n`;
}

async function headerOf({ env, workspaceId, nowMs }: Operation, slug: string, exportId: string): Promise<Header> {
  return {
    type: "header",
    format: FORMAT,
    schema: await schemaVersion(),
    export_id: exportId,
    workspace_id: workspaceId,
    slug,
    exported_at: new Date(nowMs).toISOString(),
    key_ids: await ownKeyIds(env),
  };
}

/** Returns the ids of the values that this deployment has for `ENCRYPTION_KEY` and `KEY_SECRET`. */
export async function ownKeyIds(env: Env): Promise<Header["key_ids"]> {
  const [encryption, keys] = await Promise.all([keyIdsOf(secretValues(env.ENCRYPTION_KEY)), keyIdsOf(apiKeySecrets(env))]);
  return { ENCRYPTION_KEY: encryption, KEY_SECRET: keys };
}

/** The largest records have about 64 KB, so a page of them needs much less than an isolate's memory. */
const PAGE_SIZE = 250;

interface Page {
  records: { type: string; record: object }[];
  /** Where the part continues; null at its end. */
  next: Position | null;
}

/**
 * Reads the next page of a workspace's records, one line each, and returns the new progress; undefined at the end. A page
 * takes at most two round trips to D1 or an object.
 * @param workspace the workspace's own record, if its row does not exist yet.
 */
export async function readPage(
  op: Operation,
  progress: Progress,
  workspace?: StoredRow,
): Promise<{ lines: string[]; progress: Progress } | undefined> {
  const part = PARTS[progress.part];
  if (!part) return undefined;
  const { records, next } = await readPart(op, part, progress, workspace);
  const lines = records.map((record) => JSON.stringify(record));
  const counts = { ...progress.counts };
  for (const { type } of records) counts[type] = (counts[type] ?? 0) + 1;
  const checksum = await addLines(progress.checksum, lines);
  const position = next === null ? { part: progress.part + 1, after: null } : { after: next };
  const lastIds = withLastId(progress.lastIds, records);
  return { lines, progress: { ...progress, counts, checksum, lastIds, ...position } };
}

/** Adds the last id of the exported agents or attachments, since what is in their objects is exported for these alone. */
function withLastId(lastIds: Progress["lastIds"], records: Page["records"]): Progress["lastIds"] {
  const { type, record } = records.at(-1) ?? {};
  return type === "agents" || type === "attachments" ? { ...lastIds, [type]: (record as { id: string }).id } : lastIds;
}

function readPart(op: Operation, part: (typeof PARTS)[number], progress: Progress, workspace?: StoredRow): Promise<Page> {
  const { after, lastIds } = progress;
  if (part.kind === "knowledge") return readKnowledge(op, after, lastIds.agents ?? "");
  if (part.kind === "files") return readFile(op, after, lastIds.attachments ?? "");
  return part.kind === "workspace" ? readWorkspace(op, workspace) : readRows(op, part, after);
}

async function readRows({ db, workspaceId }: Operation, part: RowsPart, after: Position | null): Promise<Page> {
  const [found] = await db.batch([listRows(db, part, workspaceId, after, PAGE_SIZE)]);
  const type = getTableName(part.table);
  const last = found.length === PAGE_SIZE ? found.at(-1) : undefined;
  // No column of a key holds a null.
  const next = last ? part.key.map(({ name }) => last[name] as string | number) : null;
  return { records: found.map((record) => ({ type, record })), next };
}

/**
 * Reads a page of the agents' knowledge. The position is the last agent and, if its object's dump is not finished, the place in that.
 * @param lastAgentId the last exported agent. Agents after it were created during the export.
 */
async function readKnowledge(op: Operation, after: Position | null, lastAgentId: string): Promise<Page> {
  const { db, workspaceId } = op;
  const [agentId = "", ...dumpPosition] = after ?? [];
  const isUnfinished = dumpPosition.length > 0;
  const [[agent]] = await db.batch([findAgentAfter(db, workspaceId, String(agentId), isUnfinished)]);
  if (agent && agent.id > lastAgentId) return { records: [], next: null };
  // The agent was deleted in the meantime.
  if (!agent) return { records: [], next: isUnfinished ? [agentId] : null };
  const { rows, next } = await knowledgeIndexOf(op, agent.id).readDump(dumpPosition);
  const records = rows.map((row) => ({ type: KNOWLEDGE, record: { agent_id: agent.id, ...row } }));
  return { records, next: [agent.id, ...(next ?? [])] };
}

/**
 * Reads one part of an attachment's bytes. The position is the attachment and, if it has further parts, the number of the next one.
 * @param lastAttachmentId the last exported attachment. Attachments after it were added during the export.
 */
async function readFile(op: Operation, after: Position | null, lastAttachmentId: string): Promise<Page> {
  const { db, workspaceId } = op;
  const [lastId = "", part = 0] = after ?? [];
  const isUnfinished = after?.length === 2;
  const [[file]] = await db.batch([findAttachmentAfter(db, workspaceId, String(lastId), isUnfinished)]);
  if (file && file.id > lastAttachmentId) return { records: [], next: null };
  // The attachment was deleted in the meantime.
  if (!file) return { records: [], next: isUnfinished ? [lastId] : null };
  const bytes = await readFilePart(op, file.id, Number(part));
  const record = bytes && { attachment_id: file.id, part: Number(part), bytes: bytes.toBase64() };
  const isLast = (Number(part) + 1) * PART_BYTES >= file.size;
  return { records: record ? [{ type: FILE, record }] : [], next: isLast ? [file.id] : [file.id, Number(part) + 1] };
}

async function readWorkspace({ db, workspaceId }: Operation, workspace?: StoredRow): Promise<Page> {
  const rows = workspace ? [workspace] : (await db.batch([findWorkspaceRow(db, workspaceId)]))[0];
  return { records: rows.map((record) => ({ type: WORKSPACE, record })), next: null };
}

/**
 * Adds records to the checksum of a workspace: the SHA-256 of each line, combined by exclusive or, so that the order does
 * not matter. No two lines are equal, because each record holds its key.
 * @param checksum 64 hexadecimal digits.
 */
async function addLines(checksum: string, lines: readonly string[]): Promise<string> {
  const sum = Uint8Array.fromHex(checksum);
  const encoder = new TextEncoder();
  for (const digest of await Promise.all(lines.map((line) => crypto.subtle.digest("SHA-256", encoder.encode(line))))) {
    for (const [at, byte] of new Uint8Array(digest).entries()) sum[at]! ^= byte;
  }
  return sum.toHex();
}
