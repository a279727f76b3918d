import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { environmentText } from "../scripts/deploy/environment-text.ts";
import { newId } from "../src/platform/db/ids.ts";
import { consume } from "../src/queues.ts";
import wrangler from "../wrangler.toml?raw";
import { createAgent, createWorkspace, deliver, envWith, operate, query } from "./harness.ts";

const FAILING_D1 = {
  prepare: (text: string) => env.DB.prepare(text),
  batch: () => Promise.reject(new Error("D1_ERROR: it is down")),
};

/** A batch that records the outcome of its messages: the platform's own omits the delays. */
function batchOf(queue: string, messages: { body: unknown; attempts?: number }[]) {
  const outcomes: unknown[] = messages.map(() => "nothing");
  const batch = {
    queue,
    messages: messages.map(({ body, attempts = 1 }, at) => ({
      id: `${at}`,
      timestamp: new Date(),
      attempts,
      body,
      ack: () => void (outcomes[at] = "ack"),
      retry: (options: unknown) => void (outcomes[at] = options),
    })),
  };
  return { batch: batch as unknown as MessageBatch, outcomes };
}

async function createSource(): Promise<{ workspaceId: string; agentId: string; sourceId: string }> {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const created = await workspace.call("POST", `/agents/${agent.id}/sources`, {
    type: "text",
    name: "Handbook",
    text: "Refunds are paid.",
  });
  return { workspaceId: workspace.id, agentId: agent.id, sourceId: created.body.id };
}

const statusOf = async ({ sourceId: id }: { sourceId: string }) =>
  (await query<{ status: string }>(id, "SELECT status FROM sources WHERE id = ?", id))[0]?.status;

test("a failed message is retried alone; the others of its batch are acknowledged", async () => {
  const [first, second] = [await createSource(), await createSource()];
  const { batch, outcomes } = batchOf("support-agent-ingestion", [
    { body: first },
    // A message that no version of the service wrote.
    { body: null },
    { body: second },
  ]);
  await consume(batch, env);
  expect(outcomes).toEqual(["ack", { delaySeconds: 5 }, "ack"]);
  expect([await statusOf(first), await statusOf(second)]).toEqual(["ready", "ready"]);
});

test("retries back off exponentially, up to five minutes", async () => {
  const sourceId = newId(0, Date.now());
  const attempts = [1, 2, 3, 4, 5, 6, 7, 8, 20];
  const { batch, outcomes } = batchOf(
    "support-agent-ingestion",
    attempts.map((attempt) => ({ body: { sourceId }, attempts: attempt })),
  );
  await consume(batch, envWith({ DB: FAILING_D1 }));
  const delays = outcomes.map((outcome) => (outcome as { delaySeconds: number }).delaySeconds);
  expect(delays).toEqual([5, 10, 20, 40, 80, 160, 300, 300, 300]);
});

test("a failed dead letter is retried too, so that no source stays pending forever", async () => {
  const wakeUp = await createSource();
  const { batch, outcomes } = batchOf("support-agent-ingestion-dlq", [{ body: wakeUp }]);
  await consume(batch, envWith({ DB: FAILING_D1, DB_1: FAILING_D1 }));
  expect(outcomes).toEqual([{ delaySeconds: 5 }]);
  expect(await statusOf(wakeUp)).toBe("pending");
  await deliver("support-agent-ingestion-dlq", wakeUp);
  expect(await statusOf(wakeUp)).toBe("failed");
});

test("an erasure's wake-up erases a deleted workspace only", async () => {
  const workspace = await createWorkspace();
  const alive = await createWorkspace();
  await createAgent(workspace);
  await createAgent(alive);
  await operate("DELETE", `/workspaces/${workspace.id}`);
  for (const { id } of [workspace, alive]) {
    expect(await deliver("support-agent-erasure", { workspaceId: id })).toMatchObject({ retryMessages: [] });
  }
  const rows = ({ id }: { id: string }) =>
    query(id, "SELECT id FROM workspaces WHERE id = ?1 UNION ALL SELECT id FROM agents WHERE workspace_id = ?1", id);
  expect(await rows(workspace)).toEqual([]);
  expect(await rows(alive)).toHaveLength(2);
});

test("an erasure that has used up its retries is left to the sweep", async () => {
  const workspace = await createWorkspace();
  await operate("DELETE", `/workspaces/${workspace.id}`);
  expect(await deliver("support-agent-erasure-dlq", { workspaceId: workspace.id })).toMatchObject({ retryMessages: [] });
  expect(await query(workspace.id, "SELECT id FROM workspaces WHERE id = ?", workspace.id)).toHaveLength(1);
});

test("each queue of an environment that `npm run deploy -- --new-environment` made has its job", async () => {
  const environment = environmentText(wrangler, "production", "staging");
  const consumed = [...environment.matchAll(/^queue = "([^"]+)"$/gm)].map(([, queue]) => queue!);
  const ofProduction = [...wrangler.matchAll(/^queue = "([^"]+)"$/gm)].map(([, queue]) => queue!);
  expect(new Set(consumed).size).toBe(11);
  for (const queue of consumed) {
    expect(ofProduction).not.toContain(queue);
    const { batch, outcomes } = batchOf(queue, [{ body: {} }]);
    await consume(batch, env);
    expect(outcomes, queue).not.toEqual(["nothing"]);
  }
  const source = await createSource();
  await consume(
    batchOf(
      consumed.find((queue) => queue.endsWith("ingestion"))!,
      [{ body: source }],
    ).batch,
    env,
  );
  expect(await statusOf(source)).toBe("ready");
});

test("a batch has no more deliveries than the platform allows invocations", () => {
  const consumers = wrangler.split("[[").filter((part) => /^queue = ".*deliveries"$/m.test(part) && part.includes("max_batch_size"));
  const sizes = consumers.map((part) => Number(/^max_batch_size = (\d+)$/m.exec(part)?.[1]));
  expect(sizes).toEqual([30, 6, 30, 6]);
});

test("an unknown queue is an error, so that the platform keeps its messages", async () => {
  const { batch, outcomes } = batchOf("another-queue", [{ body: {} }]);
  await expect(consume(batch, env)).rejects.toThrow("another-queue");
  expect(outcomes).toEqual(["nothing"]);
});
