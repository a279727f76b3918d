import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { addAnswer, confirmIndexed } from "../../src/knowledge/answers.ts";
import { newOperation } from "../../src/platform/db/client.ts";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { sweep } from "../../src/sweep/sweep.ts";
import { limitsOf } from "../../src/workspaces/plans.ts";
import { countRows, createAgent, createNeighbour, createWorkspace, envWith, operate, query, type Workspace } from "../harness.ts";

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const QUESTION = "Do you ship to Norway?";

async function createFixture(beside?: Workspace) {
  const workspace = await (beside ? createNeighbour(beside) : createWorkspace());
  const agent = await createAgent(workspace);
  const path = `/agents/${agent.id}/answers`;
  return {
    workspace,
    agent,
    path,
    create: (question = QUESTION, answer = "Yes, in nine days.") => workspace.call("POST", path, { question, answer }),
    list: async (search = "") => (await workspace.call("GET", path + search)).body,
    ask: async (message = QUESTION) => (await workspace.call("POST", `/agents/${agent.id}/messages`, { message })).body,
    search: async (words = QUESTION) => (await workspace.call("POST", `/agents/${agent.id}/search`, { query: words })).body.data,
  };
}

test("a new answer is listed, and used at once in ask and search", async () => {
  const { agent, create, list, ask, search } = await createFixture();
  const created = await create();
  expect(created.status).toBe(201);
  expect(created.body).toEqual({
    id: expect.any(String),
    agent_id: agent.id,
    question: QUESTION,
    answer: "Yes, in nine days.",
    metadata: {},
    created_at: expect.stringMatching(TIME),
    updated_at: expect.stringMatching(TIME),
  });
  expect(await ask()).toMatchObject({ answer: "Yes, in nine days.", citations: [{ type: "answer", source_id: created.body.id }] });
  expect(await search()).toEqual([
    { title: QUESTION, url: null, source_id: created.body.id, type: "answer", content: "Yes, in nine days.", score: 1 },
  ]);
  expect(await list()).toEqual({ data: [created.body], total: 1, limit: 20, offset: 0, has_more: false });
});

test("past the plan's number of answers another is refused, and nothing of it is stored", async () => {
  const { workspace, path, create, list, ask, search } = await createFixture();
  const limitTo = (answers_per_agent: number) => operate("PATCH", `/workspaces/${workspace.id}`, { limits: { answers_per_agent } });
  await limitTo(2);
  const made = await Promise.all(["one", "two", "three", "four"].map((word) => create(`Do you ship ${word}?`, `Yes, in ${word} days.`)));
  expect(made.map(({ status }) => status).toSorted()).toEqual([201, 201, 403, 403]);
  expect(made.find(({ status }) => status === 403)!.body.error).toMatchObject({
    code: "plan_required",
    message: expect.stringContaining("curated answers"),
  });
  expect((await list()).total).toBe(2);
  expect((await search("Do you ship one two three four?")).length).toBe(2);
  // Another agent has its own.
  const other = await createAgent(workspace);
  const body = { question: QUESTION, answer: "Yes.", metadata: {} };
  expect((await workspace.call("POST", `/agents/${other.id}/answers`, body)).status).toBe(201);
  // Existing answers stay when the limit becomes smaller, and deleting them makes room.
  await limitTo(1);
  expect((await list()).data).toHaveLength(2);
  const { question, answer } = (await list()).data[1];
  expect((await ask(question)).answer).toBe(answer);
  for (const { id } of (await list()).data) {
    expect((await create()).status).toBe(403);
    await workspace.call("DELETE", `${path}/${id}`);
  }
  expect((await create()).status).toBe(201);
});

test("the list is paged, oldest first, with the total", async () => {
  const { workspace, agent, create, list } = await createFixture();
  expect(await list()).toEqual({ data: [], total: 0, limit: 20, offset: 0, has_more: false });
  const made: string[] = [];
  for (let at = 0; at < 5; at++) made.push((await create(`Question ${at}?`, "Yes.")).body.id);
  const page = async (search: string) => {
    const { data, ...rest } = await list(search);
    return { ids: data.map(({ id }: { id: string }) => id), ...rest };
  };
  expect(await page("?limit=2")).toEqual({ ids: made.slice(0, 2), total: 5, limit: 2, offset: 0, has_more: true });
  expect(await page("?limit=2&offset=3")).toEqual({ ids: made.slice(3), total: 5, limit: 2, offset: 3, has_more: false });
  expect(await page("?offset=5")).toEqual({ ids: [], total: 5, limit: 20, offset: 5, has_more: false });
  expect((await workspace.call("GET", `/agents/${agent.id}`)).body.answers_count).toBe(5);
});

