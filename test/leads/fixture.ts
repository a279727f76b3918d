import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { addLead, type LeadRow, type NewLead } from "../../src/leads/leads.ts";
import { newOperation, type Operation } from "../../src/platform/db/client.ts";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { sweep } from "../../src/sweep/sweep.ts";
import { createAgent, createWorkspace, databases, query, type Workspace } from "../harness.ts";

export const START_MS = Date.UTC(2026, 0, 1);

/** A limit that no test reaches. */
const MANY_REQUESTS = 1_000_000;

/** The columns of a lead that a test sets. */
export interface MadeUp {
  id: string;
  agentId: string;
  createdAtMs: number;
  name: string | null;
  email: string | null;
  phone: string | null;
  customFields: Record<string, unknown>;
}

/** Creates a workspace with two agents, and an operation for it. */
export async function createFixture(): Promise<{ workspace: Workspace; agents: [string, string]; op: Operation }> {
  const workspace = await createWorkspace({ limits: { requests_per_minute: MANY_REQUESTS } });
  const [first, second] = [await createAgent(workspace), await createAgent(workspace)];
  const op = newOperation(env, new Meter(), workspace.id);
  return { workspace, agents: [first.id, second.id], op };
}

/** The input of `addLead`, with the given fields. */
export function newLead(agentId: string, given: Partial<NewLead>): NewLead {
  const nothing = { conversationId: null, visitorId: null, name: null, email: null, phone: null, message: null, sourceUrl: null };
  return { agentId, ...nothing, customFields: {}, ...given };
}

/** Adds a lead, which must succeed. */
export async function storeLead(op: Operation, given: NewLead): Promise<LeadRow> {
  const added = await addLead(op, given);
  if (added.outcome !== "added") throw new Error(`The lead was refused: ${added.outcome}`);
  return added.lead;
}

/** A lead for `writeRows`, created some seconds after the start. */
export function madeUp(workspace: Workspace, agentId: string, second: number, given: Partial<MadeUp>): MadeUp {
  const id = newId(shardOf(workspace.id), Date.now());
  return { id, agentId, createdAtMs: START_MS + second * 1000, name: null, email: null, phone: null, customFields: {}, ...given };
}

/** Writes rows that are not yet indexed. */
export async function writeRows(workspace: Workspace, leads: MadeUp[]): Promise<void> {
  const insert = `INSERT INTO leads (id, workspace_id, agent_id, name, email, phone, custom_fields, created_at)
    SELECT value ->> 'id', ?1, value ->> 'agentId', value ->> 'name', value ->> 'email', value ->> 'phone', value -> 'customFields',
      value ->> 'createdAtMs' FROM json_each(?2)`;
  const database = databases[shardOf(workspace.id)]!;
  await database.prepare(insert).bind(workspace.id, JSON.stringify(leads)).run();
}

/** Runs the cron until all leads are indexed. */
export async function sweepAll(workspace: Workspace): Promise<void> {
  const left = "SELECT 1 FROM leads WHERE workspace_id = ? AND indexed_at IS NULL LIMIT 1";
  while ((await query(workspace.id, left, workspace.id)).length > 0) await sweep(env, Date.now());
}

/** The tables of a workspace's lead index, its rows, newest first, and the trigrams of its full-text table. */
export function indexStorage(workspace: Workspace): Promise<{ tables: string[]; rows: unknown[]; trigrams: unknown[] }> {
  return runInDurableObject(env.LEADS.getByName(workspace.id), (_, { storage: { sql } }) => {
    const names = sql.exec("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'").toArray();
    const tables = names.map(({ name }) => name as string);
    if (!tables.includes("leads")) return { tables, rows: [], trigrams: [] };
    sql.exec("INSERT INTO lead_index (lead_index, rank) VALUES ('integrity-check', 1)");
    sql.exec("CREATE VIRTUAL TABLE trigrams USING fts5vocab (lead_index, row)");
    const trigrams = sql.exec("SELECT term FROM trigrams").toArray();
    sql.exec("DROP TABLE trigrams");
    return { tables, rows: sql.exec("SELECT * FROM leads ORDER BY created_at DESC, lead_id DESC").toArray(), trigrams };
  });
}
