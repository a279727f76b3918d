import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { mintVisitorToken, TOKEN_LIFETIME_MS, verifyVisitorToken } from "../../src/chat/visitor-token.ts";
import { mintApiKey } from "../../src/workspaces/api-key.ts";
import { createAgent, query } from "../harness.ts";
import { createWidget, visitorOf } from "./widget.ts";

const CLAIM = { agentId: "019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00", visitorId: "019a9f0e-3c1c-7aaa-9bbb-6f1d2e3c4b01" };
const NOW_MS = 1_900_000_000_123;

describe("a token", () => {
  test("names its agent and its visitor, and cannot be forged", async () => {
    const token = await mintVisitorToken(CLAIM, "secret", NOW_MS);
    expect(await verifyVisitorToken(token, ["secret"], NOW_MS)).toEqual({ outcome: "genuine", ...CLAIM, issuedAtMs: NOW_MS });
    expect(await verifyVisitorToken(token, ["other"], NOW_MS)).toEqual({ outcome: "forged" });
    // Both secrets are valid during a rotation.
    expect(await verifyVisitorToken(token, ["new", "secret"], NOW_MS)).toMatchObject({ outcome: "genuine" });
  });

  test("is refused when any bit is changed", async () => {
    const token = await mintVisitorToken(CLAIM, "secret", NOW_MS);
    const bytes = Uint8Array.fromBase64(token.slice(3), { alphabet: "base64url" });
    expect(bytes).toHaveLength(70);
    for (let at = 0; at < bytes.length * 8; at++) {
      const changed = Uint8Array.from(bytes);
      changed[at >> 3]! ^= 1 << (at & 7);
      const forged = `vt_${changed.toBase64({ alphabet: "base64url", omitPadding: true })}`;
      expect(await verifyVisitorToken(forged, ["secret"], NOW_MS), `bit ${at}`).toEqual({ outcome: "forged" });
    }
  });

  test("is refused in any other encoding", async () => {
    const token = await mintVisitorToken(CLAIM, "secret", NOW_MS);
    const last = token.at(-1)!;
    const sameBits = String.fromCharCode(last.charCodeAt(0) + 1);
    for (const other of [
      "",
      "vt_",
      token.slice(0, -1),
      `${token}A`,
      `${token}=`,
      token.slice(3),
      `VT_${token.slice(3)}`,
      token.slice(0, -1) + sameBits,
    ]) {
      expect(await verifyVisitorToken(other, ["secret"], NOW_MS), other).toEqual({ outcome: "forged" });
    }
  });

  test("expires", async () => {
    const token = await mintVisitorToken(CLAIM, "secret", NOW_MS);
    expect(await verifyVisitorToken(token, ["secret"], NOW_MS + TOKEN_LIFETIME_MS - 1)).toMatchObject({ outcome: "genuine" });
    expect(await verifyVisitorToken(token, ["secret"], NOW_MS + TOKEN_LIFETIME_MS)).toEqual({ outcome: "expired" });
  });

  test("is not an API key, and a key is not a token", async () => {
    const { key } = await mintApiKey(CLAIM.agentId, "secret");
    expect(await verifyVisitorToken(key, ["secret"], NOW_MS)).toEqual({ outcome: "forged" });
    expect(await verifyVisitorToken(`vt_${key.slice(8)}`, ["secret"], NOW_MS)).toEqual({ outcome: "forged" });
  });
});

describe("the surface", () => {
  const genuine = (agentId: string, visitorId: string, atMs = Date.now()) => mintVisitorToken({ agentId, visitorId }, env.KEY_SECRET, atMs);

  test("refuses forged, expired and other agents' tokens on every route", async () => {
    const { workspace, agent, visitor } = await createWidget();
    const other = await createAgent(workspace, { name: "Other" });
    const ada = visitor();
    const { body } = await ada.write({});
    const [person] = await query<{ id: string }>(workspace.id, "SELECT id FROM visitors WHERE workspace_id = ?", workspace.id);
    const tokens = {
      forged: body.visitor_token.replace(/..$/, body.visitor_token.endsWith("AA") ? "Aw" : "AA"),
      expired: await genuine(agent.id, person!.id, Date.now() - TOKEN_LIFETIME_MS),
      foreign: await genuine(other.id, person!.id),
      unknown: await genuine(agent.id, "019a9f0e-3c1c-7aaa-9bbb-6f1d2e3c4b00"),
    };
    for (const [name, token] of Object.entries(tokens)) {
      const written = await ada.write({ visitor_token: token });
      expect(written, name).toMatchObject({ status: 401, body: { error: { code: "invalid_visitor_token" } } });
      expect(written.headers.get("WWW-Authenticate")).toBe("Bearer");
      const left = await ada.send("POST", `/agents/${agent.id}/leads`, { email: "a@example.com", visitor_token: token });
      expect(left.status, name).toBe(401);
      const polled = await ada.on(token, body.conversation_id, "GET", "messages");
      expect(polled.status, name).toBe(name === "foreign" || name === "unknown" ? 404 : 401);
    }
    const { status, body: refused } = await ada.send("GET", `/conversations/${body.conversation_id}/messages`);
    expect([status, refused.error.code]).toEqual([401, "missing_visitor_token"]);
  });
});

