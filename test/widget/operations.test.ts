import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { app } from "../../src/app.ts";
import { LANGUAGES } from "../../src/text/languages.ts";
import { HANDBOOK, KNOWN, UNKNOWN } from "../chat/handbook.ts";
import { costOf, countRows, createAgent, createWorkspaceOn, envWith, learn, newAddress, operate, query, send } from "../harness.ts";
import {
  above,
  below,
  missing,
  notBoolean,
  notEmail,
  notInteger,
  notObject,
  notOneOf,
  notString,
  notUuid,
  tooLong,
  tooShort,
  wrong,
} from "../platform/http/items.ts";
import { conversationOf, createWidget, visitorOf } from "./widget.ts";

const NOBODY = "019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00";

describe("settings", () => {
  test("contain what every visitor may know, and nothing else", async () => {
    const { agent, visitor } = await createWidget({
      agent: {
        welcome_message: "Hi!",
        handoff_message: "A human comes.",
        instructions: "SECRET PROMPT",
        description: "internal",
        language: "nl",
      },
    });
    const { status, body } = await visitor().send("GET", `/agents/${agent.id.toUpperCase()}`);
    expect(status).toBe(200);
    expect(body).toEqual({
      id: agent.id,
      name: "Agent",
      status: "active",
      language: "nl",
      welcome_message: "Hi!",
      is_default_welcome: false,
      handoff_message: "A human comes.",
      turnstile_site_key: null,
      appearance: {
        accent: "#3538cd",
        position: "right",
        launcher: "icon",
        greeting: null,
        suggestions: [],
        theme: "auto",
        show_branding: true,
      },
      contact_form: null,
      languages: {},
      handoff: "on",
      team_open: true,
      opens_at: null,
    });
  });

  test("are 404 for unknown agents, unbound shards and deleted workspaces, 422 for malformed ids", async () => {
    const { workspace, agent, visitor } = await createWidget();
    expect((await visitor().send("GET", `/agents/${NOBODY}`)).body.error.code).toBe("not_found");
    expect((await visitor().send("GET", `/agents/${NOBODY.slice(0, -2)}7f`)).status).toBe(404);
    const wrongId = await visitor().send("GET", "/agents/nobody");
    expect(wrongId).toMatchObject({ status: 422, body: { detail: [notUuid("path.agent_id", "nobody")] } });
    await operate("DELETE", `/workspaces/${workspace.id}`);
    expect((await visitor().send("GET", `/agents/${agent.id}`)).status).toBe(404);
    expect((await visitor().write({})).status).toBe(404);
  });
});

