import { env, exports } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { VERIFIED_LIFETIME_MS } from "../../src/chat/visitor-token.ts";
import { collect, type Live } from "../console/browser.ts";
import { costOf, deliver, evict, listen, newAddress, operate, query, type Workspace } from "../harness.ts";
import { claimsOf, createWidget, newSecret, signJwt, type Visitor } from "./widget.ts";

afterEach(() => void vi.useRealTimers());

interface Waiting {
  token: string;
  id: string;
  visitor: Visitor;
}

/** A visitor who waits for a human. */
async function waiting({ visitor }: { visitor: () => Visitor }, message: Record<string, unknown> = {}): Promise<Waiting> {
  const ada = visitor();
  const { body } = await ada.write({ message: "I want to talk to a human", ...message });
  expect(body.status).toBe("needs_human");
  return { token: body.visitor_token, id: body.conversation_id, visitor: ada };
}

/** Connects as a browser does. */
function connect(id: string, token: string, headers: Record<string, string> = {}): Promise<Response> {
  const upgrade = { Upgrade: "websocket", "Sec-WebSocket-Protocol": `support-agent, ${token}` };
  const request = new Request(`http://service.test/widget/v1/conversations/${id}/live`, {
    headers: { ...newAddress(), ...upgrade, ...headers },
  });
  return exports.default.fetch(request);
}

async function follow({ id, token }: Waiting): Promise<Live> {
  const response = await connect(id, token);
  expect([response.status, response.headers.get("Sec-WebSocket-Protocol")]).toEqual([101, "support-agent"]);
  return collect(response);
}

const any = () => true;
const reply = (workspace: Workspace, id: string, body: object = {}) =>
  workspace.call("POST", `/conversations/${id}/messages`, { content: "Hello, this is Grace.", ...body });
const codeOf = async (response: Response) => [response.status, (await response.json<any>()).error.code];

test("a visitor learns at once of a reply, of a status and of what is written on another device", async () => {
  const { workspace, ...widget } = await createWidget();
  const ada = await waiting(widget);
  const [phone, fixture] = [await follow(ada), await follow(ada)];
  const news = { kind: "conversation", id: ada.id };
  await reply(workspace, ada.id);
  expect(await phone.next(any)).toEqual(news);
  expect(await fixture.next(any)).toEqual(news);
  expect((await ada.visitor.on(ada.token, ada.id, "GET", "messages")).body.data.at(-1).content).toBe("Hello, this is Grace.");
  await ada.visitor.write({ message: "Thank you!", visitor_token: ada.token, conversation_id: ada.id });
  expect(await phone.next(any)).toEqual(news);
  await workspace.call("PATCH", `/conversations/${ada.id}`, { status: "needs_human" });
  expect(await phone.next(any)).toEqual(news);
});

test("a visitor is notified after the session's object has slept", async () => {
  const { workspace, ...widget } = await createWidget();
  const ada = await waiting(widget);
  const live = await follow(ada);
  await evict(env.SESSION.getByName(`${workspace.id}/${ada.id}`));
  live.send("ping");
  expect(await live.next(any)).toBe("pong");
  await reply(workspace, ada.id);
  expect(await live.next(any)).toEqual({ kind: "conversation", id: ada.id });
});

test("a visitor is not notified of notes and changes for the team alone, and the socket of a resolved conversation is closed", async () => {
  const { workspace, ...widget } = await createWidget();
  const ada = await waiting(widget);
  const live = await follow(ada);
  expect((await workspace.call("POST", `/conversations/${ada.id}/notes`, { content: "A difficult one." })).status).toBe(201);
  expect((await workspace.call("PATCH", `/conversations/${ada.id}`, { tags: ["vip"] })).status).toBe(200);
  await reply(workspace, ada.id, { resolve: true });
  expect(await live.closed).toBe(1000);
  expect(live.unread).toEqual([{ kind: "conversation", id: ada.id }]);
  expect(await codeOf(await connect(ada.id, ada.token))).toEqual([409, "conflict"]);
});

test("the sockets of a deleted workspace's visitors are closed", async () => {
  const { workspace, ...widget } = await createWidget();
  const live = await follow(await waiting(widget));
  await operate("DELETE", `/workspaces/${workspace.id}`);
  await deliver("support-agent-erasure", { workspaceId: workspace.id });
  expect(await live.closed).toBe(1000);
});

test("the socket of an erased conversation is closed", async () => {
  const { workspace, agent, ...widget } = await createWidget();
  const token = await signJwt(await newSecret(workspace, agent.id), claimsOf("u-1"));
  const ada = await waiting(widget, { identity_token: token });
  const live = await follow(ada);
  await workspace.call("DELETE", "/privacy/visitors?external_id=u-1");
  expect(await live.closed).toBe(1000);
  expect(live.unread).toEqual([]);
  expect(await codeOf(await connect(ada.id, ada.token))).toEqual([404, "not_found"]);
});

