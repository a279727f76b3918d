import { env } from "cloudflare:workers";
import { runInDurableObject } from "cloudflare:test";
import { expect } from "vitest";
import { type Answer, createAgent, createWorkspace, listen, newAddress, query, send, type Workspace } from "../harness.ts";
import { rowsOf } from "../backup/full-workspace.ts";
import { sendUntilAnswered, withEachFault, YEAR_MINUTES } from "./scenario.ts";

const QUESTION = "Are you open on Sundays?";

/** A workspace with an agent that knows the answer. No conversation is resolved as idle, however the clock goes on. */
async function createFixture() {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace, { allowed_origins: ["*"], inactivity_minutes: YEAR_MINUTES });
  await workspace.call("POST", `/agents/${agent.id}/answers`, { question: QUESTION, answer: "Yes." });
  await listen(workspace);
  return { workspace, agentId: agent.id };
}

/** A person asks, and leaves a lead. @returns the conversation. */
async function visit({ workspace, agentId }: Awaited<ReturnType<typeof createFixture>>, id: string): Promise<string> {
  const email = `${id}@example.com`;
  const asked = await workspace.call("POST", `/agents/${agentId}/messages`, { message: QUESTION, user: { id, email } });
  await send("POST", `/widget/v1/agents/${agentId}/leads`, { body: { email }, headers: newAddress() });
  return asked.body.conversation_id;
}

/** Counts the records of a person. */
const recordsOf = async (workspace: Workspace, email: string) => (await workspace.call("GET", `/privacy/visitors?email=${email}`)).body;

/** The entries in the storage of an object. */
function storedIn(stub: DurableObjectStub): Promise<unknown[]> {
  return runInDurableObject(stub, async (_, { storage }) => [...(await storage.list())]);
}

const fixture = await createFixture();
const kept = await visit(fixture, "ben");

await withEachFault("the erasure of a person", {
  prepare: async () => ({ ...fixture, gone: await visit(fixture, "ann"), answer: undefined as Answer | undefined }),
  act: async (stage) => {
    stage.answer = await sendUntilAnswered(() => stage.workspace.call("DELETE", "/privacy/visitors?email=ann@example.com"));
  },
  check: async ({ workspace, gone, answer }) => {
    expect(answer!.status).toBe(200);
    const none = { conversations: 0, messages: 0, leads: 0, handoffs: 0 };
    expect(await recordsOf(workspace, "ann@example.com")).toMatchObject({ visitors: [], counts: none });
    expect(await recordsOf(workspace, "ben@example.com")).toMatchObject({ counts: { conversations: 1, messages: 2, leads: 1 } });
    expect((await workspace.call("GET", "/leads?q=example")).body.total).toBe(1);
    const events = await query<{ payload: string }>(workspace.id, "SELECT payload FROM events WHERE workspace_id = ?", workspace.id);
    expect(events.filter(({ payload }) => payload.includes(gone) || payload.includes("ann@"))).toEqual([]);
    expect(events.filter(({ payload }) => payload.includes(kept))).toHaveLength(2);
    expect(await query(workspace.id, "SELECT id FROM privacy_erasures WHERE workspace_id = ?", workspace.id)).toEqual([]);
    expect(await storedIn(env.SESSION.getByName(`${workspace.id}/${gone}`))).toEqual([]);
  },
});

await withEachFault("the erasure of a workspace", {
  queues: ["support-agent-erasure", "support-agent-erasure-dlq"],
  prepare: async () => {
    const made = await createFixture();
    return { ...made, conversations: [await visit(made, "ann"), await visit(made, "ben")], answer: undefined as Answer | undefined };
  },
  act: async (stage) => {
    const remove = () => send("DELETE", `/operator/v1/workspaces/${stage.workspace.id}`, { token: env.OPERATOR_TOKEN });
    stage.answer = await sendUntilAnswered(remove);
  },
  check: async ({ workspace, agentId, conversations, answer }) => {
    // Deleted now, or by a request before this one.
    expect([204, 404]).toContain(answer!.status);
    expect(Object.values(await rowsOf(workspace.id)).flat()).toEqual([]);
    const { SESSION, INDEX, GATE } = env;
    const objects = [...conversations, agentId].map((id, at) => (at < 2 ? SESSION : INDEX).getByName(`${workspace.id}/${id}`));
    for (const object of [...objects, GATE.getByName(workspace.id)]) expect(await storedIn(object)).toEqual([]);
    expect((await workspace.call("GET", "/me")).status).toBe(401);
    expect(await recordsOf(fixture.workspace, "ben@example.com")).toMatchObject({ counts: { conversations: 1, messages: 2, leads: 1 } });
  },
});