describe("a visitor", () => {
  test("cannot read or change another visitor's conversation", async () => {
    const { workspace, agent, visitor } = await createWidget();
    const [ada, bob] = [visitor(), visitor()];
    const adas = (await ada.write({})).body;
    const bobs = (await bob.write({})).body;
    const id = adas.conversation_id;
    for (const answer of [
      await bob.on(bobs.visitor_token, id, "GET", "messages"),
      await bob.on(bobs.visitor_token, id, "POST", "handoff"),
      await bob.on(bobs.visitor_token, id, "POST", "csat", { score: 1 }),
      await bob.write({ conversation_id: id, visitor_token: bobs.visitor_token }),
      await bob.write({ conversation_id: id }),
      await bob.send("POST", `/agents/${agent.id}/leads`, {
        email: "b@example.com",
        conversation_id: id,
        visitor_token: bobs.visitor_token,
      }),
      await bob.send("POST", `/agents/${agent.id}/leads`, { email: "b@example.com", conversation_id: id }),
    ]) {
      expect(answer).toMatchObject({ status: 404, body: { error: { code: "not_found" } } });
    }
    const { body } = await workspace.call("GET", `/conversations/${id}`);
    expect(body).toMatchObject({ status: "ai_handled", csat: null, message_count: 2 });
    expect((await workspace.call("GET", "/conversations")).body.total).toBe(2);
    expect(await query(workspace.id, "SELECT id FROM leads WHERE workspace_id = ?", workspace.id)).toEqual([]);
  });

  test("cannot open conversations of the API or of mail, not even their own", async () => {
    const { workspace, agent, visitor } = await createWidget();
    const ada = visitor();
    const { body } = await ada.write({});
    const token = body.visitor_token;
    const asked = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "When are refunds paid?" });
    const [person] = await query<{ id: string }>(workspace.id, "SELECT id FROM visitors WHERE workspace_id = ?", workspace.id);
    const theirs = asked.body.conversation_id;
    for (const channel of ["api", "email", "playground"]) {
      await query(workspace.id, "UPDATE conversations SET channel = ?, visitor_id = ? WHERE id = ?", channel, person!.id, theirs);
      expect((await ada.on(token, theirs, "GET", "messages")).status).toBe(404);
      expect((await ada.on(token, theirs, "POST", "handoff")).status).toBe(404);
      expect((await ada.on(token, theirs, "POST", "csat", { score: 1 })).status).toBe(404);
      expect((await ada.write({ conversation_id: theirs, visitor_token: token })).status).toBe(404);
    }
    // Nor can the API continue a visitor's conversation.
    const taken = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "Hi", conversation_id: body.conversation_id });
    expect(taken.status).toBe(409);
  });

  test("of one agent is unknown to another, also in the same workspace", async () => {
    const [one, two] = [await createWidget(), await createWidget()];
    const sibling = await createAgent(one.workspace, { name: "Sibling" });
    const { body } = await one.visitor().write({});
    for (const agentId of [sibling.id, two.agent.id]) {
      const there = visitorOf(agentId);
      expect((await there.write({ visitor_token: body.visitor_token })).status).toBe(401);
      const mine = (await there.write({})).body;
      expect((await there.on(mine.visitor_token, body.conversation_id, "GET", "messages")).status).toBe(404);
      expect((await there.write({ visitor_token: mine.visitor_token, conversation_id: body.conversation_id })).status).toBe(404);
    }
  });

  test("cannot choose its identifier", async () => {
    const { workspace, agent, visitor } = await createWidget();
    const asked = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "When are refunds paid?", user: { id: "u-1" } });
    const claims = { anon_id: "api:u-1", external_id: "u-1", visitor: { anon_id: "api:u-1" }, visitor_id: "u-1" };
    const { body } = await visitor().write(claims);
    expect(body.anon_id).toMatch(/^anon_/);
    expect((await visitor().write({ ...claims, conversation_id: asked.body.conversation_id })).status).toBe(404);
    const { visitor: person } = (await workspace.call("GET", `/conversations/${body.conversation_id}`)).body;
    expect(person).toMatchObject({ external_id: null, verified: false });
  });
});

test("tokens signed with the previous secret are valid during rotation", async () => {
  const { agent, visitor } = await createWidget();
  const { body } = await visitor().write({});
  const secrets = env.KEY_SECRET;
  const rotated = await verifyVisitorToken(body.visitor_token, ["newer", secrets], Date.now());
  expect(rotated).toMatchObject({ outcome: "genuine", agentId: agent.id });
});
