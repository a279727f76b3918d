import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createAgent, createWorkspaceOn, learn, operate, type Workspace } from "../harness.ts";

const SHARD = 5;
const before = { ...env };

beforeEach(() => void Object.assign(env, { SHARD_MAP: `0=DB, 1=DB_1, ${SHARD}=DB` }));
afterEach(() => void Object.assign(env, before));

/** Moves shards, with every step. */
async function move(shards: string, to: string): Promise<any> {
  await operate("PUT", `/databases/${to}/shard-move`, { shards });
  for (let step = 0; step < 50; step++) {
    const status = await operate("POST", `/databases/${to}/shard-move`);
    if (status.state === "done") return status;
  }
  throw new Error("The move does not end");
}

const ask = (workspace: Workspace, agentId: string, message: string, user = "u") =>
  workspace.call("POST", `/agents/${agentId}/messages`, { message, user: { id: user } });

test("a shard moves with everything, and its workspaces go on", async () => {
  const workspace = await createWorkspaceOn(SHARD);
  const agent = await createAgent(workspace);
  await learn(workspace, agent.id, "Refunds are paid within five working days.");
  const asked = await ask(workspace, agent.id, "When are refunds paid?");
  const path = `/conversations/${asked.body.conversation_id}`;
  const held = (await workspace.call("GET", path)).body;
  const moved = await move(String(SHARD), "DB_1");
  expect(moved).toMatchObject({ from: "DB", to: "DB_1", shards_moved: 1, shards_total: 1, changes_waiting: 0 });
  expect((await workspace.call("GET", path)).body).toEqual(held);
  const again = await ask(workspace, agent.id, "When are refunds paid?");
  expect([again.status, again.body.answer]).toEqual([200, asked.body.answer]);
  const count = async (database: D1Database) =>
    database.prepare("SELECT count(*) AS n FROM conversations WHERE workspace_id = ?").bind(workspace.id).first<number>("n");
  expect([await count(env.DB), await count(env.DB_1)]).toEqual([1, 2]);
  expect((await workspace.call("GET", "/conversations")).body.total).toBe(2);
});
