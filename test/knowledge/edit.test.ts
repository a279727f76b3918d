import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { ingest } from "../../src/knowledge/consumer.ts";
import { createAgent, createWorkspace, deliver, envWith, learn, listen, query, type Workspace } from "../harness.ts";

const QUEUE = "support-agent-ingestion";

async function createFixture(settings: Parameters<typeof createWorkspace>[0] = {}) {
  const workspace = await createWorkspace(settings);
  const agent = await createAgent(workspace);
  const path = `/agents/${agent.id}`;
  return {
    workspace,
    agent,
    path,
    message: (sourceId: string) => ({ workspaceId: workspace.id, agentId: agent.id, sourceId }),
    patch: (id: string, body: object) => workspace.call("PATCH", `${path}/sources/${id}`, body),
    get: async (id: string) => (await workspace.call("GET", `${path}/sources/${id}`)).body,
    found: (question: string) => contents(workspace, agent.id, question),
  };
}

async function contents(workspace: Workspace, agentId: string, question: string): Promise<string[]> {
  const answer = await workspace.call("POST", `/agents/${agentId}/search`, { query: question });
  return answer.body.data.map(({ content }: { content: string }) => content);
}

// --- Sources ---------------------------------------------------------------------------------------------------------

test("a source is read alone, as it is in the list", async () => {
  const { workspace, agent, get, path } = await createFixture();
  const source = await learn(workspace, agent.id, "Refunds are paid within five working days.");
  expect(await get(source.id)).toEqual((await workspace.call("GET", `${path}/sources`)).body.data[0]);
  expect((await get(crypto.randomUUID())).error.code).toBe("not_found");
});

test("a new text is read again, and the old one answers until then", async () => {
  const { workspace, agent, patch, get, found, message } = await createFixture();
  const { id } = await learn(workspace, agent.id, "Parcels to Iceland take six days.");
  const changed = await patch(id, { text: "Parcels to Iceland take four days." });
  expect([changed.status, changed.body.status]).toEqual([200, "pending"]);
  expect(await found("How long do parcels to Iceland take?")).toEqual(["Parcels to Iceland take six days."]);
  await deliver(QUEUE, message(id));
  expect(await found("How long do parcels to Iceland take?")).toEqual(["Parcels to Iceland take four days."]);
  expect(await get(id)).toMatchObject({ status: "ready", chunks_count: 1 });
});

test("a new name of a text is the title of its passages, and its text stays", async () => {
  const { workspace, agent, patch, message } = await createFixture();
  const { id } = await learn(workspace, agent.id, "Parcels to Iceland take six days.", "Old title");
  expect((await patch(id, { name: "Shipping" })).body).toMatchObject({ name: "Shipping", status: "pending" });
  await deliver(QUEUE, message(id));
  const { body } = await workspace.call("POST", `/agents/${agent.id}/search`, { query: "parcels" });
  expect(body.data).toMatchObject([{ title: "Shipping", content: "Parcels to Iceland take six days." }]);
});

test("a text that is changed while it is read is read once more", async () => {
  const { workspace, agent, patch, get, found, message } = await createFixture();
  await listen(workspace, ["source.synced"]);
  const { id } = await learn(workspace, agent.id, "Parcels to Iceland take six days.");
  await patch(id, { text: "Parcels to Iceland take five days." });
  // The change arrives between the last step of the run and its end.
  const index = env.INDEX.getByName(`${workspace.id}/${agent.id}`);
  const changing = {
    ingestText: async (...args: [string, string]) => {
      const progress = await index.ingestText(...args);
      if (progress.done) await patch(id, { text: "Parcels to Iceland take four days." });
      return progress;
    },
  };
  await ingest(envWith({ INDEX: { getByName: () => changing } }), message(id));
  expect(await get(id)).toMatchObject({ status: "pending" });
  await deliver(QUEUE, message(id));
  expect(await get(id)).toMatchObject({ status: "ready" });
  expect(await found("How long do parcels to Iceland take?")).toEqual(["Parcels to Iceland take four days."]);
  const events = await query<{ type: string }>(workspace.id, "SELECT type FROM events WHERE workspace_id = ?", workspace.id);
  expect(events).toHaveLength(2);
});

test("a text beyond the plan is refused, and the source stays as it is", async () => {
  const { workspace, agent, patch, get, found } = await createFixture({ limits: { knowledge_mb_per_agent: 1 } });
  const source = await learn(workspace, agent.id, "Parcels to Iceland take six days.");
  const refused = await patch(source.id, { text: "x ".repeat(600_000), name: "Other", metadata: { a: "b" } });
  expect([refused.status, refused.body.error.code]).toEqual([403, "plan_required"]);
  expect(await get(source.id)).toEqual(source);
  expect(await found("parcels")).toHaveLength(1);
});

