import { expect, test } from "vitest";
import { shardOf } from "../../src/platform/db/ids.ts";
import { costOf, createAgent, createWorkspace, databases, listen, query, type Workspace } from "../harness.ts";

const ABSENT = "019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00";

/** A workspace with conversations that wait for the team. */
async function createWaiting(count: number) {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  await listen(workspace);
  const ids: string[] = [];
  for (let at = 0; at < count; at++) {
    const body = { message: "I want to talk to a human", user: { id: `u-${at}` } };
    ids.push((await workspace.call("POST", `/agents/${agent.id}/messages`, body)).body.conversation_id);
  }
  const change = (body: object) => workspace.call("POST", "/conversations/bulk", body);
  const get = async (id: string) => (await workspace.call("GET", `/conversations/${id}`)).body;
  return { workspace, ids, change, get };
}

async function resolutionsOf({ id }: Workspace): Promise<{ conversationId: string; deliveries: number }[]> {
  const { results } = await databases[shardOf(id)]!.prepare(
    `SELECT conversation_id AS conversationId, json_extract(payload, '$.data.tags[0]') AS tag,
        (SELECT count(*) FROM deliveries d WHERE d.event_id = events.id) AS deliveries
      FROM events WHERE workspace_id = ? AND type = 'conversation.resolved' ORDER BY sequence`,
  )
    .bind(id)
    .all<{ conversationId: string; deliveries: number }>();
  return results;
}

test("several conversations are resolved and tagged as by PATCH, and the response says what happened to each", async () => {
  const { workspace, ids, change, get } = await createWaiting(4);
  const [first, second, third, fourth] = ids as [string, string, string, string];
  await workspace.call("PATCH", `/conversations/${second}`, { status: "resolved", tags: ["done"] });
  await workspace.call("PATCH", `/conversations/${third}`, { tags: Array.from({ length: 20 }, (_, at) => `tag ${at}`) });
  const body = { ids: [third, first, ABSENT, second, first], status: "resolved", add_tags: ["done"] };
  const { status, body: answer } = await change(body);
  expect(status).toBe(200);
  expect(answer.data).toEqual([
    { id: third, outcome: "too_many_tags", previous_status: "needs_human", status: "needs_human", tags: expect.any(Array) },
    { id: first, outcome: "changed", previous_status: "needs_human", status: "resolved", tags: ["done"] },
    { id: ABSENT, outcome: "not_found", previous_status: null, status: null, tags: [] },
    { id: second, outcome: "unchanged", previous_status: "resolved", status: "resolved", tags: ["done"] },
  ]);
  expect(await get(first)).toMatchObject({ resolved_by: "api", unread_count: 0, tags: ["done"], handoff: { status: "resolved" } });
  expect(await get(third)).toMatchObject({ status: "needs_human", resolved_at: null, handoff: { status: "pending" } });
  expect(await get(fourth)).toMatchObject({ status: "needs_human", tags: [] });
  // The event shows the tags too, and each conversation has one.
  const event = { tag: "done", deliveries: 1 };
  expect(await resolutionsOf(workspace)).toEqual([
    { conversationId: second, ...event },
    { conversationId: first, ...event },
  ]);
  const counted = await workspace.call("GET", "/conversations?status=resolved&limit=1");
  expect(counted.body.total).toBe(2);
  await change(body);
  expect(await resolutionsOf(workspace)).toHaveLength(2);
});

