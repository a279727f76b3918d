import { env } from "cloudflare:workers";
import { afterAll, expect } from "vitest";
import { createAgent, createWorkspaceOn, databases, learn, listen, send } from "../harness.ts";
import { faults, sendUntilAnswered, withEachFault, YEAR_MINUTES } from "./scenario.ts";

const SHARD = 5;
const before = { ...env };
Object.assign(env, { SHARD_MAP: `0=DB, 1=DB_1, ${SHARD}=DB` });
afterAll(() => void Object.assign(env, before));

const workspace = await createWorkspaceOn(SHARD);
// No conversation is resolved as idle, however the clock goes on.
const agent = await createAgent(workspace, { inactivity_minutes: YEAR_MINUTES });
await listen(workspace);
await learn(workspace, agent.id, "Refunds are paid within five working days.");
const asked = await ask();

async function ask() {
  const body = { message: "When are refunds paid?", user: { id: "ann" } };
  const { status, body: answered } = await workspace.call("POST", `/agents/${agent.id}/messages`, body);
  expect([status, answered.needs_human]).toEqual([200, false]);
  return answered;
}

function countIn(database: number) {
  const query = "SELECT count(*) AS n FROM conversations WHERE workspace_id = ?";
  return databases[database]!.prepare(query).bind(workspace.id).first<number>("n");
}

/** Reads what is to be the same in both places. */
async function describe() {
  const paths = [`/conversations/${asked.conversation_id}`, "/webhooks", `/agents/${agent.id}/sources`, "/me"];
  const answers = await Promise.all(paths.map((path) => workspace.call("GET", path)));
  // Its deliveries are attempted meanwhile, and fail.
  for (const webhook of answers[1]!.body.data) delete webhook.failure_streak;
  return answers.map(({ status, body }) => ({ status, body }));
}

await withEachFault("a move of a shard", {
  // Every page is read and written alike, so the first ones stand for all.
  only: /^D1 (?:writes shard_moves .*|writes .*shard_copies.* \(0\)|writes shard_changes \(0\)|reads shard_changes \(0\))$/,
  queues: [],
  prepare: async () => {
    const { data } = (await send("GET", "/operator/v1/databases", { token: env.OPERATOR_TOKEN })).body;
    const from = data.findIndex(({ shards }: { shards: string }) => shards.split(", ").includes(String(SHARD)));
    return { seen: await describe(), from, to: 1 - from };
  },
  act: async ({ to }) => {
    const operate = (method: string, body?: object) =>
      sendUntilAnswered(() =>
        send(method, `/operator/v1/databases/${["DB", "DB_1"][to]}/shard-move`, { token: env.OPERATOR_TOKEN, ...(body && { body }) }),
      );
    expect((await operate("PUT", { shards: String(SHARD) })).status).toBe(200);
    for (;;) {
      const { status, body } = await operate("POST");
      if (body.state === "done" || status === 404) return;
      expect(status).toBe(200);
    }
  },
  check: async ({ seen, from, to }) => {
    await faults.quiet();
    expect(await describe()).toEqual(seen);
    const before = await Promise.all([countIn(from), countIn(to)]);
    expect(before[0]).toBe(before[1]);
    await ask();
    expect(await Promise.all([countIn(from), countIn(to)])).toEqual([before[0], before[0]! + 1]);
    expect((await workspace.call("GET", "/conversations")).body.total).toBe(before[0]! + 1);
  },
});
