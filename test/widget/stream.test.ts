import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { TurnRunner } from "../../src/chat/turn.ts";
import { SteppedModel } from "../chat/stepped-model.ts";
import { newAddress } from "../harness.ts";
import { Follower, openStream } from "../stream-client.ts";
import { claimsOf, createWidget, newSecret, signJwt, visitorsOf } from "./widget.ts";

const PAGE = "https://shop.example.com";

/** A visitor's streams with the agent. */
async function createVisitor(settings: Parameters<typeof createWidget>[0] = {}) {
  const widget = await createWidget(settings);
  const address = newAddress();
  const stream = (body: Record<string, unknown> = {}, headers: Record<string, string> = {}) =>
    openStream("POST", `/widget/v1/agents/${widget.agent.id}/messages`, {
      body: { message: "When are refunds paid?", stream: true, ...body },
      headers: { ...address, ...headers },
    });
  const resume = (token: string, conversationId: string, messageId: string, headers: Record<string, string> = {}) =>
    openStream("GET", `/widget/v1/conversations/${conversationId}/messages/${messageId}/stream`, {
      token,
      headers: { ...address, ...headers },
    });
  return { ...widget, stream, resume };
}

test("a visitor's answer streams, with their token in the first event and the last", async () => {
  const { stream, visitor } = await createVisitor();
  const { body: plain } = await visitor().write({});
  const answer = await stream();
  expect(answer.headers.get("Content-Type")).toBe("text/event-stream; charset=utf-8");
  expect(answer.headers.get("Cache-Control")).toBe("no-cache, no-transform");
  const start = await answer.next();
  expect(start?.data).toMatchObject({ visitor_token: expect.stringMatching(/^vt_/), anon_id: expect.stringMatching(/^anon_/) });
  const { text, done } = await new Follower().follow(answer);
  expect(text).toBe(plain.answer);
  expect(Object.keys(done).sort()).toEqual(Object.keys(plain).sort());
  expect(done.anon_id).toBe(start?.data.anon_id);
  const next = await new Follower().follow(
    await stream({ conversation_id: done.conversation_id, visitor_token: start?.data.visitor_token, message: "How are they paid?" }),
  );
  expect(next.done).toMatchObject({ conversation_id: done.conversation_id, anon_id: done.anon_id });
});

test("a signed visitor's stream contains the person's own token", async () => {
  const { stream, workspace, agent } = await createVisitor();
  const identity_token = await signJwt(await newSecret(workspace, agent.id), claimsOf("u-1", { name: "Ann" }));
  const { done } = await new Follower().follow(await stream({ identity_token }));
  expect(done.anon_id).toBe("user:u-1");
  const again = await new Follower().follow(await stream({ visitor_token: done.visitor_token, conversation_id: done.conversation_id }));
  expect(again.done.anon_id).toBe("user:u-1");
  expect(await visitorsOf(workspace)).toHaveLength(1);
});

test("a visitor's stream that broke off can be resumed by that visitor only", async () => {
  const { stream, resume, workspace } = await createVisitor();
  const { done: first } = await new Follower().follow(await stream());
  const session = env.SESSION.getByName(`${workspace.id}/${first.conversation_id}`);
  const stepped = new SteppedModel();
  await runInDurableObject(session, (live) => void Object.assign(live, { runner: new TurnRunner(env, stepped.model) }));
  const cut = await stream({ conversation_id: first.conversation_id, visitor_token: first.visitor_token, message: "And to Norway?" });
  await runInDurableObject(session, () => stepped.push("By card, "));
  const follower = await new Follower().follow(cut, 9);
  await cut.drop();
  const at = { "Last-Event-ID": follower.lastEventId! };
  const rest = await resume(first.visitor_token, first.conversation_id, follower.messageId!, at);
  await runInDurableObject(session, () => stepped.push("too.", null));
  await follower.follow(rest);
  expect(follower).toMatchObject({ text: "By card, too.", starts: 1, done: { anon_id: first.anon_id, visitor_token: expect.any(String) } });
  const { done: other } = await new Follower().follow(await stream());
  for (const [token, status] of [
    [other.visitor_token, 404],
    ["vt_x", 401],
    [first.visitor_token, 200],
  ] as const) {
    expect((await resume(token, first.conversation_id, follower.messageId!)).status).toBe(status);
  }
});

test("pages of the agent's origins read streams, others do not", async () => {
  const { stream, resume } = await createVisitor({ agent: { allowed_origins: [PAGE] } });
  const opened = await stream({}, { Origin: PAGE });
  expect(opened.headers.get("Access-Control-Allow-Origin")).toBe(PAGE);
  expect(opened.headers.get("Vary")).toBe("Origin");
  const { done } = await new Follower().follow(opened);
  const resumed = await resume(done.visitor_token, done.conversation_id, done.message_id, { Origin: PAGE });
  expect([resumed.status, resumed.headers.get("Access-Control-Allow-Origin")]).toEqual([200, PAGE]);
  expect((await stream({}, { Origin: "https://else.example.com" })).status).toBe(403);
  const elsewhere = await resume(done.visitor_token, done.conversation_id, done.message_id, { Origin: "https://else.example.com" });
  expect(elsewhere.status).toBe(403);
});

test("a refused question of a visitor is an error response, not a stream", async () => {
  const { stream } = await createVisitor({ agent: { status: "paused" } });
  const paused = await stream();
  expect([paused.status, paused.headers.get("Content-Type")]).toEqual([409, "application/json"]);
  const { stream: other } = await createVisitor();
  expect((await other({ conversation_id: crypto.randomUUID() })).status).toBe(404);
});
