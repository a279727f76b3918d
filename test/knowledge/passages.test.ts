import { expect, test } from "vitest";
import { createAgent, createWorkspace, deliver } from "../harness.ts";

const SHIPPING = "# Shipping\n\n## Times\n\nParcels arrive in two days.\n\n## Prices\n\nShipping costs 5 euros.";

async function createFixture() {
  const workspace = await createWorkspace();
  const { id: agentId } = await createAgent(workspace);
  const path = `/agents/${agentId}/sources`;
  const read = (sourceId: string) => deliver("support-agent-ingestion", { workspaceId: workspace.id, agentId, sourceId });
  const { body: source } = await workspace.call("POST", path, { type: "text", name: "Shipping", text: SHIPPING });
  return { workspace, agentId, path, source, read };
}

test("the passages of a source are its text, in the order of the text, a page at a time", async () => {
  const { workspace, path, source, read } = await createFixture();
  await read(source.id);
  const { status, body } = await workspace.call("GET", `${path}/${source.id}/passages`);
  expect(status).toBe(200);
  expect(body).toMatchObject({ total: body.data.length, offset: 0, has_more: false });
  expect(body.data[0]).toMatchObject({ type: "text", title: "Shipping", url: null });
  const text = body.data.map(({ content }: { content: string }) => content).join("\n");
  expect(text.indexOf("two days")).toBeGreaterThan(-1);
  expect(text.indexOf("5 euros")).toBeGreaterThan(text.indexOf("two days"));
  const last = await workspace.call("GET", `${path}/${source.id}/passages?limit=1&offset=${body.total - 1}`);
  expect(last.body.data).toEqual([body.data.at(-1)]);
});

test("a source that was not read yet has no passages, and a replaced one has the former ones until it is read", async () => {
  const { workspace, path, source, read } = await createFixture();
  const passages = async () => (await workspace.call("GET", `${path}/${source.id}/passages`)).body;
  expect(await passages()).toMatchObject({ data: [], total: 0 });
  await read(source.id);
  await workspace.call("PATCH", `${path}/${source.id}`, { text: "Shipping is free." });
  expect(JSON.stringify(await passages())).toContain("5 euros");
  await read(source.id);
  expect(JSON.stringify(await passages())).toContain("Shipping is free.");
  expect(JSON.stringify(await passages())).not.toContain("5 euros");
});

test("another workspace, another agent and an unknown source get 404", async () => {
  const { workspace, agentId, path, source, read } = await createFixture();
  await read(source.id);
  const other = await createWorkspace();
  const { id: otherAgent } = await createAgent(workspace);
  expect((await other.call("GET", `${path}/${source.id}/passages`)).status).toBe(404);
  expect((await workspace.call("GET", `/agents/${otherAgent}/sources/${source.id}/passages`)).status).toBe(404);
  expect((await workspace.call("GET", `${path}/${agentId}/passages`)).status).toBe(404);
});
