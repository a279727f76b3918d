import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { changeSource } from "../../src/knowledge/sources.ts";
import { newOperation } from "../../src/platform/db/client.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { limitsOf } from "../../src/workspaces/plans.ts";
import { createAgent, createWorkspace, deliver, envWith, fileForm, operate } from "../harness.ts";

const MIB = 1024 * 1024;
const KETTLE = "The kettle costs 40 euros in the shop.";
const CHEAP_KETTLE = "The kettle costs 30 euros in the shop.";

async function createFixture() {
  const workspace = await createWorkspace();
  const { id: agentId } = await createAgent(workspace);
  const path = `/agents/${agentId}/sources`;
  const index = env.INDEX.getByName(`${workspace.id}/${agentId}`);
  const put = (body: object, key = "prices") => workspace.call("PUT", `${path}/by-key/${key}`, body);
  return {
    workspace,
    agentId,
    path,
    index,
    put,
    list: async () => (await workspace.call("GET", path)).body.data,
    read: async ({ id, type }: { id: string; type: string }) => {
      const queue = type === "text" ? "support-agent-ingestion" : "support-agent-crawls";
      await deliver(queue, { workspaceId: workspace.id, agentId, sourceId: id });
      return (await workspace.call("GET", `${path}/${id}`)).body;
    },
    found: async () => {
      const { body } = await workspace.call("POST", `/agents/${agentId}/search`, { query: "What does the kettle cost?" });
      return body.data.map(({ content }: { content: string }) => content);
    },
    waiting: () => runInDurableObject(index, (_, { storage: { sql } }) => sql.exec("SELECT source_id, part FROM file_parts").toArray()),
  };
}

type Content = (text: string) => object;
const KINDS: [kind: string, content: Content][] = [
  ["text", (text) => ({ name: "Prices", text })],
  ["file", (text) => fileForm(text, { name: "Prices" })],
];

test.for(KINDS)("a %s is added under a key, and replaced without a gap", async ([type, content]) => {
  const { put, list, read, found, waiting } = await createFixture();
  const added = await put(content(KETTLE));
  expect([added.status, added.body]).toMatchObject([202, { type, key: "prices", name: "Prices", status: "pending", schedule: "manual" }]);
  expect(await read(added.body)).toMatchObject({ status: "ready" });
  const replaced = await put(content(CHEAP_KETTLE));
  expect([replaced.status, replaced.body]).toMatchObject([202, { id: added.body.id, key: "prices", status: "pending" }]);
  expect(await found()).toEqual([expect.stringContaining(KETTLE)]);
  expect(await read(added.body)).toMatchObject({ status: "ready", error: null });
  expect(await found()).toEqual([expect.stringContaining(CHEAP_KETTLE)]);
  expect(await waiting()).toEqual([]);
  expect(await list()).toHaveLength(1);
});

test.for(KINDS)("the same %s again is not read again, and counts no sync", async ([, content]) => {
  const { workspace, put, read } = await createFixture();
  await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { syncs_per_day: 1 } });
  const { body: added } = await put(content(KETTLE));
  expect((await put(content(KETTLE))).body).toMatchObject({ id: added.id, status: "pending" });
  const ready = await read(added);
  const again = await put(content(KETTLE));
  expect([again.status, again.body]).toEqual([202, { ...ready, updated_at: expect.any(String) }]);
  const refused = await put(content(CHEAP_KETTLE));
  expect([refused.status, refused.body.error.code]).toEqual([429, "rate_limited"]);
});

test("after other content was refused, the same text again is not read again", async () => {
  const { workspace, put, read } = await createFixture();
  const { body: added } = await put({ text: KETTLE });
  const ready = await read(added);
  await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { knowledge_mb_per_agent: 1 } });
  expect((await put({ text: KETTLE.repeat(40_000) })).status).toBe(403);
  expect((await put({ text: KETTLE })).body).toEqual({ ...ready, updated_at: expect.any(String) });
});

test("a text that is sent again after several at once is the one that is found", async () => {
  const { put, read, found } = await createFixture();
  const { body: added } = await put({ text: "There is no kettle in the shop." });
  const answers = await Promise.all([KETTLE, CHEAP_KETTLE, KETTLE, CHEAP_KETTLE].map((text) => put({ text })));
  for (const { status } of answers) expect([202, 409]).toContain(status);
  for (const text of [KETTLE, CHEAP_KETTLE]) {
    await put({ text });
    await read(added);
    expect(await found()).toEqual([expect.stringContaining(text)]);
  }
});

test("metadata are replaced although the text is the same, and the key is the name by default", async () => {
  const { put } = await createFixture();
  const { body: added } = await put({ text: KETTLE, metadata: { region: "eu" } }, "docs%2Fprices.md");
  expect(added).toMatchObject({ key: "docs/prices.md", name: "docs/prices.md", metadata: { region: "eu" } });
  expect((await put({ text: KETTLE }, "docs%2Fprices.md")).body).toMatchObject({ id: added.id, metadata: {} });
});

