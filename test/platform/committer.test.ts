import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, expect, test } from "vitest";
import { createAgent, createWorkspaceOn, learn, query } from "../harness.ts";

const before = { ...env };
afterAll(() => void Object.assign(env, before));

const committer = env.COMMITTER.getByName("DB");
/** The types of RPC leave out that results of D1 are plain objects. */
const commit = (part: Parameters<typeof committer.commit>[0]) => committer.commit(part) as unknown as Promise<D1Result[]>;

/** The batch of a session, as a part of a group: it notes a failure of the sweep, which has a unique key. */
function noting(task: string, key: string) {
  const statement = (values: unknown[]) => ({
    query: "INSERT INTO sweep_backoffs (task, key, failures, retry_at) VALUES (?, ?, 1, 0)",
    values,
  });
  return { shard: 0, statements: [statement([task, key]), statement([task, `${key} more`])] };
}

const notedBy = async (task: string) =>
  (await env.DB.prepare("SELECT key FROM sweep_backoffs WHERE task = ? ORDER BY key").bind(task).all<{ key: string }>()).results.map(
    ({ key }) => key,
  );

/** Counts the batches that the object runs. The first waits until it is released. */
async function watchBatches() {
  const sizes: number[] = [];
  let isReleased = false;
  await runInDurableObject(committer, (object) => {
    const DB = {
      prepare: (text: string) => before.DB.prepare(text),
      batch: async (statements: D1PreparedStatement[]) => {
        sizes.push(statements.length);
        // The object waits in a call of its own.
        while (sizes.length === 1 && !isReleased) await scheduler.wait(1);
        return before.DB.batch(statements);
      },
    };
    Object.assign(object, { env: { ...before, DB } });
  });
  return { sizes, release: () => void (isReleased = true) };
}

test("batches that arrive while one is under way are run as one, and each gets its own results", async () => {
  const task = crypto.randomUUID();
  const { sizes, release } = await watchBatches();
  const first = commit(noting(task, "1"));
  while (sizes.length === 0) await scheduler.wait(1);
  const read = { shard: 0, statements: [{ query: "SELECT ? AS own", values: ["mine"] }] };
  const others = [commit(noting(task, "2")), commit(read), commit(noting(task, "3"))];
  await scheduler.wait(5);
  release();
  const [, , results] = await Promise.all([first, others[0]!, others[1]!, others[2]!]);
  // Each batch begins with the guard of its shards.
  expect(sizes).toEqual([1 + 2, 1 + 2 + 1 + 2]);
  expect(results.map(({ results: rows }) => rows)).toEqual([[{ own: "mine" }]]);
  expect(await notedBy(task)).toEqual(["1", "1 more", "2", "2 more", "3", "3 more"]);
});

test("a part that fails does not take the others along, and leaves nothing of itself", async () => {
  const task = crypto.randomUUID();
  const { sizes, release } = await watchBatches();
  const first = commit(noting(task, "1"));
  while (sizes.length === 0) await scheduler.wait(1);
  // Its second statement repeats a key.
  const failing = { shard: 0, statements: [...noting(task, "bad").statements, noting(task, "1").statements[0]!] };
  const ends = Promise.allSettled([commit(noting(task, "2")), commit(failing), commit(noting(task, "3"))]);
  await scheduler.wait(5);
  release();
  await first;
  const settled = await ends;
  expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(String((settled[1] as PromiseRejectedResult).reason)).toContain("UNIQUE constraint failed");
  expect(await notedBy(task)).toEqual(["1", "1 more", "2", "2 more", "3", "3 more"]);
});

test("the questions of many conversations and workspaces are each stored once while their batches are gathered", async () => {
  Object.assign(env, { GROUP_COMMIT_AFTER_MS: "0" });
  const workspaces = [await createWorkspaceOn(0), await createWorkspaceOn(0)];
  const agents: { id: string }[] = [];
  for (const workspace of workspaces) {
    const agent = await createAgent(workspace);
    await learn(workspace, agent.id, "Refunds are paid within five working days.");
    agents.push(agent);
  }
  const asked = Array.from({ length: 20 }, (_, at) => {
    const workspace = workspaces[at % 2]!;
    return workspace.call("POST", `/agents/${agents[at % 2]!.id}/messages`, { message: "When are refunds paid?", user: { id: `u${at}` } });
  });
  const answers = await Promise.all(asked);
  expect(answers.map(({ status, body }) => [status, body.needs_human])).toEqual(answers.map(() => [200, false]));
  for (const workspace of workspaces) {
    expect((await workspace.call("GET", "/conversations")).body.total).toBe(10);
    expect((await workspace.call("GET", "/usage")).body.usage.messages).toBe(10);
    expect(await query(workspace.id, "SELECT count(*) AS n FROM messages WHERE workspace_id = ?", workspace.id)).toEqual([{ n: 20 }]);
  }
});
