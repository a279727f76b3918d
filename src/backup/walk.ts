import { getTableName } from "drizzle-orm";
import { indexOf } from "../knowledge/index.ts";
import type { Database } from "../platform/db/client.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import { KNOWLEDGE, PARTS, type RowsPart, WORKSPACE } from "./parts.ts";
import { findAgentAfter, findWorkspaceRow, listRows, type StoredRow } from "./store.ts";
import type { Place, Progress } from "./wire.ts";

/** Rows of the largest records, some 64 KB each, that an isolate holds with ease. */
const ROWS_A_PAGE = 250;

/** The workspace whose records are read. */
export interface Walk {
  env: Env;
  meter: Meter;
  db: Database;
  workspaceId: string;
  /** The workspace's own record where its row is not there yet. */
  workspace?: StoredRow;
}

interface Page {
  records: { type: string; record: object }[];
  /** Where the part goes on; null at its end. */
  next: Place | null;
}

/**
 * The next page of a workspace's records, a line each, and how far the walk is then; one call asks D1 or an object at most
 * twice. Undefined at the end.
 */
export async function readPage(walk: Walk, progress: Progress): Promise<{ lines: string[]; progress: Progress } | undefined> {
  const part = PARTS[progress.part];
  if (!part) return undefined;
  const { records, next } = await pageOf(walk, part, progress.after);
  const lines = records.map((record) => JSON.stringify(record));
  const counts = { ...progress.counts };
  for (const { type } of records) counts[type] = (counts[type] ?? 0) + 1;
  const checksum = await addLines(progress.checksum, lines);
  const place = next === null ? { part: progress.part + 1, after: null } : { after: next };
  return { lines, progress: { ...progress, counts, checksum, ...place } };
}

function pageOf(walk: Walk, part: (typeof PARTS)[number], after: Place | null): Promise<Page> {
  if (part.kind === "knowledge") return knowledgePage(walk, after);
  return part.kind === "workspace" ? workspacePage(walk) : rowsPage(walk, part, after);
}

async function rowsPage({ db, workspaceId }: Walk, part: RowsPart, after: Place | null): Promise<Page> {
  const [found] = await db.batch([listRows(db, part, workspaceId, after, ROWS_A_PAGE)]);
  const type = getTableName(part.table);
  const last = found.length === ROWS_A_PAGE ? found.at(-1) : undefined;
  // No column of a key holds a null.
  const next = last ? part.key.map(({ name }) => last[name] as string | number) : null;
  return { records: found.map((record) => ({ type, record })), next };
}

/** A place is the agent that was read last, or is being read: then with the place in its object's dump. */
async function knowledgePage({ env, meter, db, workspaceId }: Walk, after: Place | null): Promise<Page> {
  const [agentId = "", ...dumpPlace] = after ?? [];
  const isWithin = dumpPlace.length > 0;
  const [[agent]] = await db.batch([findAgentAfter(db, workspaceId, String(agentId), isWithin)]);
  // One that was deleted meanwhile has nothing more to say.
  if (!agent) return { records: [], next: isWithin ? [agentId] : null };
  const { rows, next } = await indexOf(env, meter, workspaceId, agent.id).readDump(dumpPlace);
  const records = rows.map((row) => ({ type: KNOWLEDGE, record: { agent_id: agent.id, ...row } }));
  return { records, next: [agent.id, ...(next ?? [])] };
}

async function workspacePage({ db, workspaceId, workspace }: Walk): Promise<Page> {
  const rows = workspace ? [workspace] : (await db.batch([findWorkspaceRow(db, workspaceId)]))[0];
  return { records: rows.map((record) => ({ type: WORKSPACE, record })), next: null };
}

/**
 * Adds records to the checksum of a workspace: the SHA-256 of each line, all combined by exclusive or, so that the order
 * does not count. No record comes twice, since each holds its key.
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
