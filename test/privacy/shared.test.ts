import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { newOperation } from "../../src/platform/db/client.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { eraseVisitors } from "../../src/privacy/person-store.ts";
import { createAgent, createWorkspace, newAddress, query, send } from "../harness.ts";

const ANN = "ann@example.com";
const BOB = "bob@example.com";

/** A browser on a workspace's website. */
async function openBrowser() {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const headers = newAddress();
  const post = async (path: string, body: object) => (await send("POST", `/widget/v1/agents/${agent.id}${path}`, { body, headers })).body;
  const { visitor_token: token } = await post("/messages", { message: "Hello" });
  /** Asks in a conversation of its own. */
  const ask = async (message: string): Promise<string> => (await post("/messages", { message, visitor_token: token })).conversation_id;
  const leave = (contact: object) => post("/leads", { name: "Somebody", visitor_token: token, ...contact });
  const find = async (given: Record<string, string>) => {
    const { body } = await workspace.call("GET", `/privacy/visitors?${new URLSearchParams(given).toString()}`);
    return { ...body.counts, visitors: body.visitors.length, shared: body.shared_visitors.length };
  };
  const download = async (email: string) => (await workspace.call("GET", `/privacy/export?email=${email}`)).body;
  const erase = async (email: string) => (await workspace.call("DELETE", `/privacy/visitors?email=${email}`)).body.deleted;
  return { workspace, ask, leave, find, download, erase };
}

const ids = (records: { id: string }[]) => records.map(({ id }) => id).toSorted();

test("of a browser that two people used, a look-up by email takes what is the one's alone", async () => {
  const { workspace, ask, leave, find, download, erase } = await openBrowser();
  const [anns, bobs, both] = [await ask("Ann here"), await ask("Bob here"), await ask("We are two")];
  const lead = await leave({ email: ANN, conversation_id: anns });
  const others = await leave({ email: BOB, conversation_id: bobs });
  const inBoth = [await leave({ email: ANN, conversation_id: both }), await leave({ email: BOB, conversation_id: both })];
  const byPhone = await leave({ phone: "+45 12 34 56 78" });
  expect(await find({ email: ANN })).toMatchObject({ visitors: 0, shared: 1, conversations: 1, leads: 2 });
  const { conversations, leads, visitors } = await download(ANN);
  expect([visitors, ids(conversations), ids(leads)]).toEqual([[], [anns], ids([lead, inBoth[0]])]);
  expect(await erase(ANN)).toMatchObject({ visitors: 0, conversations: 1, leads: 2 });
  expect(ids((await workspace.call("GET", "/leads")).body.data)).toEqual(ids([others, inBoth[1], byPhone]));
  expect((await workspace.call("GET", `/conversations/${bobs}`)).body.message_count).toBeGreaterThan(0);
  expect((await workspace.call("GET", `/conversations/${anns}`)).status).toBe(404);
  // Records that no email address assigns to one of the two people are found by their browser's id.
  const [visitor] = await query<{ anon_id: string }>(workspace.id, "SELECT anon_id FROM visitors WHERE workspace_id = ?", workspace.id);
  expect(await find({ anon_id: visitor!.anon_id })).toMatchObject({ visitors: 1, shared: 0, conversations: 3, leads: 3 });
});

test("a browser from which one email alone was left is that person's, with all that it did", async () => {
  const { ask, leave, find, erase } = await openBrowser();
  await ask("When are refunds paid?");
  await leave({ email: ANN.toUpperCase() });
  await leave({ phone: "+45 12 34 56 78" });
  expect(await find({ email: ANN })).toMatchObject({ visitors: 1, shared: 0, conversations: 2, leads: 2 });
  expect(await erase(ANN)).toMatchObject({ visitors: 1, conversations: 2, leads: 2 });
});