test("settings of a website take effect without reading it again", async () => {
  const { workspace, patch, path, get } = await createFixture({ plan: "free" });
  const site = { type: "website", name: "Site", url: "https://www.example.com/", schedule: "manual" };
  const { id } = (await workspace.call("POST", `${path}/sources`, site)).body;
  await query(id, "UPDATE sources SET status = 'ready', last_synced_at = 1790000000000 WHERE id = ?", id);
  const changed = await patch(id, { name: "Help", schedule: "daily", max_pages: 5_000, metadata: { product: "billing" } });
  expect(changed.body).toMatchObject({
    name: "Help",
    status: "ready",
    schedule: "daily",
    max_pages: 100,
    metadata: { product: "billing" },
  });
  const nextInHours = (Date.parse(changed.body.next_sync_at) - 1_790_000_000_000) / 3_600_000;
  expect(nextInHours).toBeGreaterThan(21);
  expect(nextInHours).toBeLessThan(27);
  const same = await patch(id, { name: null, schedule: null, max_pages: null, text: null, metadata: null });
  expect({ ...same.body, updated_at: null }).toEqual({ ...changed.body, updated_at: null });
  expect((await patch(id, { schedule: "manual", metadata: {} })).body).toMatchObject({ next_sync_at: null, metadata: {} });
  const refused = await patch(id, { text: "Hello" });
  expect([refused.status, refused.body.detail[0].loc]).toEqual([422, ["body", "text"]]);
  expect(await get(id)).toMatchObject({ name: "Help", status: "ready" });
});

test("a schedule that is changed while a sync waits is applied at its end", async () => {
  const { workspace, patch, path } = await createFixture();
  const { id } = (await workspace.call("POST", `${path}/sources`, { type: "url", name: "Page", url: "https://www.example.com/" })).body;
  expect((await patch(id, { schedule: "daily" })).body).toMatchObject({ status: "pending", schedule: "daily", next_sync_at: null });
});

// --- Curated answers -------------------------------------------------------------------------------------------------

async function createAnswer(fixture: Awaited<ReturnType<typeof createFixture>>, fields: object = {}) {
  const answer = { question: "Do you ship to Iceland?", answer: "Yes, in six days.", ...fields };
  return (await fixture.workspace.call("POST", `${fixture.path}/answers`, answer)).body;
}

test("a changed answer is given at once, and its question stays", async () => {
  const fixture = await createFixture();
  const created = await createAnswer(fixture);
  const changed = await fixture.workspace.call("PATCH", `${fixture.path}/answers/${created.id}`, { answer: "Yes, in four days." });
  expect(changed.status).toBe(200);
  expect(changed.body).toEqual({ ...created, answer: "Yes, in four days.", updated_at: expect.any(String) });
  expect(changed.body.updated_at > created.updated_at).toBe(true);
  expect(await fixture.found("Do you ship to Iceland?")).toEqual(["Yes, in four days."]);
});

test("a changed question is matched, and the former one no more", async () => {
  const fixture = await createFixture();
  const { id } = await createAnswer(fixture);
  await fixture.workspace.call("PATCH", `${fixture.path}/answers/${id}`, { question: "Which couriers deliver abroad?" });
  expect(await fixture.found("Which couriers deliver abroad?")).toEqual(["Yes, in six days."]);
  expect(await fixture.found("Do you ship to Iceland?")).toEqual([]);
});

test("metadata of an answer are replaced without touching its index", async () => {
  const fixture = await createFixture();
  const { id, metadata } = await createAnswer(fixture, { metadata: { region: "eu" } });
  expect(metadata).toEqual({ region: "eu" });
  const changed = await fixture.workspace.call("PATCH", `${fixture.path}/answers/${id}`, { metadata: { region: "us" } });
  expect(changed.body.metadata).toEqual({ region: "us" });
  expect(await fixture.found("Do you ship to Iceland?")).toEqual(["Yes, in six days."]);
});

test("an older version of an answer that is indexed late does not replace the newer one", async () => {
  const index = env.INDEX.getByName(`${crypto.randomUUID()}/${crypto.randomUUID()}`);
  await index.putAnswer({ id: "a", question: "Where are you?", answer: "In Bern.", updatedAt: 2 });
  await index.putAnswer({ id: "a", question: "Where are you?", answer: "In Graz.", updatedAt: 1 });
  const { curated } = await index.search({ question: "Where are you?", previousQuestions: [], limit: 5 });
  expect(curated.map(({ answer }) => answer)).toEqual(["In Bern."]);
});
