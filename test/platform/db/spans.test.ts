import { expect, test } from "vitest";
import { newId, shardOf } from "../../../src/platform/db/ids.ts";
import { DAY_MS, seeded } from "../../analytics/history.ts";
import { createWorkspace, query, type Workspace } from "../../harness.ts";

const SPAN_DAYS = 100;
/** Long spans begin and end within the time from here on. */
const START_MS = 4000 * DAY_MS;
const STATUSES = ["open", "needs_human", "resolved"];
const CHANNELS = ["widget", "api"];
const RECORDS = 120;

/** Inserts records of random kinds at random times, half of them at the very beginning of a day. */
async function populate(workspace: Workspace, random: () => number) {
  const shard = shardOf(workspace.id);
  const agents = [newId(shard, Date.now()), newId(shard, Date.now())];
  const pick = <Item>(items: Item[]) => items[Math.floor(random() * items.length)]!;
  const time = () => START_MS + DAY_MS * (random() < 0.5 ? Math.floor(random() * SPAN_DAYS) : random() * SPAN_DAYS);
  const insert = (table: string, row: Record<string, unknown>) => {
    const places = Object.keys(row).map(() => "?");
    const all = { id: newId(shard, Date.now()), workspace_id: workspace.id, agent_id: pick(agents), ...row };
    const statement = `INSERT INTO ${table} (${Object.keys(all).join(", ")}) VALUES (?, ?, ?, ${places.join(", ")})`;
    return query(workspace.id, statement, ...Object.values(all));
  };
  for (let at = 0; at < RECORDS; at++) {
    const atMs = Math.floor(time());
    const times = { last_message_at: atMs, created_at: atMs, updated_at: atMs };
    await insert("conversations", { channel: pick(CHANNELS), status: pick(STATUSES), ...times });
    await insert("leads", { created_at: Math.floor(time()) });
  }
  return { agents, pick, time };
}

test("totals since a time stay exact while records are changed, moved and deleted", async () => {
  const workspace = await createWorkspace();
  const random = seeded(7);
  const { agents, pick, time } = await populate(workspace, random);
  const all = await query<{ id: string }>(workspace.id, "SELECT id FROM conversations WHERE workspace_id = ?", workspace.id);
  for (const { id } of all.slice(0, RECORDS / 2)) {
    const [status, atMs] = [pick(STATUSES), Math.floor(time())];
    await query(workspace.id, "UPDATE conversations SET status = ?, updated_at = max(updated_at, ?) WHERE id = ?", status, atMs, id);
  }
  for (const { id } of all.slice(40, 70)) await query(workspace.id, "DELETE FROM conversations WHERE id = ?", id);
  const someLeads = "SELECT id FROM leads WHERE workspace_id = ? LIMIT 30";
  await query(workspace.id, `DELETE FROM leads WHERE id IN (${someLeads})`, workspace.id);
  const totals = async (path: string, since: string, atMs: number, filter: Record<string, string>) => {
    const parameters = new URLSearchParams({ ...filter, [since]: new Date(atMs).toISOString(), limit: "1" });
    return (await workspace.call("GET", `/${path}?${parameters.toString()}`)).body.total;
  };
  const counted = async (table: string, column: string, atMs: number, filter: Record<string, string>) => {
    const where = Object.keys(filter).map((name) => ` AND ${name} = ?`);
    const statement = `SELECT count(*) AS total FROM ${table} WHERE workspace_id = ? AND ${column} >= ?${where.join("")}`;
    return (await query<{ total: number }>(workspace.id, statement, workspace.id, atMs, ...Object.values(filter)))[0]!.total;
  };
  for (let at = 0; at < 40; at++) {
    const atMs = Math.floor(time());
    const ofAgent = random() < 0.5 ? { agent_id: pick(agents) } : {};
    const filter = { ...ofAgent, ...(random() < 0.5 && { status: pick(STATUSES) }), ...(random() < 0.3 && { channel: pick(CHANNELS) }) };
    expect(await totals("conversations", "updated_since", atMs, filter)).toBe(await counted("conversations", "updated_at", atMs, filter));
    expect(await totals("leads", "created_since", atMs, ofAgent)).toBe(await counted("leads", "created_at", atMs, ofAgent));
  }
});
