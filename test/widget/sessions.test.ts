import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { VERIFIED_LIFETIME_MS, verifyVisitorToken, visitorFields } from "../../src/chat/visitor-token.ts";
import { createAgent, evict, operate } from "../harness.ts";
import { claimsOf, createWidget, newSecret, signJwt, visitorOf } from "./widget.ts";

const [AGENT, VISITOR] = ["019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00", "019a9f0e-3c1c-7aaa-9bbb-6f1d2e3c4b01"];
const DAY_MS = 24 * 60 * 60 * 1000;

/** Tokens carry the millisecond of their issue: each step takes one, whatever the machine does. */
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2027, 0, 1) }));
afterEach(() => void vi.useRealTimers());

const later = (ms = 1) => vi.setSystemTime(Date.now() + ms);

const end = (agentId: string, token: string, headers: Record<string, string> = {}) =>
  visitorOf(agentId).send("POST", "/sessions/end", undefined, { Authorization: `Bearer ${token}`, ...headers });

/** The statuses of all routes that take a token. */
async function statusesOf(agentId: string, token: string, conversationId: string): Promise<number[]> {
  const visitor = visitorOf(agentId);
  const answers = [
    await visitor.write({ visitor_token: token }),
    await visitor.write({ visitor_token: token, stream: true }),
    await visitor.send("POST", `/agents/${agentId}/leads`, { email: "a@example.com", visitor_token: token }),
    await visitor.on(token, conversationId, "GET", "messages"),
    await visitor.on(token, conversationId, "GET", `messages/${crypto.randomUUID()}/stream`),
    await visitor.on(token, conversationId, "GET", "live"),
    await visitor.on(token, conversationId, "POST", "handoff"),
    await visitor.on(token, conversationId, "POST", "csat", { score: 5 }),
  ];
  for (const { status, body } of answers) if (status === 401) expect(body.error.code).toBe("invalid_visitor_token");
  return answers.map(({ status }) => status);
}

const REFUSED = [401, 401, 401, 401, 401, 401, 401, 401];
const VALID = [200, 200, 201, 200, 404, 404, 200, 200];

describe("POST /sessions/end", () => {
  test("ends every token of the visitor, and of nobody else", async () => {
    const { agent, visitor } = await createWidget();
    const [ada, bob] = [visitor(), visitor()];
    const first = (await ada.write({})).body;
    const others = (await bob.write({})).body;
    later();
    const second = (await ada.write({ visitor_token: first.visitor_token, conversation_id: first.conversation_id })).body;
    later();
    expect(await statusesOf(agent.id, first.visitor_token, first.conversation_id)).toEqual(VALID);
    expect(await end(agent.id, first.visitor_token)).toMatchObject({ status: 204, body: "" });
    expect(await statusesOf(agent.id, first.visitor_token, first.conversation_id)).toEqual(REFUSED);
    expect(await statusesOf(agent.id, second.visitor_token, first.conversation_id)).toEqual(REFUSED);
    expect((await end(agent.id, second.visitor_token)).status).toBe(401);
    expect(await statusesOf(agent.id, others.visitor_token, others.conversation_id)).toEqual(VALID);
    // Whoever starts again is somebody else.
    later();
    const anew = (await ada.write({})).body;
    expect(anew.anon_id).not.toBe(first.anon_id);
    expect((await ada.on(anew.visitor_token, first.conversation_id, "GET", "messages")).status).toBe(404);
  });

  test("a verified person gets back in with a new proof of their identity", async () => {
    const { workspace, agent, visitor } = await createWidget();
    const secret = await newSecret(workspace, agent.id);
    const prove = async () => (await visitor().write({ identity_token: await signJwt(secret, claimsOf("u-1")) })).body;
    const [phone, laptop] = [await prove(), await prove()];
    later();
    expect((await end(agent.id, phone.visitor_token)).status).toBe(204);
    expect(await statusesOf(agent.id, laptop.visitor_token, laptop.conversation_id)).toEqual(REFUSED);
    later();
    expect(await statusesOf(agent.id, (await prove()).visitor_token, laptop.conversation_id)).toEqual(VALID);
  });

  test("ends the tokens of the anonymous visitors who turned out to be the person, and not of others", async () => {
    const { workspace, agent, visitor } = await createWidget();
    const secret = await newSecret(workspace, agent.id);
    const prove = async (more: object = {}) =>
      (await visitor().write({ identity_token: await signJwt(secret, claimsOf("u-1")), ...more })).body;
    const [anonymous, other] = [(await visitor().write({})).body, (await visitor().write({})).body];
    const { visitor_token: token } = await prove({ visitor_token: anonymous.visitor_token, conversation_id: anonymous.conversation_id });
    expect(await statusesOf(agent.id, anonymous.visitor_token, anonymous.conversation_id)).toEqual(VALID);
    later();
    expect((await end(agent.id, token)).status).toBe(204);
    expect(await statusesOf(agent.id, anonymous.visitor_token, anonymous.conversation_id)).toEqual(REFUSED);
    expect(await statusesOf(agent.id, other.visitor_token, other.conversation_id)).toEqual(VALID);
  });

  test("an answer that was under way brings no valid token: it counts as issued when it was asked for", async () => {
    const asked = { agentId: AGENT, visitorId: VISITOR, anonId: "anon_1", issuedAtMs: Date.now() };
    later(5_000);
    const { visitor_token: token } = await visitorFields(env, asked, null);
    const read = await verifyVisitorToken(token, [env.KEY_SECRET], Date.now());
    expect(read).toEqual({ outcome: "genuine", agentId: AGENT, visitorId: VISITOR, issuedAtMs: asked.issuedAtMs });
  });

  test("needs a token, and an origin that the agent allows", async () => {
    const { agent, visitor } = await createWidget({ agent: { allowed_origins: ["https://www.example.com"] } });
    expect((await visitor().send("POST", "/sessions/end")).body.error.code).toBe("missing_visitor_token");
    expect((await end(agent.id, "vt_x")).body.error.code).toBe("invalid_visitor_token");
    const { visitor_token: token } = (await visitor().write({})).body;
    later();
    const foreign = await end(agent.id, token, { Origin: "https://evil.example" });
    expect(foreign.body.error.code).toBe("origin_not_allowed");
    const preflight = await visitor().send("OPTIONS", "/sessions/end", undefined, { Origin: "https://www.example.com" });
    expect(preflight.status).toBe(204);
    expect((await end(agent.id, token, { Origin: "https://www.example.com" })).status).toBe(204);
  });
});

