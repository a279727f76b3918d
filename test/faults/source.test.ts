import { expect } from "vitest";
import { createAgent, createWorkspace, fileForm, listen, type Workspace } from "../harness.ts";
import { behaveAt, newHost } from "../outbound.ts";
import { countBy, sendUntilAnswered, withEachFault } from "./scenario.ts";

const queues = ["support-agent-ingestion", "support-agent-ingestion-dlq", "support-agent-crawls", "support-agent-crawls-dlq"];
const TEXT = "Refunds are paid within five working days.";

async function createFixture(source: object | FormData, subpath = "") {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  await listen(workspace, ["source.synced", "source.failed"]);
  const path = `/agents/${agent.id}/sources`;
  const add = () => workspace.call("POST", path + subpath, source, { "Idempotency-Key": "once" });
  return { workspace, agent, path, add, id: "" };
}

async function expectOneSource(workspace: Workspace, path: string, id: string) {
  const { data: sources } = (await workspace.call("GET", path)).body;
  expect(sources).toMatchObject([{ id, status: "ready", chunks_count: 1, error: null }]);
  const found = await workspace.call("POST", path.replace("/sources", "/search"), { query: "When are refunds paid?" });
  expect(found.body.data).toMatchObject([{ content: expect.stringContaining(TEXT), source_id: id }]);
  expect(await countBy("events", "type", workspace.id)).toEqual({ "source.synced": 1 });
}

await withEachFault("a text", {
  queues,
  prepare: () => createFixture({ type: "text", name: "Handbook", text: `# Refunds\n\n${TEXT}` }),
  act: async (fixture) => {
    fixture.id = (await sendUntilAnswered(fixture.add)).body.id;
  },
  check: ({ workspace, path, id }) => expectOneSource(workspace, path, id),
});

await withEachFault("a page", {
  queues,
  prepare: async () => {
    const host = newHost();
    await behaveAt(`${host}/robots.txt`, { status: 404 });
    await behaveAt(`${host}/page`, {
      headers: { "Content-Type": "text/html" },
      body: `<title>Refunds</title><h1>Refunds</h1><p>${TEXT}</p>`,
    });
    return createFixture({ type: "url", name: "Page", url: `https://${host}/page` });
  },
  act: async (fixture) => {
    fixture.id = (await sendUntilAnswered(fixture.add)).body.id;
  },
  check: ({ workspace, path, id }) => expectOneSource(workspace, path, id),
});

await withEachFault("a file", {
  queues,
  prepare: () => createFixture(fileForm(`# Refunds\n\n${TEXT}`, { name: "Handbook" }), "/files"),
  act: async (fixture) => {
    fixture.id = (await sendUntilAnswered(fixture.add)).body.id;
  },
  check: ({ workspace, path, id }) => expectOneSource(workspace, path, id),
});
