import { expect, test } from "vitest";
import { createAgent, createWorkspace, operate, query, type Workspace } from "../harness.ts";
import { createWidget } from "../widget/widget.ts";

const later = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();

/** A workspace with conversations that wait for the team, with one visitor each. */
async function createWaiting(count: number) {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const ids: string[] = [];
  for (let at = 0; at < count; at++) {
    const body = { message: "I want to talk to a human", user: { id: `u-${at}` } };
    ids.push((await workspace.call("POST", `/agents/${agent.id}/messages`, body)).body.conversation_id);
  }
  return { workspace, agentId: agent.id, ids };
}

const snooze = (workspace: Workspace, id: string, until: string | null) =>
  workspace.call("PATCH", `/conversations/${id}`, { snoozed_until: until });

async function listOf(workspace: Workspace, filter: string) {
  const { body } = await workspace.call("GET", `/conversations?${filter}`);
  return { ids: body.data.map(({ id }: { id: string }) => id), total: body.total };
}

test("a snoozed conversation is in the list of snoozed ones, and with the others only without the filter", async () => {
  const { workspace, agentId, ids } = await createWaiting(3);
  const [first, second, third] = ids as [string, string, string];
  const until = later(2);
  // A time without an offset is UTC.
  const { status, body } = await snooze(workspace, second, until.replace("Z", ""));
  expect([status, body.snoozed_until]).toEqual([200, until]);
  for (const further of [
    "",
    "status=needs_human&",
    `agent_id=${agentId}&channel=api&status=needs_human&`,
    "updated_since=2020-01-01T00:00:00Z&",
  ]) {
    expect(await listOf(workspace, `${further}snoozed=false`), further).toEqual({ ids: [third, first], total: 2 });
    expect(await listOf(workspace, `${further}snoozed=true`), further).toEqual({ ids: [second], total: 1 });
    expect((await listOf(workspace, further)).total, further).toBe(3);
  }
  expect(await listOf(workspace, "status=needs_human&snoozed=false&limit=1&offset=1")).toEqual({ ids: [first], total: 2 });
  expect(await listOf(workspace, "unread=true&snoozed=false")).toEqual({ ids: [third, first], total: 2 });
  await snooze(workspace, second, null);
  expect((await listOf(workspace, "snoozed=false")).ids).toEqual([third, second, first]);
});

test("a snooze ends by itself, when the visitor writes, and when the conversation is resolved, but not with a note or reply", async () => {
  const { workspace, agentId, ids } = await createWaiting(3);
  const [first, second, third] = ids as [string, string, string];
  for (const id of ids) await snooze(workspace, id, later(1));
  expect(await listOf(workspace, "snoozed=false")).toEqual({ ids: [], total: 0 });
  await query(workspace.id, "UPDATE conversations SET snoozed_until = ? WHERE id = ?", Date.now() - 1, first);
  expect(await listOf(workspace, "snoozed=false")).toEqual({ ids: [first], total: 1 });
  await workspace.call("POST", `/conversations/${second}/notes`, { content: "She calls back." });
  await workspace.call("POST", `/conversations/${second}/messages`, { content: "We will see." });
  expect((await listOf(workspace, "snoozed=true")).ids.sort()).toEqual([second, third].sort());
  const again = { message: "Is anybody there?", conversation_id: second, user: { id: "u-1" } };
  expect((await workspace.call("POST", `/agents/${agentId}/messages`, again)).status).toBe(200);
  expect((await workspace.call("GET", `/conversations/${second}`)).body.snoozed_until).toBeNull();
  await workspace.call("PATCH", `/conversations/${third}`, { status: "resolved" });
  expect((await workspace.call("GET", `/conversations/${third}`)).body.snoozed_until).toBeNull();
  expect(await listOf(workspace, "snoozed=true")).toEqual({ ids: [], total: 0 });
});

test("a snooze ends when the visitor asks for a human with the button, also once more, but not beyond the limit", async () => {
  const { workspace, visitor } = await createWidget({ limits: { visitor_messages_per_day: 2 } });
  const ada = visitor();
  const { conversation_id: id, visitor_token: token } = (await ada.write({})).body;
  const press = async () => (await ada.on(token, id, "POST", "handoff")).status;
  const waiting = () => listOf(workspace, "status=needs_human&snoozed=false");
  await snooze(workspace, id, later(1));
  expect([await press(), await waiting()]).toEqual([200, { ids: [id], total: 1 }]);
  await snooze(workspace, id, later(1));
  await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { visitor_messages_per_day: 3 } });
  expect([await press(), await waiting()]).toEqual([200, { ids: [id], total: 1 }]);
  await workspace.call("PATCH", `/conversations/${id}`, { status: "open", snoozed_until: later(1) });
  await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { visitor_messages_per_day: 2 } });
  expect([await press(), await listOf(workspace, "snoozed=true")]).toEqual([429, { ids: [id], total: 1 }]);
});

test("a snooze into the past or beyond a year, and one in a search, are refused", async () => {
  const { workspace, ids } = await createWaiting(1);
  for (const until of [later(-1), later(400), "tomorrow", 5]) {
    const { status, body } = await workspace.call("PATCH", `/conversations/${ids[0]!}`, { snoozed_until: until });
    expect([status, body.detail[0].loc], `${until}`).toEqual([422, ["body", "snoozed_until"]]);
  }
  expect((await workspace.call("GET", "/conversations?snoozed=true&q=human")).body.detail[0].loc).toEqual(["query", "snoozed"]);
  expect((await workspace.call("GET", "/conversations?snoozed=maybe")).status).toBe(422);
});