describe("rotate-identity-secret with revoke", () => {
  test("ends the tokens of all visitors of the agent, and of no other agent", async () => {
    const { workspace, agent, visitor } = await createWidget();
    const other = await createAgent(workspace, { name: "Other" });
    const secret = await newSecret(workspace, agent.id);
    const identity_token = await signJwt(secret, claimsOf("u-1"));
    const verified = (await visitor().write({ identity_token })).body;
    const anonymous = (await visitor().write({})).body;
    const elsewhere = (await visitorOf(other.id).write({})).body;
    later();
    const rotate = `/workspaces/${workspace.id}/agents/${agent.id}/rotate-identity-secret`;
    await operate("POST", rotate);
    expect(await statusesOf(agent.id, verified.visitor_token, verified.conversation_id)).toEqual(VALID);
    later();
    const { secret: newest } = await operate("POST", rotate, { revoke: true });
    expect(await statusesOf(agent.id, verified.visitor_token, verified.conversation_id)).toEqual(REFUSED);
    expect(await statusesOf(agent.id, anonymous.visitor_token, anonymous.conversation_id)).toEqual(REFUSED);
    expect(await statusesOf(other.id, elsewhere.visitor_token, elsewhere.conversation_id)).toEqual(VALID);
    // Tokens that the old secrets signed are no longer valid.
    expect((await visitor().write({ identity_token })).body.error.code).toBe("invalid_identity");
    later();
    const again = (await visitor().write({ identity_token: await signJwt(newest, claimsOf("u-1")) })).body;
    expect(await statusesOf(agent.id, again.visitor_token, verified.conversation_id)).toEqual(VALID);
  });
});

describe("a verified visitor's token", () => {
  test("is not renewed by answers: it ends 30 days after the identity was proven", async () => {
    const { workspace, agent, visitor } = await createWidget();
    const secret = await newSecret(workspace, agent.id);
    const ada = visitor();
    const prove = async () => (await ada.write({ identity_token: await signJwt(secret, claimsOf("u-1")) })).body;
    let { visitor_token: token, conversation_id } = await prove();
    for (let day = 0; day < 29; day += 7) {
      later(7 * DAY_MS);
      const answer = await ada.write({ visitor_token: token, conversation_id, stream: day === 7 });
      if (answer.status === 401) break;
      expect(answer.status).toBe(200);
      // The stream's events carry the token too.
      token = answer.body.visitor_token ?? /"visitor_token":"([^"]+)"/.exec(answer.body)![1];
    }
    vi.setSystemTime(Date.UTC(2027, 0, 1) + VERIFIED_LIFETIME_MS - 1);
    expect(await statusesOf(agent.id, token, conversation_id)).toEqual(VALID);
    vi.setSystemTime(Date.UTC(2027, 0, 1) + VERIFIED_LIFETIME_MS);
    expect(await statusesOf(agent.id, token, conversation_id)).toEqual(REFUSED);
    ({ visitor_token: token } = await prove());
    expect(await statusesOf(agent.id, token, conversation_id)).toEqual(VALID);
  });

  test("is not renewed by resuming a stream either, also after the session's object died", async () => {
    const { workspace, agent, visitor } = await createWidget();
    const secret = await newSecret(workspace, agent.id);
    const ada = visitor();
    const { visitor_token, conversation_id, message_id } = (await ada.write({ identity_token: await signJwt(secret, claimsOf("u-1")) }))
      .body;
    await evict(env.SESSION.getByName(`${workspace.id}/${conversation_id}`));
    later(20 * DAY_MS);
    const resumed = await ada.on(visitor_token, conversation_id, "GET", `messages/${message_id}/stream`);
    const token = /"visitor_token":"([^"]+)"/.exec(resumed.body)![1]!;
    later(10 * DAY_MS);
    expect((await statusesOf(agent.id, token, conversation_id))[0]).toBe(401);
  });

  test("an anonymous visitor's is renewed by each answer", async () => {
    const { agent, visitor } = await createWidget();
    const ada = visitor();
    let { visitor_token: token, conversation_id } = (await ada.write({})).body;
    for (let month = 0; month < 14; month++) {
      later(31 * DAY_MS);
      const { status, body } = await ada.write({ visitor_token: token, conversation_id });
      expect(status).toBe(200);
      token = body.visitor_token;
    }
    expect((await statusesOf(agent.id, token, conversation_id))[0]).toBe(200);
  });
});