describe("messages", () => {
  test("the first one creates a visitor and a conversation, later ones continue it", async () => {
    const { workspace, agent, visitor } = await createWidget();
    const ada = visitor();
    const first = await ada.write({});
    expect(first).toMatchObject({ status: 200, body: { status: "ai_handled", needs_human: false } });
    expect(first.body.answer).toContain(KNOWN.answer);
    expect(first.body.visitor_token).toMatch(/^vt_[\w-]{94}$/);
    expect(first.body.anon_id).toMatch(/^anon_[\w-]{22}$/);
    const { conversation_id: id, visitor_token: token, anon_id: anonId } = first.body;
    const second = await ada.write({ conversation_id: id.toUpperCase(), visitor_token: token, message: "Do you ship to Norway?" });
    expect(second.body).toMatchObject({ conversation_id: id, anon_id: anonId });
    const conversation = await conversationOf(workspace, id);
    expect(conversation).toMatchObject({
      agent_id: agent.id,
      channel: "widget",
      message_count: 4,
      visitor: { anon_id: anonId, external_id: null, name: null, email: null, verified: false },
    });
    // A new conversation of the same visitor.
    const third = await ada.write({ visitor_token: second.body.visitor_token, channel: "hosted" });
    expect(third.body.conversation_id).not.toBe(id);
    expect(await conversationOf(workspace, third.body.conversation_id)).toMatchObject({ channel: "hosted", visitor: conversation.visitor });
    // A conversation keeps its channel, whichever page continues it.
    const fourth = await ada.write({ visitor_token: token, conversation_id: third.body.conversation_id });
    expect(fourth).toMatchObject({ status: 200, body: { conversation_id: third.body.conversation_id } });
  });

  test("every failed check is reported", async () => {
    const { agent, visitor } = await createWidget();
    const path = `/agents/${agent.id}/messages`;
    const body = {
      message: "",
      conversation_id: "x",
      visitor_token: 1,
      identity_token: "t".repeat(4097),
      user: { id: "", email: "nobody" },
      channel: "api",
      stream: "yes",
    };
    const { status, body: answer } = await visitor().send("POST", path, body);
    expect(status).toBe(422);
    expect(answer.error.code).toBe("validation_error");
    expect(answer.detail).toEqual([
      tooShort("body.message", "", 1),
      notUuid("body.conversation_id", "x"),
      notString("body.visitor_token", 1),
      tooLong("body.identity_token", body.identity_token, 4096),
      tooShort("body.user.id", "", 1),
      notEmail("body.user.email", "nobody", "an email address must have an @-sign"),
      notOneOf("body.channel", "api", "'widget' or 'hosted'"),
      notBoolean("body.stream", "yes"),
    ]);
    expect((await visitor().send("POST", path, {})).body.detail).toEqual([missing("body.message", {})]);
    expect((await visitor().send("POST", "/agents/x/messages", {})).body.detail).toHaveLength(2);
    expect((await visitor().send("POST", path, "{")).body.detail[0].type).toBe("json_invalid");
    expect((await visitor().send("POST", path, "x".repeat(600_000))).status).toBe(413);
  });

  test("user and user_hash require each other, and exclude identity_token", async () => {
    const { visitor } = await createWidget();
    const alone = await visitor().write({ user: { id: "u-1" } });
    expect(alone).toMatchObject({ status: 422, body: { detail: [{ loc: ["body", "user_hash"], type: "missing" }] } });
    const bare = await visitor().write({ user_hash: "00" });
    expect(bare).toMatchObject({ status: 422, body: { detail: [{ loc: ["body", "user"], type: "missing" }] } });
    const both = await visitor().write({ user: { id: "u-1" }, user_hash: "00", identity_token: "a.b.c" });
    expect(both.body.detail).toEqual([wrong("body.user_hash", "00", "send identity_token or user_hash, not both")]);
  });

  test("a paused agent refuses them", async () => {
    const { visitor } = await createWidget({ agent: { status: "paused" } });
    expect(await visitor().write({})).toMatchObject({ status: 409, body: { error: { code: "conflict" } } });
  });

  test("use the same quota as the API, past which nothing is stored", async () => {
    const { workspace, agent, visitor } = await createWidget({ limits: { messages: 2 } });
    expect((await visitor().write({})).status).toBe(200);
    expect((await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "When are refunds paid?" })).status).toBe(200);
    expect((await workspace.call("GET", "/usage")).body.usage.messages).toBe(2);
    const before = await countRows();
    expect(await visitor().write({})).toMatchObject({ status: 402, body: { error: { code: "quota_exceeded" } } });
    expect(await countRows()).toEqual(before);
    expect((await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "x" })).status).toBe(402);
  });

  test("do not count against the workspace's rate limit", async () => {
    const { workspace, visitor } = await createWidget({ limits: { requests_per_minute: 10 } });
    const remaining = async () => Number((await workspace.call("GET", "/me")).headers.get("X-RateLimit-Remaining"));
    const before = await remaining();
    await visitor().write({});
    expect(await remaining()).toBe(before - 1);
  });

  test("cost a D1 trip where an API key costs a hop to the gate", async () => {
    const { visitor } = await createWidget();
    const ada = visitor();
    const { body } = await ada.write({});
    expect(await costOf(() => ada.write({}))).toMatchObject({ object_hops: 2, d1_trips: 3 });
    const next = { conversation_id: body.conversation_id, visitor_token: body.visitor_token };
    expect(await costOf(() => ada.write(next))).toMatchObject({ d1_trips: 3 });
    expect(await costOf(() => ada.on(body.visitor_token, body.conversation_id, "GET", "messages"))).toMatchObject({
      object_hops: 0,
      d1_trips: 1,
    });
  });
});