test("tags keep their order, a removed one is gone, and an equal change is no activity", async () => {
  const { workspace, ids, change, get } = await createWaiting(2);
  const [first, second] = ids as [string, string];
  await workspace.call("PATCH", `/conversations/${first}`, { tags: ["ünïcode", 'a "b"', "line\nbreak"] });
  const { body } = await change({ ids, add_tags: ["vip", "ünïcode", "vip"], remove_tags: ['a "b"', "never there"] });
  expect(body.data.map(({ outcome, tags }: any) => [outcome, tags])).toEqual([
    ["changed", ["ünïcode", "line\nbreak", "vip"]],
    ["changed", ["vip", "ünïcode"]],
  ]);
  const before = await get(second);
  expect((await change({ ids: [second], add_tags: ["vip"] })).body.data[0].outcome).toBe("unchanged");
  expect(await get(second)).toEqual(before);
  await change({ ids: [second], remove_tags: ["vip", "ünïcode"] });
  expect((await get(second)).tags).toEqual([]);
});

test("conversations are snoozed and reopened together", async () => {
  const { workspace, ids, change } = await createWaiting(2);
  const until = new Date(Date.now() + 86_400_000).toISOString();
  expect((await change({ ids, snoozed_until: until })).body.data.map(({ outcome }: any) => outcome)).toEqual(["changed", "changed"]);
  expect((await workspace.call("GET", "/conversations?snoozed=true")).body.total).toBe(2);
  await change({ ids, status: "resolved" });
  const { body } = await change({ ids, status: "needs_human" });
  expect(body.data.map((one: any) => [one.previous_status, one.status])).toEqual([
    ["resolved", "needs_human"],
    ["resolved", "needs_human"],
  ]);
  expect((await workspace.call("GET", "/conversations?snoozed=true")).body.total).toBe(0);
});

test("a hundred conversations are changed in four batches, and more are refused", async () => {
  const { workspace, ids, change, get } = await createWaiting(1);
  const { agent_id: agentId } = await get(ids[0]!);
  const copies = Array.from({ length: 99 }, (_, at) => ids[0]!.slice(0, 24) + String(at).padStart(4, "0") + ids[0]!.slice(28));
  const columns = "id, workspace_id, agent_id, channel, status, last_message_at, created_at, updated_at";
  await query(
    workspace.id,
    `INSERT INTO conversations (${columns}) SELECT value, ?, ?, 'api', 'open', 1, 1, 1 FROM json_each(?)`,
    workspace.id,
    agentId,
    JSON.stringify(copies),
  );
  let body: any;
  const { d1_trips: trips } = await costOf(async () => {
    ({ body } = await change({ ids: [...ids, ...copies], status: "resolved", add_tags: ["closed"] }));
  });
  expect(new Set(body.data.map(({ outcome }: any) => outcome))).toEqual(new Set(["changed"]));
  expect(body.data).toHaveLength(100);
  // One trip reads, and each batch of 25 is one.
  expect(trips).toBe(5);
  expect(await resolutionsOf(workspace)).toHaveLength(100);
  const refused = await change({ ids: [...ids, ...copies, ABSENT], status: "resolved" });
  expect(refused.body.detail).toMatchObject([{ loc: ["body", "ids"], type: "too_long" }]);
});

test("a change of nothing, and one that contradicts itself, are refused", async () => {
  const { ids, change } = await createWaiting(1);
  const placesOf = async (body: object) => {
    const { status, body: answer } = await change(body);
    expect(status, JSON.stringify(body)).toBe(422);
    return answer.detail.map(({ loc }: any) => loc.join("."));
  };
  expect(await placesOf({ ids })).toEqual(["body.status"]);
  expect(await placesOf({ ids: [], status: "resolved" })).toEqual(["body.ids"]);
  expect(await placesOf({ ids: ["x"], status: "ai_handled" })).toEqual(["body.ids.0", "body.status"]);
  expect(await placesOf({ ids, add_tags: ["a", "b"], remove_tags: ["c", "b"] })).toEqual(["body.remove_tags.1"]);
  expect(await placesOf({ ids, add_tags: ["", "x".repeat(201)] })).toEqual(["body.add_tags.0", "body.add_tags.1"]);
  expect(await placesOf({ ids, snoozed_until: "2020-01-01T00:00:00Z" })).toEqual(["body.snoozed_until"]);
});
