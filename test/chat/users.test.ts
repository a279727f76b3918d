import { expect, test } from "vitest";
import { createAgent, createNeighbour, createWorkspace, query, type Workspace } from "../harness.ts";

async function createFixture(beside?: Workspace) {
  const workspace = await (beside ? createNeighbour(beside) : createWorkspace());
  const agent = await createAgent(workspace);
  // An agent that a curated answer keeps from handing over, so that every message is an ordinary turn.
  await workspace.call("POST", `/agents/${agent.id}/answers`, { question: "Are you open on Sundays?", answer: "Yes." });
  const ask = async (body: Record<string, unknown>): Promise<string> => {
    const asked = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "Are you open on Sundays?", ...body });
    expect(asked.status).toBe(200);
    return asked.body.conversation_id;
  };
  return { workspace, ask };
}

const visitorsOf = ({ id }: Workspace) => query<Record<string, string>>(id, "SELECT * FROM visitors WHERE workspace_id = ?", id);
const visitorOf = async (workspace: Workspace, conversationId: string) =>
  (await workspace.call("GET", `/conversations/${conversationId}`)).body.visitor;

test("a user becomes a verified visitor with the caller's id", async () => {
  const { workspace, ask } = await createFixture();
  const conversation = await ask({ user: { id: "user-1", name: "Ann", email: "Ann@Example.com" } });
  expect(await visitorOf(workspace, conversation)).toEqual({
    id: expect.any(String),
    anon_id: "api:user-1",
    external_id: "user-1",
    name: "Ann",
    email: "Ann@Example.com",
    verified: true,
  });
  // The person is found by the email in lower case.
  expect(await visitorsOf(workspace)).toMatchObject([{ email_key: "ann@example.com" }]);
  const { messages } = (await workspace.call("GET", `/conversations/${conversation}`)).body;
  const visitor = await visitorOf(workspace, conversation);
  expect(messages[0].author).toEqual({ type: "visitor", id: visitor.id, name: "Ann" });
});

test("conversations of one user have one visitor", async () => {
  const { workspace, ask } = await createFixture();
  const first = await ask({ user: { id: "user-1" } });
  const second = await ask({ user: { id: "user-1" } });
  const other = await ask({ user: { id: "USER-1" } });
  expect(first).not.toBe(second);
  const [one, two, three] = [await visitorOf(workspace, first), await visitorOf(workspace, second), await visitorOf(workspace, other)];
  expect(two).toEqual(one);
  expect(three.id).not.toBe(one.id);
  expect(await visitorsOf(workspace)).toHaveLength(2);
});

test("many first questions of one user at once create one visitor", async () => {
  const { workspace, ask } = await createFixture();
  const conversations = await Promise.all(Array.from({ length: 12 }, () => ask({ user: { id: "user-1" } })));
  expect(new Set(conversations).size).toBe(12);
  const [visitor, ...others] = await visitorsOf(workspace);
  expect(others).toEqual([]);
  const linked = await query(workspace.id, "SELECT DISTINCT visitor_id FROM conversations WHERE workspace_id = ?", workspace.id);
  expect(linked).toEqual([{ visitor_id: visitor!.id }]);
});

test("a later message replaces name and email only when it gives them", async () => {
  const { workspace, ask } = await createFixture();
  const conversation = await ask({ user: { id: "user-1", name: "Ann", email: "ann@example.com" } });
  await ask({ conversation_id: conversation, user: { id: "user-1" } });
  await ask({ conversation_id: conversation, user: { id: "user-1", name: null, email: null } });
  expect(await visitorOf(workspace, conversation)).toMatchObject({ name: "Ann", email: "ann@example.com" });
  await ask({ user: { id: "user-1", name: "Ann Smith" } });
  expect(await visitorOf(workspace, conversation)).toMatchObject({ name: "Ann Smith", email: "ann@example.com" });
  await ask({ user: { id: "user-1", email: "Smith@Example.com" } });
  expect(await visitorOf(workspace, conversation)).toMatchObject({ name: "Ann Smith", email: "Smith@Example.com" });
  expect(await visitorsOf(workspace)).toMatchObject([{ email_key: "smith@example.com" }]);
});

test("a conversation without a user gets the first one given", async () => {
  const { workspace, ask } = await createFixture();
  const conversation = await ask({});
  expect(await visitorOf(workspace, conversation)).toBeNull();
  await ask({ conversation_id: conversation, user: { id: "user-1", name: "Ann" } });
  expect(await visitorOf(workspace, conversation)).toMatchObject({ anon_id: "api:user-1", name: "Ann" });
  // And keeps it when later messages name nobody.
  await ask({ conversation_id: conversation });
  expect(await visitorOf(workspace, conversation)).toMatchObject({ anon_id: "api:user-1" });
  const { messages } = (await workspace.call("GET", `/conversations/${conversation}`)).body;
  const { id } = await visitorOf(workspace, conversation);
  const authors = messages
    .filter(({ role }: { role: string }) => role === "user")
    .map(({ author }: { author: { id: string } }) => author.id);
  expect(authors).toEqual([null, id, id]);
});

test("the same user id in another workspace is another visitor", async () => {
  const one = await createFixture();
  const two = await createFixture(one.workspace);
  const first = await one.ask({ user: { id: "user-1", name: "Ann" } });
  const second = await two.ask({ user: { id: "user-1" } });
  expect(await visitorOf(two.workspace, second)).toMatchObject({ anon_id: "api:user-1", name: null });
  expect((await visitorOf(one.workspace, first)).id).not.toBe((await visitorOf(two.workspace, second)).id);
});

test("an empty name keeps the known one, and an address may have any character that mail allows", async () => {
  const { workspace, ask } = await createFixture();
  const conversation = await ask({ user: { id: "user-1", name: "Ann", email: "ann&bob@mail.example.com" } });
  await ask({ conversation_id: conversation, user: { id: "user-1", name: "  ", email: "ann/b=c@xn--mller-kva.example" } });
  expect(await visitorOf(workspace, conversation)).toMatchObject({ name: "Ann", email: "ann/b=c@xn--mller-kva.example" });
});
