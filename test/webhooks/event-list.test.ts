import { env } from "cloudflare:workers";
import { eq, sql } from "drizzle-orm";
import { expect, test } from "vitest";
import type { EventType } from "../../src/events/event-types.ts";
import { appendEvent } from "../../src/events/outbox.ts";
import { newOperation } from "../../src/platform/db/client.ts";
import { seededId } from "../../src/platform/db/ids.ts";
import { workspaces } from "../../src/platform/db/schema.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { eventSchema } from "../../src/webhooks/wire.ts";
import { costOf, createAgent, createNeighbour, createWorkspace, deliver, learn, listen, query, type Workspace } from "../harness.ts";

const KNOWN = "When are refunds paid?";
const HUMAN = "Can I talk to a real person?";
const DAY_MS = 86_400_000;

/** A workspace with an agent that knows something, and nobody who listens to its events. */
async function createFixture(settings: Parameters<typeof createWorkspace>[0] = {}) {
  const workspace = await createWorkspace(settings);
  const agent = await createAgent(workspace);
  await learn(workspace, agent.id, "# Refunds\n\nRefunds are paid within five working days.");
  const ask = async (message = KNOWN, user = "u-1") =>
    (await workspace.call("POST", `/agents/${agent.id}/messages`, { message, user: { id: user } })).body;
  return { workspace, agent, ask };
}

const read = (workspace: Workspace, search = "") => workspace.call("GET", `/events${search}`);
const typesIn = ({ body }: { body: any }): string[] => body.data.map(({ type }: { type: string }) => type);

/** Appends an event with this id. */
function addEvent({ id: workspaceId }: { id: string }, id: string, type: EventType = "lead.created") {
  const { db } = newOperation(env, new Meter(), workspaceId);
  const nowMs = Date.now();
  const read = db.update(workspaces).set({ eventsReadAt: nowMs }).where(eq(workspaces.id, workspaceId));
  return db.batch([read, ...appendEvent(db, { id, workspaceId, nowMs }, type, sql`'{}'`)]);
}

/** Identifiers of which the later ones are smaller. */
const newDescendingIds = () =>
  [1_000, 2_000, 3_000].map((ageMs) => seededId(0, Date.now() - ageMs, crypto.getRandomValues(new Uint8Array(16))));

test("the first read starts the recording, and what happens then is read with the bodies that endpoints receive", async () => {
  const { workspace, ask } = await createFixture();
  await ask();
  const started = await read(workspace);
  expect(started.body).toMatchObject({ data: [], has_more: false });
  const { conversation_id: id } = await ask(HUMAN);
  await workspace.call("PATCH", `/conversations/${id}`, { status: "resolved" });
  const happened = await read(workspace, `?cursor=${started.body.next_cursor}`);
  expect(typesIn(happened)).toEqual(["conversation.created", "message.ai_replied", "handoff.created", "conversation.resolved"]);
  for (const event of happened.body.data) expect(eventSchema.parse(event)).toEqual(event);
  expect(happened.body.data[3].data).toMatchObject({ id, status: "resolved" });
  expect((await read(workspace, `?cursor=${happened.body.next_cursor}`)).body).toEqual({ ...happened.body, data: [] });
});

test("an event is listed as its delivery has it, tests of endpoints among them", async () => {
  const { workspace, ask } = await createFixture();
  const endpoint = await listen(workspace);
  await ask();
  await workspace.call("POST", `/webhooks/${endpoint.id}/test`);
  const sent = await query<{ payload: string }>(
    workspace.id,
    "SELECT payload FROM events WHERE workspace_id = ? ORDER BY sequence",
    workspace.id,
  );
  const { body } = await read(workspace);
  expect(body.data).toEqual(sent.map(({ payload }) => JSON.parse(payload)));
  expect(body.data.at(-1).type).toBe("webhook.test");
});

test("pages follow each other in the order in which events were recorded, whatever their ids say", async () => {
  const { workspace } = await createFixture();
  const ids = newDescendingIds();
  for (const id of ids) await addEvent(workspace, id);
  const seen: string[] = [];
  let search = "?limit=1";
  for (;;) {
    const { body } = await read(workspace, search);
    seen.push(...body.data.map(({ id }: { id: string }) => id));
    search = `?limit=1&cursor=${body.next_cursor}`;
    if (!body.has_more) break;
  }
  expect(seen).toEqual(ids);
  expect((await read(workspace, `?cursor=${ids[1]!.toUpperCase()}`)).body.data.map(({ id }: { id: string }) => id)).toEqual(ids.slice(2));
});

test("`latest` lists nothing and goes on with what follows, also where there was nothing yet", async () => {
  const { workspace, ask } = await createFixture();
  const empty = await read(workspace, "?cursor=latest");
  await ask();
  expect(typesIn(await read(workspace, `?cursor=${empty.body.next_cursor}`))).toEqual(["conversation.created", "message.ai_replied"]);
  const latest = await read(workspace, "?cursor=latest");
  expect(latest.body).toMatchObject({ data: [], has_more: false });
  await ask(HUMAN);
  expect(typesIn(await read(workspace, `?cursor=${latest.body.next_cursor}`))).toContain("handoff.created");
});