test("a deleted answer is gone from list, ask and search at once", async () => {
  const { workspace, agent, path, create, list, ask, search } = await createFixture();
  const { id } = (await create()).body;
  const kept = (await create("When do you open?", "At eight.")).body;
  const deleted = await workspace.call("DELETE", `${path}/${id}`);
  expect([deleted.status, deleted.body]).toEqual([204, ""]);
  expect((await list()).data).toEqual([kept]);
  expect((await ask()).answer).toBe(agent.handoff_message);
  expect(await search()).toEqual([]);
  expect((await ask("When do you open?")).answer).toBe("At eight.");
  expect((await workspace.call("DELETE", `${path}/${id}`)).status).toBe(404);
  expect((await workspace.call("GET", `/agents/${agent.id}`)).body.answers_count).toBe(1);
});

test("an unknown agent is 404 for every operation, and nothing is stored", async () => {
  const { workspace } = await createFixture();
  const other = await createFixture(workspace);
  const theirs = (await other.create()).body.id;
  const before = await countRows();
  for (const agentId of [newId(shardOf(workspace.id), Date.now()), other.agent.id]) {
    const path = `/agents/${agentId}/answers`;
    expect((await workspace.call("GET", path)).status).toBe(404);
    expect((await workspace.call("POST", path, { question: "A?", answer: "B." })).status).toBe(404);
    expect((await workspace.call("DELETE", `${path}/${theirs}`)).status).toBe(404);
    expect((await workspace.call("POST", `/agents/${agentId}/search`, { query: QUESTION })).status).toBe(404);
  }
  expect(await countRows()).toEqual(before);
  expect((await other.ask()).answer).toBe("Yes, in nine days.");
});

test("an agent does not use another agent's answers, nor delete them", async () => {
  const { workspace, create, ask } = await createFixture();
  const { id } = (await create()).body;
  const other = await createAgent(workspace, { name: "Other" });
  expect((await workspace.call("POST", `/agents/${other.id}/messages`, { message: QUESTION })).body.needs_human).toBe(true);
  expect((await workspace.call("DELETE", `/agents/${other.id}/answers/${id}`)).status).toBe(404);
  expect((await ask()).answer).toBe("Yes, in nine days.");
});

test("an answer that was not indexed is indexed by the sweep, once", async () => {
  const { workspace, agent, ask, list } = await createFixture();
  const failing = { getByName: () => ({ putAnswer: () => Promise.reject(new Error("the object is overloaded")) }) };
  const op = { ...newOperation(envWith({ INDEX: failing }), new Meter(), workspace.id), agentId: agent.id };
  await expect(addAnswer(op, limitsOf("enterprise", {}), { question: QUESTION, answer: "Yes.", metadata: {} })).rejects.toThrow(
    "overloaded",
  );
  expect((await list()).total).toBe(1);
  expect((await ask()).needs_human).toBe(true);
  const later = Date.now() + 2 * 60_000;
  await sweep(env, later);
  expect((await ask()).answer).toBe("Yes.");
  const indexedAt = "SELECT indexed_at FROM answers WHERE workspace_id = ?";
  expect(await query(workspace.id, indexedAt, workspace.id)).toEqual([{ indexed_at: later }]);
  await sweep(env, later + 60_000);
  expect(await query(workspace.id, indexedAt, workspace.id)).toEqual([{ indexed_at: later }]);
});

/** The environment with an index to which an answer comes only after `meanwhile`. */
function slowIndex(meanwhile: (answerId: string) => Promise<unknown>): Env {
  return envWith({
    INDEX: {
      getByName: (name: string) => {
        const stub = env.INDEX.getByName(name);
        return {
          putAnswer: async (answer: { id: string; question: string; answer: string }) => {
            await meanwhile(answer.id);
            await stub.putAnswer(answer);
          },
          removeAnswer: (id: string) => stub.removeAnswer(id),
        };
      },
    },
  });
}

test("an answer that is deleted while it is indexed does not stay in the index", async () => {
  const { workspace, agent, path, ask, list } = await createFixture();
  const remove = async (id: string) => expect((await workspace.call("DELETE", `${path}/${id}`)).status).toBe(204);
  const op = { ...newOperation(slowIndex(remove), new Meter(), workspace.id), agentId: agent.id };
  const added = await addAnswer(op, limitsOf("enterprise", {}), { question: QUESTION, answer: "Yes.", metadata: {} });
  if (added.outcome !== "done") throw new Error(added.outcome);
  await confirmIndexed(op, [added.answer]);
  expect((await list()).total).toBe(0);
  expect((await ask()).needs_human).toBe(true);
  // The same while the sweep hands it over.
  const id = newId(shardOf(workspace.id), Date.now());
  const statement = `INSERT INTO answers (id, workspace_id, agent_id, question, answer, created_at, updated_at) VALUES (?, ?, ?, ?, 'Yes.', 1, 1)`;
  await query(id, statement, id, workspace.id, agent.id, QUESTION);
  await sweep(slowIndex(remove), Date.now());
  expect((await list()).total).toBe(0);
  expect((await ask()).needs_human).toBe(true);
});
