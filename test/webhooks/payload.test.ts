import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { addLead } from "../../src/leads/leads.ts";
import { newOperation } from "../../src/platform/db/client.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { createAgent, createWorkspace, learn, listen, query, send, type Workspace } from "../harness.ts";

const MAX_BYTES = 65_535;
const bytesOf = (text: string) => new TextEncoder().encode(text).length;

async function createFixture() {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace, { allowed_origins: ["*"] });
  await learn(workspace, agent.id, "# Refunds\n\nRefunds are paid within five working days.");
  const asked = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "When are refunds paid?" });
  await listen(workspace);
  return { workspace, agent, id: asked.body.conversation_id as string };
}

/** The one payload of that type. It is text as long as it may be, and valid. */
async function payloadOf(workspaceId: string, type: string): Promise<{ text: string; data: any }> {
  const rows = await query<{ payload: string }>(
    workspaceId,
    "SELECT payload FROM events WHERE workspace_id = ? AND type = ?",
    workspaceId,
    type,
  );
  expect(rows).toHaveLength(1);
  const text = rows[0]!.payload;
  expect(bytesOf(text)).toBeLessThanOrEqual(MAX_BYTES);
  expect(text.isWellFormed()).toBe(true);
  expect(text).not.toContain("\uFFFD");
  return { text, data: JSON.parse(text).data };
}

/** Stores tags as a version before tags had a maximum length could, and resolves the conversation. */
async function resolveWithTags(workspace: Workspace, id: string, tags: string[]) {
  await query(workspace.id, "UPDATE conversations SET tags = ? WHERE workspace_id = ? AND id = ?", JSON.stringify(tags), workspace.id, id);
  return workspace.call("PATCH", `/conversations/${id}`, { status: "resolved" });
}

/** Characters of different sizes in the payload: a quote has two bytes, an emoji four, a control character six. */
const KINDS: [name: string, character: string][] = [
  ["letters", "a"],
  ["umlauts", "ü"],
  ["quotes", '"'],
  ["backslashes", "\\"],
  ["emoji", "😀"],
  ["control characters", "\u0001"],
  ["zeros", "\u0000"],
];

describe.each(KINDS)("%s", (_, character) => {
  test("a reply of the maximum length", async () => {
    const { workspace, id } = await createFixture();
    // A reply is more than white space.
    const content = character.repeat(7999) + "a";
    await workspace.call("POST", `/conversations/${id}/messages`, { content });
    const { data } = await payloadOf(workspace.id, "message.human_replied");
    expect(data.content).toBe(content);
    expect(data).not.toHaveProperty("truncated");
  });

  test("stored tags of any length", async () => {
    const { workspace, id } = await createFixture();
    const long = Array.from({ length: 19 }, (_, at) => `${at}${character.repeat(4000)}`);
    const changed = await resolveWithTags(workspace, id, [...long, "short"]);
    expect(changed.status).toBe(200);
    const { text, data } = await payloadOf(workspace.id, "conversation.resolved");
    const isTooLong = bytesOf(JSON.stringify(changed.body)) > MAX_BYTES;
    expect(data.truncated).toBe(isTooLong ? true : undefined);
    for (const [at, tag] of long.entries()) expect(tag.startsWith(data.tags[at])).toBe(true);
    // Only the longest tags are cut, and the payload stays near its limit.
    const { tags: _, truncated: __, ...rest } = data;
    const { tags: ___, ...untouched } = changed.body;
    expect(rest).toEqual(untouched);
    expect(data.tags[19]).toBe("short");
    if (isTooLong) expect(bytesOf(text)).toBeGreaterThan(MAX_BYTES / 3);
  });
});

test("one enormous tag is truncated and the rest is complete", async () => {
  const { workspace, id } = await createFixture();
  const enormous = '😀\u0002"x'.repeat(20_000);
  await resolveWithTags(workspace, id, [enormous, "kept"]);
  const { data } = await payloadOf(workspace.id, "conversation.resolved");
  expect(data).toMatchObject({ truncated: true, id, status: "resolved" });
  expect(data.tags[1]).toBe("kept");
  expect(enormous.startsWith(data.tags[0])).toBe(true);
  expect(data.tags[0].length).toBeGreaterThan(1000);
});

test("an event of exactly the maximum size is complete, and one byte more is truncated", async () => {
  const { workspace, id } = await createFixture();
  const resolve = async (length: number) => {
    await query(workspace.id, "DELETE FROM events WHERE workspace_id = ? AND type = 'conversation.resolved'", workspace.id);
    // The message opens the conversation again.
    await workspace.call("POST", `/conversations/${id}/messages`, { content: "x" });
    await resolveWithTags(workspace, id, ["x".repeat(length)]);
    return payloadOf(workspace.id, "conversation.resolved");
  };
  const { text } = await resolve(1);
  const { text: second } = await resolve(1);
  expect(bytesOf(second)).toBe(bytesOf(text));
  const whole = await resolve(MAX_BYTES - bytesOf(text) + 1);
  expect([bytesOf(whole.text), whole.data.truncated]).toEqual([MAX_BYTES, undefined]);
  expect((await resolve(MAX_BYTES - bytesOf(text) + 2)).data.truncated).toBe(true);
});

test("the largest lead of a contact form is complete", async () => {
  const { workspace, agent } = await createFixture();
  const fields = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`${at}`.padEnd(64, "n"), "\u0001".repeat(15)]));
  const body = { name: "\u0001".repeat(120), email: "ada@example.com", message: "\u0001".repeat(4000), custom_fields: fields };
  const left = await send("POST", `/widget/v1/agents/${agent.id}/leads`, { body });
  expect(left.status).toBe(201);
  const { data } = await payloadOf(workspace.id, "lead.created");
  expect(data).toEqual(left.body);
});

test("custom fields are truncated in place, whatever their names", async () => {
  const { workspace, agent } = await createFixture();
  const names = ["a.b", 'a"b', "a\\b", "a[0]", "", "ü", "\u0001", "$", '".x', 'a\\"', "line\nbreak"];
  const customFields = Object.fromEntries(names.map((name) => [name, `${name}😀`.repeat(5000)]));
  const lead = { agentId: agent.id, conversationId: null, visitorId: null, name: "Ada", email: null, phone: "1234", message: null };
  await addLead(newOperation(env, new Meter(), workspace.id), { ...lead, customFields, sourceUrl: null });
  const { data } = await payloadOf(workspace.id, "lead.created");
  expect(data).toMatchObject({ truncated: true, name: "Ada", phone: "1234" });
  expect(Object.keys(data.custom_fields)).toEqual(names);
  for (const name of names) expect(customFields[name]!.startsWith(data.custom_fields[name])).toBe(true);
});

test("a record that is too long without long texts is reduced to its id", async () => {
  const { workspace } = await createFixture();
  const data = { id: "record", numbers: Array.from({ length: 40_000 }, (_, at) => at) };
  const insert = "INSERT INTO events (id, workspace_id, type, payload, created_at) VALUES (?, ?, 'lead.created', ?, 1)";
  await query(workspace.id, insert, crypto.randomUUID(), workspace.id, JSON.stringify({ id: "event", data }));
  expect((await payloadOf(workspace.id, "lead.created")).text).toBe('{"id":"event","data":{"id":"record","truncated":true}}');
});