describe("polls", () => {
  test("return the messages after another, in order", async () => {
    const { workspace, visitor } = await createWidget();
    const ada = visitor();
    const { body } = await ada.write({});
    const { conversation_id: id, visitor_token: token } = body;
    const all = await ada.on(token, id, "GET", "messages");
    expect(all).toMatchObject({ status: 200, body: { status: "ai_handled" } });
    const { messages: stored } = await conversationOf(workspace, id);
    // Visitors do not see which version of the agent answered.
    const messages = stored.map(({ agent_version: _version, ...message }: Record<string, any>) => message);
    expect(all.body.data).toEqual(messages);
    const [question, answer] = messages;
    expect((await ada.on(token, id, "GET", `messages?after=${question.id}`)).body.data).toEqual([answer]);
    expect((await ada.on(token, id, "GET", `messages?after=${answer.id.toUpperCase()}`)).body.data).toEqual([]);
    const replied = await workspace.call("POST", `/conversations/${id}/messages`, { content: "A human here." });
    const { conversation_status: _, agent_version: _version, ...reply } = replied.body;
    const polled = await ada.on(token, id, "GET", `messages?after=${answer.id}`);
    expect(polled.body).toEqual({ data: [reply], status: "human_active", team_open: true, opens_at: null });
    expect((await ada.on(token, id, "GET", "messages?after=")).body.detail).toEqual([notUuid("query.after", "")]);
  });

  test("return the rest of a long transcript the next time", async () => {
    const { workspace, visitor } = await createWidget();
    const ada = visitor();
    const { body } = await ada.write({});
    const { conversation_id: id, visitor_token: token } = body;
    // 250 messages of a human, each a millisecond after the one before.
    const [{ id: last, created_at: at } = { id: "", created_at: 0 }] = await query<{ id: string; created_at: number }>(
      workspace.id,
      "SELECT id, created_at FROM messages WHERE conversation_id = ? ORDER BY id DESC",
      id,
    );
    await query(
      workspace.id,
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 250)
       INSERT INTO messages (id, workspace_id, conversation_id, role, author_type, content, created_at)
       SELECT substr(?1, 1, 24) || printf('%010d', i) || substr(?1, 35), ?2, ?3, 'human', 'member', i, ?4 + i FROM n`,
      last,
      workspace.id,
      id,
      at,
    );
    const first = (await ada.on(token, id, "GET", `messages?after=${last}`)).body.data;
    expect(first.map(({ content }: any) => content)).toEqual(Array.from({ length: 200 }, (_, index) => String(index + 1)));
    const rest = (await ada.on(token, id, "GET", `messages?after=${first.at(-1).id}`)).body.data;
    expect(rest.map(({ content }: any) => content)).toEqual(Array.from({ length: 50 }, (_, index) => String(index + 201)));
  });

  test("miss no answer that was stored after a later message", async () => {
    const { workspace, visitor } = await createWidget();
    const ada = visitor();
    const { body } = await ada.write({});
    const { conversation_id: id, visitor_token: token, message_id: answerId } = body;
    const { body: reply } = await workspace.call("POST", `/conversations/${id}/messages`, { content: "A human here." });
    // This is the state if a human replied while the agent was answering: the id of the answer is older than the reply.
    await query(workspace.id, "UPDATE messages SET created_at = ? WHERE id = ?", Date.parse(reply.created_at) + 1000, answerId);
    expect((await ada.on(token, id, "GET", `messages?after=${reply.id}`)).body.data).toMatchObject([{ id: answerId }]);
    expect((await ada.on(token, id, "GET", `messages?after=${answerId}`)).body.data).toEqual([]);
    const ids = (await ada.on(token, id, "GET", "messages")).body.data.map((message: { id: string }) => message.id);
    expect(ids.slice(1)).toEqual([reply.id, answerId]);
  });
});

describe("a request for a human", () => {
  test("hands off once, adds a notice, and the agent stays silent", async () => {
    const { workspace, agent, visitor } = await createWidget({ agent: { handoff_message: "A human comes." } });
    const ada = visitor();
    const { body } = await ada.write({});
    const { conversation_id: id, visitor_token: token } = body;
    const asked = await ada.on(token, id, "POST", "handoff");
    expect(asked).toMatchObject({ status: 200, body: { status: "needs_human", handoff_message: "A human comes." } });
    const { messages, handoff } = await conversationOf(workspace, id);
    expect(asked.body.handoff).toEqual(handoff);
    expect(handoff).toMatchObject({
      reason: "customer_request",
      status: "pending",
      summary: "When are refunds paid?",
      trigger_message_id: messages[0].id,
    });
    expect(messages[2]).toMatchObject({
      role: "system",
      author: { type: "system", id: null },
      content: "A human comes.",
      needs_human: true,
    });
    expect((await ada.on(token, id, "POST", "handoff")).body).toEqual(asked.body);
    expect((await conversationOf(workspace, id)).message_count).toBe(3);
    const types = await query(workspace.id, "SELECT type FROM events WHERE workspace_id = ? ORDER BY id", workspace.id);
    expect(types.filter(({ type }) => type === "handoff.created")).toHaveLength(1);
    const used = (await workspace.call("GET", "/usage")).body.usage.messages;
    const silent = await ada.write({ conversation_id: id, visitor_token: token });
    expect(silent.body).toMatchObject({ answer: "", citations: [], confidence: 0, needs_human: true, message_id: null });
    expect((await workspace.call("GET", "/usage")).body.usage.messages).toBe(used);
    expect(agent.id).toBe((await conversationOf(workspace, id)).agent_id);
  });

  test.for<[string, string, string]>([
    ["en", "Wann werden Rückerstattungen bezahlt?", "de"],
    ["de", "When are refunds paid?", "en"],
    ["fr", "4711", "fr"],
  ])("is answered in the visitor's language, or else the agent's: %s, %s", async ([language, written, spoken]) => {
    const { workspace, visitor } = await createWidget({ agent: { language } });
    const ada = visitor();
    const { conversation_id: id, visitor_token: token } = (await ada.write({ message: written })).body;
    await ada.write({ message: "?", conversation_id: id, visitor_token: token });
    const { body } = await ada.on(token, id, "POST", "handoff");
    const message = LANGUAGES[spoken]!.handoff_messages.customer_request;
    expect(body.handoff_message).toBe(message);
    // A conversation that waits already gets no second notice.
    const notices = (await conversationOf(workspace, id)).messages.filter(({ role }: { role: string }) => role === "system");
    for (const { content } of notices) expect(content).toBe(message);
  });

  test("leaves an accepted conversation as it is, and reopens a resolved one", async () => {
    const { workspace, visitor } = await createWidget();
    const ada = visitor();
    const { body } = await ada.write({ message: UNKNOWN });
    const { conversation_id: id, visitor_token: token } = body;
    await workspace.call("POST", `/conversations/${id}/messages`, { content: "Here." });
    const again = await ada.on(token, id, "POST", "handoff");
    expect(again.body).toMatchObject({ status: "human_active", handoff: { status: "accepted", reason: "missing_knowledge" } });
    await workspace.call("PATCH", `/conversations/${id}`, { status: "resolved" });
    const reopened = await ada.on(token, id, "POST", "handoff");
    expect(reopened.body).toMatchObject({ status: "needs_human", handoff: { status: "pending", reason: "customer_request" } });
    expect(await conversationOf(workspace, id)).toMatchObject({ reopened_count: 1, resolved_at: null });
  });

  test("is one hand-off when repeated at once", async () => {
    const { workspace, visitor } = await createWidget();
    const ada = visitor();
    const { body } = await ada.write({});
    const asked = await Promise.all(Array.from({ length: 8 }, () => ada.on(body.visitor_token, body.conversation_id, "POST", "handoff")));
    expect(new Set(asked.map((answer) => answer.body.handoff.id)).size).toBe(1);
    expect((await conversationOf(workspace, body.conversation_id)).message_count).toBe(3);
  });
});

describe("ratings", () => {
  test("are stored, and the last one counts", async () => {
    const { workspace, visitor } = await createWidget();
    const ada = visitor();
    const { body } = await ada.write({});
    const rate = (rating: unknown) => ada.on(body.visitor_token, body.conversation_id, "POST", "csat", rating);
    expect(await rate({ score: 2, comment: "Slow." })).toMatchObject({ status: 200, body: { score: 2, comment: "Slow." } });
    expect((await conversationOf(workspace, body.conversation_id)).csat).toEqual({ score: 2, comment: "Slow." });
    expect((await rate({ score: 5 })).body).toEqual({ score: 5, comment: null });
    expect((await conversationOf(workspace, body.conversation_id)).csat).toEqual({ score: 5, comment: null });
    expect((await rate({ score: 0, comment: 1 })).body.detail).toEqual([below("body.score", 0, 1), notString("body.comment", 1)]);
    expect((await rate({ score: 6, comment: "x".repeat(2001) })).body.detail).toHaveLength(2);
    expect((await rate({ score: 6 })).body.detail).toEqual([above("body.score", 6, 5)]);
    expect((await rate({ score: 4.5 })).body.detail).toEqual([notInteger("body.score", 4.5)]);
    expect((await rate({})).body.detail).toEqual([missing("body.score", {})]);
  });
});

describe("contact forms", () => {
  test("become leads, with their event", async () => {
    const { workspace, agent, visitor } = await createWidget();
    const ada = visitor();
    const { body } = await ada.write({});
    const form = {
      name: "Ada",
      email: "Ada@Example.com",
      phone: "+43 316 1234",
      message: "Call me.",
      custom_fields: { company: "Acme", seats: 4.5, trial: true, note: null },
      source_url: "https://www.example.com/pricing?x=1",
    };
    const left = await ada.send("POST", `/agents/${agent.id}/leads`, {
      ...form,
      conversation_id: body.conversation_id,
      visitor_token: body.visitor_token,
    });
    expect(left.status).toBe(201);
    const { visitor: person } = await conversationOf(workspace, body.conversation_id);
    expect(left.body).toEqual({
      id: expect.any(String),
      agent_id: agent.id,
      conversation_id: body.conversation_id,
      visitor_id: person.id,
      ...form,
      created_at: expect.any(String),
    });
    const [event] = await query<{ payload: string }>(
      workspace.id,
      "SELECT payload FROM events WHERE workspace_id = ? AND type = 'lead.created'",
      workspace.id,
    );
    expect(JSON.parse(event!.payload).data).toEqual(left.body);
    const bare = await ada.send("POST", `/agents/${agent.id}/leads`, { phone: "112" });
    expect(bare.body).toMatchObject({ name: null, email: null, visitor_id: null, conversation_id: null, custom_fields: {} });
  });

  test("need an email address or a phone number", async () => {
    const { agent, visitor } = await createWidget();
    const leave = (body: unknown) => visitor().send("POST", `/agents/${agent.id}/leads`, body);
    const form = { name: "Ada", email: null };
    expect(await leave(form)).toMatchObject({ status: 422, body: { detail: [{ loc: ["body"], type: "value_error", input: form }] } });
    expect((await leave({})).status).toBe(422);
  });

  test("every failed check is reported", async () => {
    const { agent, visitor } = await createWidget();
    const leave = async (body: unknown) => (await visitor().send("POST", `/agents/${agent.id}/leads`, body)).body.detail;
    expect(await leave({ name: 1, email: "a", phone: "call me", custom_fields: [], source_url: "javascript:alert(1)" })).toEqual([
      notString("body.name", 1),
      notEmail("body.email", "a", "an email address must have an @-sign"),
      wrong("body.phone", "call me", "use a phone number with at least 3 digits"),
      notObject("body.custom_fields", []),
      wrong("body.source_url", "javascript:alert(1)", "use an http or https URL"),
    ]);
    const custom = (fields: unknown) => leave({ email: "a@example.com", custom_fields: fields });
    expect(await custom({ a: { b: 1 }, c: [1] })).toEqual([
      wrong("body.custom_fields.a", { b: 1 }, "use a string, a number, a boolean or null"),
      wrong("body.custom_fields.c", [1], "use a string, a number, a boolean or null"),
    ]);
    const many = Object.fromEntries(Array.from({ length: 51 }, (_, at) => [`f${at}`, at]));
    expect(await custom(many)).toEqual([wrong("body.custom_fields", many, "send at most 50 fields")]);
    expect(await custom({ "": 1 })).toMatchObject([{ msg: "Use names of 1 to 64 characters" }]);
    expect(await custom({ ["😀".repeat(65)]: 1 })).toMatchObject([{ msg: "Use names of 1 to 64 characters" }]);
    expect(await custom({ ["😀".repeat(64)]: 1 })).toBeUndefined();
    expect(await custom({ a: "x".repeat(9000) })).toMatchObject([{ msg: "Send at most 8,192 bytes of JSON" }]);
  });
});

test("a misconfigured service answers 503", async () => {
  const request = new Request(`http://service.test/widget/v1/agents/${NOBODY}`, { headers: newAddress() });
  const response = await app.fetch(request, envWith({ KEY_SECRET: "" }), createExecutionContext());
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ error: { code: "unavailable" } });
  expect(env.KEY_SECRET).not.toBe("");
});

test("other paths and methods are 404 and 405, as error bodies", async () => {
  const { agent } = await createWidget();
  const visitor = visitorOf(agent.id);
  expect((await visitor.send("GET", "/nothing")).body.error).toMatchObject({ code: "not_found", request_id: expect.any(String) });
  const wrongMethod = await visitor.send("DELETE", `/agents/${agent.id}`);
  expect(wrongMethod.body.error.code).toBe("method_not_allowed");
  expect(wrongMethod.headers.get("Allow")).toBe("GET, HEAD");
});

test("the integrators' OpenAPI document does not contain this surface", async () => {
  const { body } = await send("GET", "/api/v1/openapi.json", { headers: newAddress() });
  expect(JSON.stringify(body)).not.toMatch(/visitor_token|origin_not_allowed|invalid_identity/);
});

test.each([0, 1])("the agents of shard %i answer", async (shard) => {
  const workspace = await createWorkspaceOn(shard);
  for (const name of ["First", "Second"]) {
    const { id } = await createAgent(workspace, { name });
    await learn(workspace, id, HANDBOOK);
    const { status, body } = await visitorOf(id).write({});
    expect([status, body.answer]).toEqual([200, expect.stringContaining(KNOWN.answer)]);
  }
});
