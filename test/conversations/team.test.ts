import { expect, test } from "vitest";
import { KNOWN, UNKNOWN } from "../chat/handbook.ts";
import { createAgent, createWorkspace, listen, operate, query } from "../harness.ts";
import { conversationOf, createWidget } from "../widget/widget.ts";

const GRACE = { id: "grace", name: "Grace Hopper" };

/** A visitor's conversation that the agent handed to the team, and what both sides do with it. */
async function handOff(question = UNKNOWN) {
  const { workspace, agent, visitor } = await createWidget();
  await listen(workspace);
  const browser = visitor();
  const { body } = await browser.write({ message: question });
  const { conversation_id: id, visitor_token: token } = body;
  const path = `/conversations/${id}`;
  return {
    workspace,
    agent,
    id,
    path,
    token,
    browser,
    write: (message: string) => browser.write({ message, conversation_id: id, visitor_token: token }),
    poll: async () => (await browser.on(token, id, "GET", "messages")).body.data,
    note: (content: string, author?: object | null) => workspace.call("POST", `${path}/notes`, { content, author }),
    reply: (body: object) => workspace.call("POST", `${path}/messages`, { content: "Hello", ...body }),
    change: async (body: object) => (await workspace.call("PATCH", path, body)).body,
    read: () => conversationOf(workspace, id),
  };
}

test("the names of members and visitors are one line", async () => {
  const { workspace, agent, change } = await handOff();
  expect((await change({ assignee: { id: "grace", name: "Grace\nHopper" } })).assignee.name).toBe("Grace Hopper");
  const user = { id: "ann", name: "Ann\r\nThe team" };
  const { body } = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: KNOWN.message, user });
  expect((await conversationOf(workspace, body.conversation_id)).visitor.name).toBe("Ann The team");
});

const idsOf = (body: { data: { id: string }[] }) => body.data.map(({ id }) => id);

test("a conversation is assigned, found by its assignee, and taken back", async () => {
  const { workspace, id, path, change, read } = await handOff();
  expect((await read()).assignee).toBeNull();
  expect((await change({ assignee: GRACE })).assignee).toEqual(GRACE);
  expect((await change({ tags: ["vip"] })).assignee).toEqual(GRACE);
  const list = (who: string) => workspace.call("GET", `/conversations?assignee_id=${who}`);
  expect((await list("grace")).body).toMatchObject({ data: [{ id, assignee: GRACE, tags: ["vip"] }], total: 1 });
  expect((await list("ada")).body).toMatchObject({ data: [], total: 0 });
  expect((await change({ assignee: null })).assignee).toBeNull();
  expect((await list("grace")).body.total).toBe(0);
  const refused = await workspace.call("PATCH", path, { assignee: { id: "", name: "x".repeat(121) } });
  expect(refused.body.detail.map((item: any) => [item.loc.join("."), item.type])).toEqual([
    ["body.assignee.id", "string_too_short"],
    ["body.assignee.name", "string_too_long"],
  ]);
});

test("a note is only in the team's transcript: visitors, models, events and counts do not contain it", async () => {
  const { workspace, id, path, poll, note, read, write, change } = await handOff(KNOWN.message);
  const before = await read();
  const added = await note("SECRET: she is a VIP.", GRACE);
  expect(added).toMatchObject({
    status: 201,
    body: { conversation_id: id, role: "note", author: { type: "member", ...GRACE }, content: "SECRET: she is a VIP.", citations: [] },
  });
  const after = await read();
  expect(after.messages.at(-1)).toEqual(added.body);
  expect(Date.parse(after.updated_at)).toBeGreaterThanOrEqual(Date.parse(before.updated_at));
  const { messages: _, updated_at: _at, ...rest } = after;
  const { messages: _before, updated_at: _beforeAt, ...restBefore } = before;
  expect(rest).toEqual(restBefore);
  await write("And how do I send a parcel back?");
  await change({ status: "resolved" });
  expect((await read()).messages.map(({ role }: any) => role)).toEqual(["user", "assistant", "note", "user", "assistant"]);
  const page = await workspace.call("GET", `${path}/messages?limit=3`);
  expect(page.body).toMatchObject({ total: 5, data: [{ role: "note" }, { role: "user" }, { role: "assistant" }] });
  const next = await workspace.call("GET", `${path}/messages?limit=3&cursor=${page.body.next_cursor}`);
  expect(next.body.data.map(({ role }: any) => role)).toEqual(["user", "assistant"]);
  expect((await poll()).map(({ role }: any) => role)).toEqual(["user", "assistant", "user", "assistant"]);
  const stored = await query<{ payload: string }>(id, "SELECT payload FROM events WHERE workspace_id = ?", workspace.id);
  expect(stored.length).toBeGreaterThan(2);
  expect(JSON.stringify(stored)).not.toContain("SECRET");
});