test("a filter passes the other types, and the cursor with it", async () => {
  const { workspace } = await createFixture();
  const ids = newDescendingIds();
  const types = ["lead.created", "source.synced", "lead.created"] as const;
  for (const [at, type] of types.entries()) await addEvent(workspace, ids[at]!, type);
  const passed = await read(workspace, "?types=source.failed,source.synced&limit=1");
  expect(passed.body).toEqual({ data: [], has_more: true, next_cursor: ids[0] });
  expect(typesIn(await read(workspace, `?types=source.failed,source.synced&limit=1&cursor=${ids[0]}`))).toEqual(["source.synced"]);
});

test("what an erased person caused is not listed, and reading goes on from an event that was erased", async () => {
  const { workspace, ask } = await createFixture();
  await read(workspace);
  await ask(KNOWN, "u-1");
  const { next_cursor } = (await read(workspace)).body;
  await workspace.call("DELETE", "/privacy/visitors?external_id=u-1");
  expect((await read(workspace)).body.data).toEqual([]);
  await ask(KNOWN, "u-2");
  expect(typesIn(await read(workspace, `?cursor=${next_cursor}`))).toEqual(["conversation.created", "message.ai_replied"]);
});

test("an event that is committed late is read on from one that was erased, though its id is older", async () => {
  const { workspace } = await createFixture();
  const [erased, late] = newDescendingIds();
  await addEvent(workspace, erased!);
  await query(workspace.id, "DELETE FROM events WHERE id = ?", erased);
  await addEvent(workspace, late!);
  const { body } = await read(workspace, `?cursor=${erased}`);
  expect(body.data.map(({ id }: { id: string }) => id)).toContain(late);
});

test("a place of an erased event is not taken by another one", async () => {
  const { workspace } = await createFixture();
  const [first, second] = newDescendingIds();
  const sequenceOf = async (id: string) => {
    await addEvent(workspace, id);
    const [row] = await query<{ sequence: number }>(workspace.id, "SELECT sequence FROM events WHERE id = ?", id);
    await query(workspace.id, "DELETE FROM events WHERE id = ?", id);
    return row!.sequence;
  };
  const before = await sequenceOf(first!);
  expect(await sequenceOf(second!)).toBeGreaterThan(before);
});

test("the events of another workspace are neither listed nor a place to go on from", async () => {
  const { workspace } = await createFixture();
  const ids = newDescendingIds();
  const neighbour = await createNeighbour(workspace);
  await addEvent(workspace, ids[2]!);
  await addEvent(neighbour, ids[0]!);
  await addEvent(workspace, ids[1]!);
  expect((await read(neighbour)).body.data.map(({ id }: { id: string }) => id)).toEqual([ids[0]]);
  expect((await read(neighbour, `?cursor=${ids[1]}`)).body.data.map(({ id }: { id: string }) => id)).toEqual([ids[0]]);
});

test("events are recorded for seven days after they were read, and a read writes at most once an hour", async () => {
  const { workspace, agent, ask } = await createFixture();
  expect((await costOf(() => read(workspace))).rows_written).toBe(1);
  expect((await costOf(() => read(workspace))).rows_written).toBe(0);
  const sources = async () => {
    const { body } = await workspace.call("POST", `/agents/${agent.id}/sources`, { type: "text", name: "More", text: "More." });
    await deliver("support-agent-ingestion", { workspaceId: workspace.id, agentId: agent.id, sourceId: body.id });
  };
  await sources();
  expect(typesIn(await read(workspace))).toEqual(["source.synced"]);
  await query(workspace.id, "UPDATE workspaces SET events_read_at = events_read_at - ? WHERE id = ?", 7 * DAY_MS, workspace.id);
  await ask();
  expect(typesIn(await read(workspace))).toEqual(["source.synced"]);
  expect((await costOf(() => read(workspace))).rows_written).toBe(0);
  await ask();
  expect(typesIn(await read(workspace))).toEqual(["source.synced", "conversation.created", "message.ai_replied"]);
});

test("a read costs the same however many events are kept", async () => {
  const { workspace } = await createFixture();
  const ids = newDescendingIds();
  for (const id of ids) await addEvent(workspace, id);
  const rowsOf = async (search: string) => (await costOf(() => read(workspace, search))).rows_read;
  const searches = ["?limit=1", `?cursor=${ids[0]}&limit=1`, "?cursor=latest"];
  await read(workspace);
  const before = await Array.fromAsync(searches, rowsOf);
  for (let at = 0; at < 40; at++) await addEvent(workspace, crypto.randomUUID());
  expect(await Array.fromAsync(searches, rowsOf)).toEqual(before);
});

test("a plan without webhooks has no list of events, and records none", async () => {
  const { workspace, ask } = await createFixture({ plan: "starter" });
  expect(await read(workspace)).toMatchObject({ status: 403, body: { error: { code: "plan_required" } } });
  await query(workspace.id, "UPDATE workspaces SET events_read_at = ? WHERE id = ?", Date.now(), workspace.id);
  await ask();
  expect(await query(workspace.id, "SELECT id FROM events WHERE workspace_id = ?", workspace.id)).toEqual([]);
});

test("a cursor or type that is none is refused with what to use", async () => {
  const { workspace } = await createFixture();
  const { status, body } = await read(workspace, "?cursor=now&types=lead.created,lead.deleted&limit=101");
  expect(status).toBe(422);
  const errors = Object.fromEntries(body.detail.map(({ loc, ctx }: any) => [loc[1], ctx.error ?? ctx.le]));
  expect(errors).toMatchObject({
    cursor: expect.stringContaining("latest"),
    types: expect.stringContaining("handoff.created, tool_call.approval_requested"),
    limit: 100,
  });
});
