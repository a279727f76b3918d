import { describe, expect, test } from "vitest";
import { EVENT_TYPES } from "../../src/events/event-types.ts";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import { createKey, createWorkspace, listen, query, send, type Workspace } from "../harness.ts";

const WRITE = ["webhooks:read", "webhooks:write"];
const URL = "https://hooks.example.com/mine";
const OF_KNOWLEDGE = ["source.synced", "source.failed"];

/** Calls the API with a key of these scopes. */
async function callWith(workspace: Workspace, scopes: string[]) {
  const { key } = await createKey(workspace, scopes);
  return (method: string, path: string, body?: unknown) =>
    send(method, `/api/v1${path}`, { token: key, ...(body !== undefined && { body }) });
}

/** The error for a key that lacks these scopes. */
const lacks = (...scopes: string[]) => ({
  status: 403,
  body: { error: { code: "insufficient_scope", message: expect.stringContaining(`need the scope ${scopes.join(" and ")}.`) } },
});

async function addEvent({ id: workspaceId }: Workspace, type: string, sequence = 1): Promise<string> {
  const id = newId(shardOf(workspaceId), Date.now());
  const insert = "INSERT INTO events (id, workspace_id, type, payload, sequence, created_at) VALUES (?, ?, ?, ?, ?, 1)";
  await query(workspaceId, insert, id, workspaceId, type, JSON.stringify({ type }), sequence);
  return id;
}

async function addDelivery(workspace: Workspace, webhookId: string, type: string, status: string): Promise<string> {
  const [id, eventId] = [newId(shardOf(workspace.id), Date.now()), await addEvent(workspace, type)];
  const insert = `INSERT INTO deliveries (id, workspace_id, webhook_id, event_id, event_type, status, "trigger", created_at)
    VALUES (?, ?, ?, ?, ?, ?, 'event', 1)`;
  await query(id, insert, id, workspace.id, webhookId, eventId, type, status);
  const attempt = `INSERT INTO delivery_attempts (delivery_id, workspace_id, number, started_at, duration_ms, response_body, url)
    VALUES (?, ?, 1, 1, 1, ?, ?)`;
  await query(id, attempt, id, workspace.id, `You sent a ${type}`, URL);
  return id;
}

describe("GET /events", () => {
  test.for<[scopes: string[], types: string[]]>([
    [[], ["webhook.test"]],
    [["leads:read"], ["lead.created", "webhook.test"]],
    [["knowledge:read"], [...OF_KNOWLEDGE, "webhook.test"]],
    [
      ["conversations:read", "leads:read", "knowledge:read"],
      [...EVENT_TYPES, "webhook.test"],
    ],
  ])("with %j lists only the events of records that these scopes read, and passes the others", async ([scopes, readable]) => {
    const workspace = await createWorkspace();
    for (const [at, type] of [...EVENT_TYPES, "webhook.test"].entries()) await addEvent(workspace, type, at);
    const call = await callWith(workspace, ["webhooks:read", ...scopes]);
    const typesIn = ({ body }: Awaited<ReturnType<typeof call>>) => body.data.map(({ type }: { type: string }) => type);
    const all = await call("GET", "/events");
    expect(typesIn(all)).toEqual(readable);
    const first = await call("GET", "/events?limit=3");
    expect(first.body.has_more).toBe(true);
    const rest = await call("GET", `/events?cursor=${first.body.next_cursor}`);
    expect([...typesIn(first), ...typesIn(rest)]).toEqual(readable);
    expect(rest.body.next_cursor).toBe(all.body.next_cursor);
  });

  test("a filter by a type that the key may not read is 403", async () => {
    const workspace = await createWorkspace();
    const call = await callWith(workspace, ["webhooks:read", "knowledge:read"]);
    expect(await call("GET", "/events?types=source.synced,lead.created")).toMatchObject(lacks("leads:read"));
    expect(await call("GET", "/events?types=source.synced,webhook.test")).toMatchObject({ status: 200 });
  });
});

describe("POST /webhooks", () => {
  test("a key subscribes an endpoint only to events that it may read", async () => {
    const workspace = await createWorkspace();
    const call = await callWith(workspace, [...WRITE, "knowledge:read"]);
    expect(await call("POST", "/webhooks", { url: URL, events: ["source.synced", "lead.created"] })).toMatchObject(lacks("leads:read"));
    expect(await call("POST", "/webhooks", { url: URL, events: ["*"] })).toMatchObject(lacks("conversations:read", "leads:read"));
    expect((await workspace.call("GET", "/webhooks")).body.total).toBe(0);
    expect(await call("POST", "/webhooks", { url: URL, events: OF_KNOWLEDGE })).toMatchObject({ status: 201 });
    const wide = await callWith(workspace, [...WRITE, "knowledge:read", "conversations:read", "leads:read"]);
    expect(await wide("POST", "/webhooks", { url: URL, events: ["*"] })).toMatchObject({ status: 201 });
  });
});