test("another visitor, another site and a token that is not good are refused as they are for the messages", async () => {
  const widget = await createWidget({ agent: { allowed_origins: ["https://shop.example"] } });
  const [ada, eve] = [await waiting(widget), await waiting(widget)];
  expect((await connect(ada.id, ada.token, { Origin: "https://shop.example" })).status).toBe(101);
  expect(await codeOf(await connect(ada.id, ada.token, { Origin: "https://evil.example" }))).toEqual([403, "origin_not_allowed"]);
  expect(await codeOf(await connect(ada.id, eve.token))).toEqual([404, "not_found"]);
  const forged = ada.token.replace(/..$/, ada.token.endsWith("AA") ? "Aw" : "AA");
  expect(await codeOf(await connect(ada.id, forged))).toEqual([401, "invalid_visitor_token"]);
  expect(await codeOf(await connect(ada.id, "", { "Sec-WebSocket-Protocol": "support-agent" }))).toEqual([401, "missing_visitor_token"]);
  const plain = await ada.visitor.on(ada.token, ada.id, "GET", "live");
  expect([plain.status, plain.body.error.message]).toEqual([404, "Connect with a WebSocket."]);
  await ada.visitor.send("POST", "/sessions/end", undefined, { Authorization: `Bearer ${ada.token}` });
  expect(await codeOf(await connect(ada.id, ada.token))).toEqual([401, "invalid_visitor_token"]);
});

test("the sockets of a visitor who ends their sessions are closed at once, and nobody else's", async () => {
  const widget = await createWidget();
  const [ada, bob] = [await waiting(widget), await waiting(widget)];
  const [hers, his] = [await follow(ada), await follow(bob)];
  await ada.visitor.send("POST", "/sessions/end", undefined, { Authorization: `Bearer ${ada.token}` });
  expect(await hers.closed).toBe(1008);
  await reply(widget.workspace, bob.id);
  expect(await his.next(any)).toEqual({ kind: "conversation", id: bob.id });
});

test("only a protocol that the client names is confirmed", async () => {
  const widget = await createWidget();
  const ada = await waiting(widget);
  const headers = { Authorization: `Bearer ${ada.token}`, "Sec-WebSocket-Protocol": "other" };
  const response = await connect(ada.id, ada.token, headers);
  expect([response.status, response.headers.get("Sec-WebSocket-Protocol")]).toEqual([101, null]);
});

test("a socket that sends anything else than ping is closed", async () => {
  const widget = await createWidget();
  const live = await follow(await waiting(widget));
  live.send("ping");
  expect(await live.next(any)).toBe("pong");
  live.send({ kind: "conversation" });
  expect(await live.closed).toBe(1008);
});

test("a conversation has at most eight sockets, of which those that are too old do not count", async () => {
  const widget = await createWidget();
  const ada = await waiting(widget);
  for (let at = 0; at < 8; at++) await follow(ada);
  const refused = await connect(ada.id, ada.token);
  expect(refused.headers.get("Retry-After")).toBe("60");
  expect(await codeOf(refused)).toEqual([429, "rate_limited"]);
  vi.setSystemTime(Date.now() + 11 * 60_000);
  await follow(ada);
});

test("a socket receives nothing after ten minutes, nor after its token has expired", async () => {
  const { workspace, agent, ...widget } = await createWidget();
  const token = await signJwt(await newSecret(workspace, agent.id), claimsOf("u-1"));
  const [ada, verified] = [await waiting(widget), await waiting(widget, { identity_token: token })];
  const old = await follow(ada);
  vi.setSystemTime(Date.now() + 10 * 60_000);
  await reply(workspace, ada.id);
  expect(await old.closed).toBe(1008);
  expect(old.unread).toEqual([]);
  vi.setSystemTime(Date.now() + VERIFIED_LIFETIME_MS - 15 * 60_000);
  const late = await follow(verified);
  vi.setSystemTime(Date.now() + 6 * 60_000);
  await reply(workspace, verified.id);
  expect(await late.closed).toBe(1008);
  expect(late.unread).toEqual([]);
});

test("a connection costs one hop and one trip, and a question, a reply or a hand-off waits for nothing more", async () => {
  const { workspace, ...widget } = await createWidget();
  await listen(workspace);
  const ada = await waiting(widget);
  const spent = async (request: () => Promise<unknown>) => {
    const { object_hops: hops, d1_trips: trips } = await costOf(request);
    return [hops, trips];
  };
  expect(await spent(() => connect(ada.id, ada.token))).toEqual([1, 1]);
  expect(await spent(() => ada.visitor.on(ada.token, ada.id, "GET", "messages"))).toEqual([0, 1]);
  expect(await spent(() => reply(workspace, ada.id))).toEqual([1, 1]);
});

test("a visitor whose workspace is deleted receives nothing more", async () => {
  const { workspace, ...widget } = await createWidget();
  const ada = await waiting(widget);
  await query(workspace.id, "UPDATE workspaces SET deleted_at = 1 WHERE id = ?", workspace.id);
  expect(await codeOf(await connect(ada.id, ada.token))).toEqual([404, "not_found"]);
});
