import { expect } from "vitest";
import { complete, eraseWhole, type ExportFile, exportWorkspace, sendRecords } from "../backup/file.ts";
import { createAgent, createWorkspace, learn, listen, newAddress, send } from "../harness.ts";
import { sendUntilAnswered, withEachFault, YEAR_MINUTES } from "./scenario.ts";

const workspace = await createWorkspace();
// No conversation is resolved as idle, however the clock goes on.
const agent = await createAgent(workspace, {
  allowed_origins: ["*"],
  email_address: `${crypto.randomUUID()}@example.com`,
  inactivity_minutes: YEAR_MINUTES,
});
await listen(workspace);
await learn(workspace, agent.id, "# Refunds\n\nRefunds are paid within five working days.");
await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "When are refunds paid?", user: { id: "ann" } });
await send("POST", `/widget/v1/agents/${agent.id}/leads`, { body: { email: "ann@example.com" }, headers: newAddress() });

/** Reads all records of the workspace through the API. */
async function describe() {
  const found: Record<string, unknown> = {};
  for (const path of ["/me", "/privacy/visitors?external_id=ann", "/leads?q=ann", "/webhooks", `/agents/${agent.id}/sources`]) {
    const { status, body } = await workspace.call("GET", path);
    // Its deliveries are attempted once the import is complete, and fail.
    if (path === "/webhooks") for (const webhook of body.data) delete webhook.failure_streak;
    found[path] = { status, body };
  }
  found["search"] = (await workspace.call("POST", `/agents/${agent.id}/search`, { query: "refunds" })).body;
  return found;
}

/**
 * How many records there are of each type but the counts of visitors, which are pruned after a day, and the attempts of
 * deliveries, which begin once the import is complete.
 */
function countsOf({ end }: ExportFile) {
  const { visitor_counts: _, delivery_attempts: _attempts, ...counts } = end["counts"];
  return counts;
}

const [before, file] = [await describe(), await exportWorkspace(workspace.id)];

await withEachFault("an import", {
  // The rows of every table are read alike, so those of the agents stand for all.
  only: /^(?!D1 reads shard_moves, (?!agents|workspaces|workspace_imports))/,
  prepare: () => eraseWhole(workspace.id),
  act: async () => {
    expect((await sendUntilAnswered(() => sendRecords(file, file.records))).body).toMatchObject({ state: "importing" });
    expect((await sendUntilAnswered(() => complete(file))).body).toMatchObject({ state: "complete" });
  },
  check: async () => {
    expect(await describe()).toEqual(before);
    expect(countsOf(await exportWorkspace(workspace.id))).toEqual(countsOf(file));
  },
});
