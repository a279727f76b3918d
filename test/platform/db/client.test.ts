import { env } from "cloudflare:workers";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { boundDatabases, hasDatabase } from "../../../src/platform/db/bindings.ts";
import { directoryDb, newOperation, wholeDatabase } from "../../../src/platform/db/client.ts";
import { newId, shardOf } from "../../../src/platform/db/ids.ts";
import { workspaces } from "../../../src/platform/db/schema.ts";
import { Meter } from "../../../src/platform/telemetry/meter.ts";
import { createAgent, createWorkspace, createWorkspaceOn, envWith, learn } from "../../harness.ts";

const holds = async (database: D1Database, id: string) =>
  (await database.prepare("SELECT id FROM workspaces WHERE id = ?").bind(id).all()).results.length === 1;

test("bound databases are found in order, even with gaps", () => {
  expect(boundDatabases(env)).toEqual([0, 1]);
  expect(boundDatabases(envWith({ DB_1: undefined, DB_2: env.DB_1 }))).toEqual([0, 2]);
  expect(boundDatabases(envWith({ DB_255: env.DB, DB_256: env.DB }))).toEqual([0, 1, 255]);
});

for (const shard of [0, 1]) {
  test(`a workspace of shard ${shard} works from end to end, with all its rows in that database`, async () => {
    const workspace = await createWorkspaceOn(shard);
    const [mine, other] = shard === 0 ? [env.DB, env.DB_1] : [env.DB_1, env.DB];
    const agent = await createAgent(workspace);
    const source = await learn(workspace, agent.id, "Refunds are paid within five working days.");
    const asked = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "When are refunds paid?", user: { id: "u" } });
    const conversation = (await workspace.call("GET", `/conversations/${asked.body.conversation_id}`)).body;
    expect(conversation.status).toBe("ai_handled");
    const messages = conversation.messages.map(({ id }: { id: string }) => id);
    for (const id of [agent.id, source.id, conversation.id, conversation.visitor.id, ...messages]) expect(shardOf(id)).toBe(shard);
    expect(await holds(mine, workspace.id)).toBe(true);
    expect(await holds(other, workspace.id)).toBe(false);
    for (const table of ["agents", "sources", "conversations", "messages", "visitors", "usage_periods", "api_keys"]) {
      const { results } = await other.prepare(`SELECT 1 FROM ${table} WHERE workspace_id = ?`).bind(workspace.id).all();
      expect([table, results]).toEqual([table, []]);
    }
  });

  test(`an operation on a workspace of shard ${shard} has its database`, async () => {
    const workspace = await createWorkspaceOn(shard);
    const db = newOperation(env, new Meter(), newId(shard, Date.now())).db;
    const [rows] = await db.batch([
      db
        .select({ id: workspaces.id })
        .from(workspaces)
        .where(sql`id = ${workspace.id}`),
    ]);
    expect(rows).toEqual([{ id: workspace.id }]);
  });
}

test("new workspaces go to the shard with the fewest", async () => {
  // The first ones even out what other tests created.
  for (let at = 0; at < 30; at++) await createWorkspace();
  const made: number[] = [];
  for (let at = 0; at < 6; at++) made.push(shardOf((await createWorkspace()).id));
  expect([2, 3, 4]).toContain(made.filter((shard) => shard === 0).length);
});

test("an id without a bound database throws a Fault, and can be checked beforehand", () => {
  const id = newId(2, Date.now());
  expect(() => newOperation(env, new Meter(), id)).toThrow("for shard 2");
  expect(() => newOperation(envWith({ SHARD_MAP: "0=DB, 2=DB_2" }), new Meter(), id)).toThrow("DB_2");
  expect(hasDatabase(env, id)).toBe(false);
  expect(hasDatabase(env, newId(1, Date.now()))).toBe(true);
  expect(hasDatabase(envWith({ DB_1: undefined }), newId(1, Date.now()))).toBe(false);
});

test("each round trip is counted, a batch as one, with the rows it read", async () => {
  const workspace = await createWorkspaceOn(0);
  const meter = new Meter();
  const db = directoryDb(env, meter);
  const one = db
    .select()
    .from(workspaces)
    .where(sql`id = ${workspace.id}`);
  await db.batch([one, one, one]);
  expect(meter.cost).toEqual({ objectHops: 0, d1Trips: 1, rowsRead: 3, rowsWritten: 0 });
  await one;
  expect(meter.cost.d1Trips).toBe(2);
  await one.get();
  expect(meter.cost.d1Trips).toBe(3);
  await db.run(sql`UPDATE workspaces SET name = 'Changed' WHERE id = ${workspace.id}`);
  expect(meter.cost.d1Trips).toBe(4);
});

test("all databases count on the given meter", async () => {
  const meter = new Meter();
  for (const database of boundDatabases(env)) {
    const db = wholeDatabase(env, database, meter);
    await db.batch([
      db
        .select({ id: workspaces.id })
        .from(workspaces)
        .where(sql`id = ''`),
    ]);
  }
  expect(meter.cost.d1Trips).toBe(2);
});
