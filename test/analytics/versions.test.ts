import { expect, test } from "vitest";
import { createAgent, createWorkspace, learn, newAddress, query, send } from "../harness.ts";

const KNOWN = "When are refunds paid?";
const UNKNOWN = "What is the capital of France?";

async function createFixture() {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  await learn(workspace, agent.id, "# Refunds\n\nRefunds are paid within five working days.");
  const path = `/agents/${agent.id}`;
  const ask = async (message: string, more: object = {}) => (await workspace.call("POST", `${path}/messages`, { message, ...more })).body;
  const publish = async (rollout: number | null, instructions: string) => {
    await workspace.call("PATCH", `${path}/versions/draft`, { instructions });
    await workspace.call("POST", `${path}/versions/publish`, { note: instructions, rollout });
  };
  const compare = async () => (await workspace.call("GET", `/analytics/versions?agent_id=${agent.id}`)).body;
  return { workspace, agent, path, ask, publish, compare };
}

const resolve = async ({ workspace }: Awaited<ReturnType<typeof createFixture>>, { conversation_id: id }: any) =>
  workspace.call("PATCH", `/conversations/${id}`, { status: "resolved" });

test("versions are compared by their conversations, answers and ratings", async () => {
  const fixture = await createFixture();
  const { workspace, ask, publish, compare } = fixture;
  expect(await compare()).toMatchObject({ data: [], total: 0 });
  const first = await ask(KNOWN);
  await ask(KNOWN, { conversation_id: first.conversation_id });
  await resolve(fixture, first);
  await ask(UNKNOWN);
  await publish(1, "Rhyme.");
  const second = await ask(KNOWN);
  await workspace.call("POST", `/conversations/${second.conversation_id}/messages/${second.message_id}/feedback`, { rating: "up" });
  await workspace.call("POST", `/conversations/${second.conversation_id}/messages/${second.message_id}/feedback`, { rating: "down" });
  await ask(KNOWN, { channel: "playground" });
  await workspace.call("PATCH", `${fixture.path}/versions/draft`, { instructions: "Sing." });
  await ask(KNOWN, { version: "draft" });
  expect(await compare()).toEqual({
    data: [
      {
        version: 2,
        note: "Rhyme.",
        created_at: expect.any(String),
        conversations: 1,
        ai_replies: 1,
        rates: { ai_resolution: 0, handoff: 0, handoff_reply: 0 },
        csat: { average: null, count: 0 },
        feedback: { up: 0, down: 1 },
      },
      {
        version: 1,
        note: null,
        created_at: expect.any(String),
        conversations: 2,
        ai_replies: 3,
        rates: { ai_resolution: 0.5, handoff: 0.5, handoff_reply: 0.3333 },
        csat: { average: null, count: 0 },
        feedback: { up: 0, down: 0 },
      },
    ],
    total: 2,
    limit: 20,
    offset: 0,
    has_more: false,
  });
});

test("a conversation counts for the version with which it started, its later answers for those that wrote them", async () => {
  const fixture = await createFixture();
  const { ask, publish, compare } = fixture;
  const begun = await ask(KNOWN);
  await publish(null, "Rhyme.");
  await ask(KNOWN, { conversation_id: begun.conversation_id });
  await resolve(fixture, begun);
  expect((await compare()).data).toMatchObject([
    { version: 2, conversations: 0, ai_replies: 1, rates: { ai_resolution: null, handoff: null, handoff_reply: 0 } },
    { version: 1, conversations: 1, ai_replies: 1, rates: { ai_resolution: 1, handoff: 0 } },
  ]);
});

test("a visitor's score counts for the version of the conversation", async () => {
  const { workspace, agent, compare } = await createFixture();
  await workspace.call("PATCH", `/agents/${agent.id}`, { allowed_origins: ["*"] });
  const { body } = await send("POST", `/widget/v1/agents/${agent.id}/messages`, { body: { message: KNOWN }, headers: newAddress() });
  const headers = { ...newAddress(), Authorization: `Bearer ${body.visitor_token}` };
  for (const score of [2, 4]) await send("POST", `/widget/v1/conversations/${body.conversation_id}/csat`, { body: { score }, headers });
  expect((await compare()).data).toMatchObject([{ version: 1, csat: { average: 4, count: 1 } }]);
});

test("the counts of a version are deleted with it", async () => {
  const { workspace, path, agent, ask } = await createFixture();
  await ask(KNOWN);
  await workspace.call("DELETE", path);
  expect(await query(workspace.id, "SELECT version FROM agent_version_counts WHERE agent_id = ?", agent.id)).toEqual([]);
});