test("a visitor with an email of their own is theirs, whatever was typed into a contact form", async () => {
  const { workspace, ask, leave, find, erase } = await openBrowser();
  const conversation = await ask("When are refunds paid?");
  await query(workspace.id, "UPDATE visitors SET email = ?, email_key = ? WHERE workspace_id = ?", ANN, ANN, workspace.id);
  const typed = await leave({ email: BOB, conversation_id: conversation });
  expect(await find({ email: BOB })).toMatchObject({ visitors: 0, shared: 1, conversations: 0, leads: 1 });
  expect(await find({ email: ANN })).toMatchObject({ visitors: 1, shared: 0, conversations: 2, leads: 0 });
  expect(await erase(ANN)).toMatchObject({ visitors: 1, conversations: 2, leads: 0 });
  expect(ids((await workspace.call("GET", "/leads")).body.data)).toEqual([typed.id]);
  expect(await erase(BOB)).toMatchObject({ visitors: 0, leads: 1 });
});

test("records that were merged into another person's are that person's", async () => {
  const { workspace, ask, leave, find } = await openBrowser();
  await ask("Ann here");
  const lead = await leave({ email: ANN });
  // Bob signs in, and the browser's records become his.
  const person = crypto.randomUUID();
  const insert = `INSERT INTO visitors (id, workspace_id, anon_id, external_id, email, email_key, verified, created_at, updated_at)
    VALUES (?, ?, 'user:bob', 'bob', ?, ?, 1, 1, 1)`;
  await query(workspace.id, insert, person, workspace.id, BOB, BOB);
  await query(workspace.id, "UPDATE visitors SET merged_into = ? WHERE workspace_id = ? AND id <> ?", person, workspace.id, person);
  for (const table of ["conversations", "leads"])
    await query(workspace.id, `UPDATE ${table} SET visitor_id = ? WHERE workspace_id = ?`, person, workspace.id);
  expect(await find({ email: ANN })).toMatchObject({ visitors: 0, shared: 1, conversations: 0, leads: 1 });
  expect(await find({ email: BOB })).toMatchObject({ visitors: 2, shared: 0, conversations: 2, leads: 0 });
  expect(await find({ external_id: "bob" })).toMatchObject({ visitors: 2, conversations: 2, leads: 1 });
  expect(lead.email).toBe(ANN);
});

test("a visitor who has begun another conversation is not erased before it", async () => {
  const { workspace, ask } = await openBrowser();
  const id = await ask("Hello again");
  const [visitor] = await query<{ anon_id: string }>(workspace.id, "SELECT anon_id FROM visitors WHERE workspace_id = ?", workspace.id);
  const { db } = newOperation(env, new Meter(), workspace.id);
  const person = { type: "anon_id", value: visitor!.anon_id } as const;
  expect((await db.batch([eraseVisitors(db, workspace.id, person)]))[0]).toEqual([]);
  const erased = await workspace.call("DELETE", `/privacy/visitors?anon_id=${person.value}`);
  expect(erased.body.deleted).toMatchObject({ visitors: 1, conversations: 2 });
  expect((await workspace.call("GET", `/conversations/${id}`)).status).toBe(404);
});

test("a visitor who was merged is not erased before the other one, which is found through it", async () => {
  const { workspace, ask } = await openBrowser();
  await ask("Hello again");
  const [visitor] = await query<{ id: string; anon_id: string }>(
    workspace.id,
    "SELECT id, anon_id FROM visitors WHERE workspace_id = ?",
    workspace.id,
  );
  const merged = crypto.randomUUID();
  const insert = `INSERT INTO visitors (id, workspace_id, anon_id, merged_into, verified, created_at, updated_at) VALUES (?, ?, ?, ?, 0, 1, 1)`;
  const person = { type: "anon_id", value: `before-${visitor!.anon_id}` } as const;
  await query(workspace.id, insert, merged, workspace.id, person.value, visitor!.id);
  const { db } = newOperation(env, new Meter(), workspace.id);
  expect((await db.batch([eraseVisitors(db, workspace.id, person)]))[0]).toEqual([]);
  const erased = await workspace.call("DELETE", `/privacy/visitors?anon_id=${person.value}`);
  expect(erased.body.deleted).toMatchObject({ visitors: 2, conversations: 2 });
});