describe("PATCH /webhooks/{id}", () => {
  const CHANGES = [{ url: URL }, { events: OF_KNOWLEDGE }, { enabled: true }];

  test.for(CHANGES)("with %j a key leaves an endpoint as it is whose events it may not read", async (change) => {
    const workspace = await createWorkspace();
    const call = await callWith(workspace, [...WRITE, "knowledge:read"]);
    for (const [events, ...scopes] of [
      [["*"], "conversations:read", "leads:read"],
      [["source.synced", "lead.created"], "leads:read"],
    ] as [string[], ...string[]][]) {
      const { id } = await listen(workspace, events);
      const before = (await workspace.call("GET", `/webhooks/${id}`)).body;
      expect(await call("PATCH", `/webhooks/${id}`, { ...change, description: "Mine" })).toMatchObject(lacks(...scopes));
      expect((await workspace.call("GET", `/webhooks/${id}`)).body).toEqual(before);
    }
  });

  test("a key adds no event that it may not read", async () => {
    const workspace = await createWorkspace();
    const call = await callWith(workspace, [...WRITE, "knowledge:read"]);
    const { id } = await listen(workspace, OF_KNOWLEDGE);
    expect(await call("PATCH", `/webhooks/${id}`, { events: ["lead.created"] })).toMatchObject(lacks("leads:read"));
    expect((await workspace.call("GET", `/webhooks/${id}`)).body.events).toEqual(OF_KNOWLEDGE);
    expect(await call("PATCH", `/webhooks/${id}`, { url: URL, events: ["source.failed"] })).toMatchObject({ status: 200 });
  });

  test("a key does not redirect the pending deliveries of events that it may not read", async () => {
    const workspace = await createWorkspace();
    const call = await callWith(workspace, [...WRITE, "knowledge:read"]);
    const { id } = await listen(workspace, OF_KNOWLEDGE);
    await addDelivery(workspace, id, "source.failed", "pending");
    expect(await call("PATCH", `/webhooks/${id}`, { url: URL })).toMatchObject({ status: 200 });
    const lead = await addDelivery(workspace, id, "lead.created", "pending");
    expect(await call("PATCH", `/webhooks/${id}`, { url: `${URL}/2` })).toMatchObject(lacks("leads:read"));
    await query(lead, "UPDATE deliveries SET status = 'succeeded' WHERE id = ?", lead);
    expect(await call("PATCH", `/webhooks/${id}`, { url: `${URL}/2` })).toMatchObject({ status: 200 });
  });

  test("a key disables and describes every endpoint", async () => {
    const workspace = await createWorkspace();
    const call = await callWith(workspace, WRITE);
    const { id } = await listen(workspace, ["*"]);
    const changed = await call("PATCH", `/webhooks/${id}`, { enabled: false, description: "Too many" });
    expect(changed).toMatchObject({ status: 200, body: { enabled: false, description: "Too many" } });
  });
});

test("a key redelivers only events that it may read", async () => {
  const workspace = await createWorkspace();
  const call = await callWith(workspace, [...WRITE, "knowledge:read"]);
  const { id } = await listen(workspace, OF_KNOWLEDGE);
  const [lead, source] = [
    await addDelivery(workspace, id, "lead.created", "succeeded"),
    await addDelivery(workspace, id, "source.synced", "succeeded"),
  ];
  expect(await call("POST", `/webhooks/deliveries/${lead}/redeliver`)).toMatchObject(lacks("leads:read"));
  expect(await query(id, `SELECT id FROM deliveries WHERE workspace_id = ? AND "trigger" = 'redelivery'`, workspace.id)).toEqual([]);
  expect(await call("POST", `/webhooks/deliveries/${source}/redeliver`)).toMatchObject({ status: 202 });
});

test("a key reads the requests of events that it may read, while their payloads are kept", async () => {
  const workspace = await createWorkspace();
  const call = await callWith(workspace, ["webhooks:read", "knowledge:read"]);
  const { id } = await listen(workspace, OF_KNOWLEDGE);
  const lead = await addDelivery(workspace, id, "lead.created", "succeeded");
  const source = await addDelivery(workspace, id, "source.synced", "succeeded");
  expect(await call("GET", `/webhooks/deliveries/${lead}/request`)).toMatchObject(lacks("leads:read"));
  const { body: request } = await call("GET", `/webhooks/deliveries/${source}/request`);
  expect(request).toMatchObject({ headers: { "X-Delivery-Id": source }, body: JSON.stringify({ type: "source.synced" }) });
  await query(id, "DELETE FROM events WHERE id = ?", request.headers["webhook-id"]);
  expect((await call("GET", `/webhooks/deliveries/${source}/request`)).body.body).toBe(null);
  const other = await createWorkspace();
  expect((await other.call("GET", `/webhooks/deliveries/${source}/request`)).status).toBe(404);
});

test("the delivery log shows a receiver's response only to keys that may read the event, which it may repeat", async () => {
  const workspace = await createWorkspace();
  const { id } = await listen(workspace);
  await addDelivery(workspace, id, "lead.created", "succeeded");
  await addDelivery(workspace, id, "source.synced", "succeeded");
  const bodiesFor = async (scopes: string[]) => {
    const call = await callWith(workspace, ["webhooks:read", ...scopes]);
    const { data } = (await call("GET", `/webhooks/${id}/deliveries`)).body;
    return data.map(({ event_type: type, attempts }: any) => [type, attempts[0].response_body]).toSorted();
  };
  expect(await bodiesFor(["knowledge:read"])).toEqual([
    ["lead.created", null],
    ["source.synced", "You sent a source.synced"],
  ]);
  expect(await bodiesFor(["leads:read"])).toEqual([
    ["lead.created", "You sent a lead.created"],
    ["source.synced", null],
  ]);
});