test("a text that was changed by its id is replaced by the one that was sent before", async () => {
  const { workspace, path, put, read, found } = await createFixture();
  const { body: added } = await put({ text: KETTLE });
  await workspace.call("PATCH", `${path}/${added.id}`, { text: CHEAP_KETTLE });
  await put({ text: KETTLE });
  await read(added);
  expect(await found()).toEqual([expect.stringContaining(KETTLE)]);
});

test("a text that is sent again replaces one that a change stored before it died", async () => {
  const { workspace, agentId, path, index, put, read, found } = await createFixture();
  const { body: added } = await put({ text: KETTLE });
  await read(added);
  const stageText = async (...text: Parameters<typeof index.stageText>) => {
    await index.stageText(...text);
    throw new Error("killed");
  };
  const op = { ...newOperation(envWith({ INDEX: { getByName: () => ({ stageText }) } }), new Meter(), workspace.id), agentId };
  await expect(changeSource(op, limitsOf("enterprise", {}), added.id, { text: CHEAP_KETTLE })).rejects.toThrow("killed");
  await put({ text: KETTLE });
  await workspace.call("POST", `${path}/${added.id}/sync`);
  await read(added);
  expect(await found()).toEqual([expect.stringContaining(KETTLE)]);
});

test("a file that is replaced while it is read does not take the place of the new one", async () => {
  const { put, index, read, found } = await createFixture();
  const { body: source } = await put(fileForm(KETTLE, { name: "Prices" }));
  const begun = (await index.beginFileRead(source.id))!;
  await put(fileForm(CHEAP_KETTLE, { name: "Prices" }));
  expect(await index.readFilePart(source.id, begun.uploadId, 0)).toBeNull();
  await index.stageText(source.id, "Prices", KETTLE, MIB, begun.uploadId);
  await index.removeFile(source.id, begun.uploadId);
  await read(source);
  expect(await found()).toEqual([expect.stringContaining(CHEAP_KETTLE)]);
});

test("a file that cannot be read leaves the previous one in use, and is read again when it is sent again", async () => {
  const { put, read, found } = await createFixture();
  const { body: source } = await put(fileForm(KETTLE));
  await read(source);
  const damaged = () => put(fileForm("%PDF-1.7 damaged"));
  for (let sent = 0; sent < 2; sent++) {
    expect((await damaged()).body).toMatchObject({ id: source.id, status: "pending" });
    expect(await read(source)).toMatchObject({ status: "failed", error: { code: "pdf_damaged" } });
    expect(await found()).toEqual([expect.stringContaining(KETTLE)]);
  }
});

test("a name that is changed while a new file waits keeps the file", async () => {
  const { workspace, path, put, read, found } = await createFixture();
  const { body: source } = await put(fileForm(KETTLE));
  await read(source);
  await put(fileForm(CHEAP_KETTLE));
  await workspace.call("PATCH", `${path}/${source.id}`, { name: "Cheap prices" });
  expect(await read(source)).toMatchObject({ status: "ready", name: "Cheap prices" });
  expect(await found()).toEqual([expect.stringContaining(CHEAP_KETTLE)]);
});

test("the parts of an upload that was interrupted are removed by its wake-up", async () => {
  const { agentId, workspace, index, put, waiting } = await createFixture();
  await put({ text: KETTLE });
  const upload = crypto.randomUUID();
  await index.putFilePart(upload, 0, new TextEncoder().encode(KETTLE));
  expect(await waiting()).toHaveLength(1);
  await deliver("support-agent-crawls", { workspaceId: workspace.id, agentId, sourceId: upload });
  expect(await waiting()).toEqual([]);
});

test("requests that add the same key at once add one source", async () => {
  const { put, list } = await createFixture();
  const answers = await Promise.all([KETTLE, CHEAP_KETTLE, KETTLE].map((text) => put({ text })));
  for (const { status } of answers) expect([202, 409]).toContain(status);
  expect(answers.map(({ status }) => status)).toContain(202);
  expect(await list()).toHaveLength(1);
});

test("a key belongs to one agent, and to one type of source", async () => {
  const { workspace, put, list } = await createFixture();
  const { body: source } = await put({ text: KETTLE });
  const other = await createAgent(workspace, { name: "Other" });
  const added = await workspace.call("PUT", `/agents/${other.id}/sources/by-key/prices`, { text: KETTLE });
  expect([added.status, added.body.agent_id]).toEqual([202, other.id]);
  expect(added.body.id).not.toBe(source.id);
  const refused = await put(fileForm(KETTLE));
  expect([refused.status, refused.body.error]).toMatchObject([409, { code: "conflict", message: expect.stringContaining("is a text") }]);
  expect(await list()).toMatchObject([{ type: "text" }]);
});

test("a key of more than 200 characters, an empty text and an empty file are refused", async () => {
  const { put, list } = await createFixture();
  for (const [body, key, loc] of [
    [{ text: KETTLE }, "k".repeat(201), ["path", "source_key"]],
    [{ text: "" }, "prices", ["body", "text"]],
    [{}, "prices", ["body", "text"]],
    [fileForm(""), "prices", ["body", "file"]],
  ] as const) {
    const { status, body: answer } = await put(body, key);
    expect([status, answer.detail]).toMatchObject([422, [{ loc }]]);
  }
  expect(await list()).toEqual([]);
});