test("notes keep their order, and a conversation has room for as many as for messages", async () => {
  const { workspace, note, read } = await handOff();
  await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { messages_per_conversation: 3 } });
  for (const text of ["one", "two", "three"]) expect((await note(text)).status).toBe(201);
  expect((await note("four")).body.error).toMatchObject({ code: "plan_required", message: expect.stringContaining("notes") });
  expect((await read()).messages.map(({ content }: any) => content).slice(-3)).toEqual(["one", "two", "three"]);
});

test("a note for another workspace's conversation is not found", async () => {
  const { path, read } = await handOff();
  const other = await createWorkspace();
  expect((await other.call("POST", `${path}/notes`, { content: "Hello" })).status).toBe(404);
  expect((await read()).messages.some(({ role }: any) => role === "note")).toBe(false);
});

test("visitors learn the name of who replies, and not the id", async () => {
  const { reply, poll, read } = await handOff();
  await reply({ author: GRACE });
  expect((await poll()).at(-1)).toMatchObject({ role: "human", author: { type: "member", id: null, name: GRACE.name } });
  expect((await read()).messages.at(-1).author).toEqual({ type: "member", ...GRACE });
});

test("the message that hands a conversation off and later ones are unread until the team reads, replies or sets a status", async () => {
  const { workspace, id, write, read, change, reply } = await handOff();
  const unread = async () => (await workspace.call("GET", "/conversations?unread=true")).body;
  expect((await read()).unread_count).toBe(1);
  await write("Is anybody there? I want to talk to a human.");
  await write("Hello?");
  expect(await unread()).toMatchObject({ data: [{ id, unread_count: 3 }], total: 1 });
  const { updated_at: at } = await read();
  expect(await change({ read: true })).toMatchObject({ unread_count: 0, updated_at: at });
  expect(await unread()).toMatchObject({ data: [], total: 0 });
  expect((await change({ read: false })).unread_count).toBe(1);
  await reply({});
  expect((await read()).unread_count).toBe(0);
  await write("Thank you");
  expect((await read()).unread_count).toBe(1);
  expect(await change({ status: "human_active" })).toMatchObject({ status: "human_active", unread_count: 1 });
  expect((await change({ status: "open" })).unread_count).toBe(0);
});

test("a conversation that the agent handles has no unread messages", async () => {
  const { workspace, write, read, id, browser, token } = await handOff(KNOWN.message);
  await write("When are refunds paid?");
  expect((await read()).unread_count).toBe(0);
  await browser.on(token, id, "POST", "handoff");
  expect((await read()).unread_count).toBe(1);
  const refused = await workspace.call("GET", "/conversations?unread=false");
  expect(refused.body.detail).toMatchObject([{ loc: ["query", "unread"], type: "literal_error" }]);
});

test("notes are exported with the person, and erased with them", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const ask = async (user: string) =>
    (await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "Hello", user: { id: user } })).body.conversation_id;
  const [first, second, others] = [await ask("ann"), await ask("ann"), await ask("bob")];
  const note = (id: string, content: string) => workspace.call("POST", `/conversations/${id}/notes`, { content });
  for (const [id, content] of [
    [first, "one"],
    [second, "two"],
    [second, "three"],
    [others, "four"],
  ] as const)
    await note(id, content);
  const exported = (await workspace.call("GET", "/privacy/export?external_id=ann")).body;
  const notesOf = (id: string) => exported.conversations.find((one: any) => one.id === id).notes.map(({ content }: any) => content);
  expect([notesOf(first), notesOf(second)]).toEqual([["one"], ["two", "three"]]);
  expect((await workspace.call("DELETE", "/privacy/visitors?external_id=ann")).body.deleted).toMatchObject({ conversations: 2, notes: 3 });
  expect(await query(workspace.id, "SELECT content FROM notes WHERE workspace_id = ?", workspace.id)).toEqual([{ content: "four" }]);
  expect(idsOf((await workspace.call("GET", "/conversations")).body)).toEqual([others]);
});
