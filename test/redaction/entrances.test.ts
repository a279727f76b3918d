import { runInDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { newOperation } from "../../src/platform/db/client.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { countRedactions } from "../../src/redaction/store.ts";
import { asks, createToolAgent, JSON_TYPE, says } from "../chat/tool-agent.ts";
import { createScriptedAgent } from "../chat/scripted-agent.ts";
import { conversations, createMailbox, receive } from "../email/mailbox.ts";
import { databases, deliver, fileForm, listen, newAddress, operate, query, send, type Workspace } from "../harness.ts";
import { claimsOf, createWidget, newSecret, signJwt, visitorOf } from "../widget/widget.ts";

/** A number of a card that occurs in no other test, in two spellings, and the digits by which it is found. */
const CARD = "4556 7375 8689 9855";
const DIGITS = /4556\W{0,3}7375\W{0,3}8689\W{0,3}9855/;
const MASK = "[redacted: card]";
/** A number that is stored while redaction is off. */
const OTHER = "5555 5555 5555 4444";

const logged: string[] = [];
const spies = (["log", "error", "warn"] as const).map((level) =>
  vi.spyOn(console, level).mockImplementation((...words) => void logged.push(words.join(" "))),
);
afterAll(() => spies.forEach((spy) => spy.mockRestore()));
afterEach(() => {
  Reflect.set(env, "OPENAI_BASE_URL", "");
  Reflect.set(env, "OPENAI_MODEL", "");
});

const turnOn = (workspace: Workspace, settings: object = { card: true }) => workspace.call("PATCH", "/privacy/redaction", settings);

/** Everything that D1 and the objects of these conversations store. */
async function stored(conversationIds: readonly string[], workspaceId: string): Promise<string> {
  const rows: unknown[] = [];
  for (const database of databases) {
    const tables = await database
      .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE '\\_cf%' ESCAPE '\\'")
      .all<{ name: string }>();
    for (const { name } of tables.results) rows.push((await database.prepare(`SELECT * FROM "${name}"`).all()).results);
  }
  const objects = [
    ...conversationIds.map((id) => env.SESSION.getByName(`${workspaceId}/${id}`)),
    env.CONVERSATIONS.getByName(workspaceId),
    env.LEADS.getByName(workspaceId),
  ] as DurableObjectStub[];
  for (const object of objects) {
    rows.push(
      await runInDurableObject(object, async (_, { storage }) => {
        const names = storage.sql
          .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB '_cf*'")
          .toArray();
        const tables = names.map(({ name }) => storage.sql.exec(`SELECT * FROM "${name}"`).toArray());
        return [tables, [...(await storage.list())]];
      }),
    );
  }
  return JSON.stringify(rows);
}

let widget: Awaited<ReturnType<typeof createWidget>>;
beforeAll(async () => {
  widget = await createWidget();
  await turnOn(widget.workspace);
});

test("redaction is off, is changed field by field, and is in effect with the next request", async () => {
  const { workspace, agent, visitor } = await createWidget();
  const { body: off } = await workspace.call("GET", "/privacy/redaction");
  const month = new Date().toISOString().slice(0, 7);
  expect(off).toEqual({ card: false, iban: false, patterns: [], counts: { month, card: 0, iban: 0, patterns: {} } });
  const ask = async (message: string) => {
    const { body } = await workspace.call("POST", `/agents/${agent.id}/messages`, { message });
    return (await workspace.call("GET", `/conversations/${body.conversation_id}`)).body;
  };
  const text = `${OTHER}, DE89 3704 0044 0532 0130 00, KD-123456`;
  expect((await ask(text)).messages[0].content).toBe(text);
  const patterns = [{ name: "customer number", pattern: "KD-[0-9]{6}" }];
  expect((await turnOn(workspace, { card: true, patterns })).body).toMatchObject({ card: true, iban: false, patterns });
  expect(await ask(text)).toMatchObject({
    subject: `${MASK}, DE89 3704 0044 0532 0130 00, [redacted: customer number]`,
    messages: [{ content: `${MASK}, DE89 3704 0044 0532 0130 00, [redacted: customer number]` }, {}],
  });
  expect((await turnOn(workspace, { iban: true })).body).toMatchObject({ card: true, iban: true, patterns });
  const written = await visitor().write({ message: text });
  const masked = `${MASK}, [redacted: iban], [redacted: customer number]`;
  expect((await workspace.call("GET", `/conversations/${written.body.conversation_id}`)).body.messages[0].content).toBe(masked);
  await vi.waitFor(async () =>
    expect((await workspace.call("GET", "/privacy/redaction")).body.counts).toEqual({
      month,
      card: 2,
      iban: 1,
      patterns: { "customer number": 2 },
    }),
  );
  expect((await turnOn(workspace, { card: false, iban: false, patterns: [] })).body).toMatchObject({ card: false, patterns: [] });
  expect((await ask(text)).messages[0].content).toBe(text);
});

test("settings that cannot be used are refused with their path", async () => {
  const { workspace } = widget;
  const named = (name: string, pattern = "x") => ({ name, pattern });
  const refusals: [object, (string | number)[], RegExp][] = [
    [{ patterns: [named("a", "(?=x)")] }, ["patterns", 0, "pattern"], /lookaround/],
    [{ patterns: [named("a", "(x)\\1")] }, ["patterns", 0, "pattern"], /RE2/],
    [{ patterns: [named("a", "(")] }, ["patterns", 0, "pattern"], /RE2/],
    [{ patterns: [named("a", "x*")] }, ["patterns", 0, "pattern"], /empty text/],
    [{ patterns: [named("a", "[a-z]{900}")] }, ["patterns", 0, "pattern"], /too large/],
    [{ patterns: ["a", "b", "c", "d"].map((name) => named(name, "x{150}")) }, ["patterns", 3, "pattern"], /together/],
    [{ patterns: [named("a"), named("A")] }, ["patterns", 1, "name"], /once/],
    [{ patterns: [named("Card")] }, ["patterns", 0, "name"], /built in/],
    [{ patterns: [named('a"]')] }, ["patterns", 0, "name"], /letters and digits/],
    [{ patterns: Array.from({ length: 11 }, (_, at) => named(`p${at}`)) }, ["patterns"], /at most 10/],
    [{ card: "yes" }, ["card"], /boolean/],
  ];
  for (const [body, path, message] of refusals) {
    const { status, body: answer } = await turnOn(workspace, body);
    expect([status, answer.detail?.[0]], JSON.stringify(body)).toEqual([
      422,
      expect.objectContaining({ loc: ["body", ...path], msg: expect.stringMatching(message) }),
    ]);
  }
  expect((await workspace.call("GET", "/privacy/redaction")).body).toMatchObject({ card: true, patterns: [] });
});

test("a preview masks with the given settings and the workspace's, and stores nothing", async () => {
  const { workspace } = widget;
  const preview = (body: object) => workspace.call("POST", "/privacy/redaction/preview", body);
  const text = `${CARD} KD-1`;
  expect((await preview({ text })).body).toEqual({ text: `${MASK} KD-1`, counts: { card: 1 } });
  const patterns = [{ name: "number", pattern: "KD-\\d+" }];
  expect((await preview({ text, card: false, patterns })).body).toEqual({ text: `${CARD} [redacted: number]`, counts: { number: 1 } });
  expect((await preview({ text, patterns: [{ name: "a", pattern: "(" }] })).status).toBe(422);
});

test("texts over the API, OpenAI's protocol and MCP are masked before anything is stored", async () => {
  const { workspace, agent } = widget;
  await listen(workspace);
  const post = (path: string, body: object, headers?: Record<string, string>) => workspace.call("POST", path, body, headers);
  const asked = await post(
    `/agents/${agent.id}/messages`,
    { message: `My card is ${CARD}.`, user: { id: "u-1", name: `Ann ${CARD}` } },
    { "Idempotency-Key": `pay ${CARD}` },
  );
  expect(asked.status).toBe(200);
  const { conversation_id: id, message_id: messageId } = asked.body;
  const streamed = await post(`/agents/${agent.id}/messages`, {
    message: `Stream ${CARD}`,
    conversation_id: id,
    user: { id: "u-1" },
    stream: true,
  });
  expect(streamed.status).toBe(200);
  const [half, rest] = [CARD.slice(0, 9), CARD.slice(9)];
  const completed = await post("/openai/chat/completions", {
    model: agent.id,
    messages: [
      { role: "user", content: `Earlier ${CARD}` },
      { role: "assistant", content: "Yes?" },
      {
        role: "user",
        content: [
          { type: "text", text: `In parts ${half}` },
          { type: "text", text: rest },
        ],
      },
    ],
  });
  expect(completed.status).toBe(200);
  const replied = await post(`/conversations/${id}/messages`, { content: `We have ${CARD}.` }, { "Idempotency-Key": "reply-1" });
  expect(replied.body.content).toBe(`We have ${MASK}.`);
  expect((await post(`/conversations/${id}/notes`, { content: `Note ${CARD}` })).body.content).toBe(`Note ${MASK}`);
  expect((await post(`/conversations/${id}/messages/${messageId}/feedback`, { rating: "down", comment: CARD })).body.comment).toBe(MASK);
  const started = await post("/conversations", {
    agent_id: agent.id,
    channel: "api",
    user: { id: "u-2", name: CARD },
    subject: `Your card ${CARD}`,
    content: `About ${CARD}`,
  });
  expect(started.body).toMatchObject({ subject: `Your card ${MASK}`, messages: [{ content: `About ${MASK}` }] });

  const client = new Client({ name: "tests", version: "1.0.0" });
  await client.connect(
    new StreamableHTTPClientTransport(new URL("http://service.test/mcp"), {
      fetch: (url, init) => exports.default.fetch(new Request(url, init)),
      requestInit: { headers: { Authorization: `Bearer ${workspace.key}` } },
    }),
  );
  const called = await client.callTool({ name: "ask_agent", arguments: { agent_id: agent.id, message: `By MCP ${CARD}` } });
  await client.close();
  expect(called.isError ?? false).toBe(false);

  const { data } = (await workspace.call("GET", "/conversations?limit=50")).body;
  const texts = await Promise.all(data.map(async (one: any) => (await workspace.call("GET", `/conversations/${one.id}`)).body.messages));
  const contents = texts.flat().map(({ content }: any) => content);
  for (const wanted of [`My card is ${MASK}.`, `Stream ${MASK}`, `In parts ${MASK}`, `By MCP ${MASK}`]) expect(contents).toContain(wanted);
  expect((await workspace.call("GET", `/conversations/${id}`)).body.visitor.name).toBe(`Ann ${MASK}`);
  const ids = data.map((one: { id: string }) => one.id);
  await vi.waitFor(async () => expect((await workspace.call("GET", "/privacy/redaction")).body.counts.card).toBeGreaterThanOrEqual(12));
  expect(DIGITS.exec(await stored(ids, workspace.id))).toBeNull();
  expect(DIGITS.exec(logged.join("\n"))).toBeNull();
});

test("what visitors write in the chat, in forms and in ratings is masked", async () => {
  const { workspace, agent } = widget;
  const visitor = visitorOf(agent.id);
  const secret = await newSecret(workspace, agent.id);
  const identity = await signJwt(secret, claimsOf("u-9", { name: `Eve ${CARD}` }));
  const known = await visitor.write({ message: `Signed ${CARD}`, identity_token: identity });
  expect(known.status).toBe(200);
  const written = await visitor.write({ message: `Chat ${CARD}` });
  const { visitor_token: token, conversation_id: id, message_id: messageId } = written.body;
  expect((await visitor.on(token, id, "POST", `messages/${messageId}/feedback`, { rating: "up", comment: CARD })).body.comment).toBe(MASK);
  expect((await visitor.on(token, id, "POST", "csat", { score: 5, comment: CARD })).body.comment).toBe(MASK);
  const lead = await send("POST", `/widget/v1/agents/${agent.id}/leads`, {
    headers: newAddress(),
    body: {
      name: `Ann ${CARD}`,
      email: "ann@example.com",
      phone: "+43 664 1234 56 06",
      message: CARD,
      custom_fields: { card: CARD, number: 4556737586899855, [CARD]: true },
      source_url: `https://shop.example/?card=${CARD.replaceAll(" ", "")}`,
    },
  });
  expect(lead.body).toMatchObject({
    name: `Ann ${MASK}`,
    phone: "+43 664 1234 56 06",
    message: MASK,
    custom_fields: { card: MASK, number: MASK, [MASK]: true },
    source_url: `https://shop.example/?card=${MASK}`,
  });
  const transcripts = await stored([id, known.body.conversation_id], workspace.id);
  expect([`Chat ${MASK}`, `Eve ${MASK}`].filter((text) => !transcripts.includes(text))).toEqual([]);
  expect(DIGITS.exec(transcripts)).toBeNull();
});

test("a mail is masked with its subject and its sender's name, before it is cut", async () => {
  const mailbox = await createMailbox();
  await turnOn(mailbox.workspace);
  const text = `${"a ".repeat(3_990)} ${CARD} is my card.`;
  expect(await receive({ to: mailbox.address, from: `"Ada ${CARD}" <ada@example.net>`, subject: `Re: ${CARD}`, text })).toBeUndefined();
  const [conversation] = await conversations(mailbox);
  expect(conversation).toMatchObject({ subject: `Re: ${MASK}`, visitor: { name: `Ada ${MASK}` } });
  expect(conversation.messages[0].content).toContain(MASK);
  expect(DIGITS.exec(await stored([conversation.id], mailbox.workspace.id))).toBeNull();
});

test("the names of files are masked that the team and visitors upload", async () => {
  const { workspace, agent } = widget;
  const form = () => fileForm("Hello", {}, `Card ${CARD}.txt`);
  const name = `Card ${MASK}.txt`;
  const ofTeam = await workspace.call("POST", "/attachments", form());
  expect([ofTeam.status, ofTeam.body.name]).toEqual([201, name]);
  const visitor = visitorOf(agent.id);
  const ofVisitor = await visitor.send("POST", `/agents/${agent.id}/attachments`, form());
  expect([ofVisitor.status, ofVisitor.body.name]).toEqual([201, name]);
  const { body: asked } = await visitor.write({ attachments: [ofVisitor.body.id] });
  const replied = { content: "See the file.", attachments: [ofTeam.body.id] };
  await workspace.call("POST", `/conversations/${asked.conversation_id}/messages`, replied);
  const { messages } = (await workspace.call("GET", `/conversations/${asked.conversation_id}`)).body;
  expect(messages.map(({ attachments }: any) => attachments.map((file: any) => file.name))).toEqual([[name], [], [name]]);
  expect(DIGITS.exec(await stored([asked.conversation_id], workspace.id))).toBeNull();
});

test("the names of a mail's files are masked, also of those that are left out", async () => {
  const mailbox = await createMailbox();
  await turnOn(mailbox.workspace);
  const part = (name: string, text: string) => {
    const headers = [
      "Content-Type: application/octet-stream",
      `Content-Disposition: attachment; filename="${name}"`,
      "Content-Transfer-Encoding: base64",
    ];
    return `--b\r\n${headers.join("\r\n")}\r\n\r\n${btoa(text)}\r\n`;
  };
  const parts = [part(`Card ${CARD}.txt`, "Hello"), part(`Page ${CARD}.html`, "<!doctype html>")].join("");
  const text = "--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nSee the files.\r\n";
  const raw = `Content-Type: multipart/mixed; boundary="b"\r\n\r\n${text}${parts}--b--\r\n`;
  expect(await receive({ to: mailbox.address, raw })).toBeUndefined();
  const [conversation] = await conversations(mailbox);
  const [question] = conversation.messages;
  expect(question.attachments).toMatchObject([{ name: `Card ${MASK}.txt` }]);
  expect(question.content).toBe(`See the files.\n[Attachment left out: Page ${MASK}.html]`);
  expect(DIGITS.exec(await stored([conversation.id], mailbox.workspace.id))).toBeNull();
});

test("the model reads the results of tools, and messages from before the change, without what is masked", async () => {
  const { workspace, run, runnerOf, ask, behave, requests } = await createToolAgent((_, count) =>
    count % 2 === 1 ? asks({ order: "A1" }, count === 1 ? "order_status" : "cancel_order") : says("Done."),
  );
  const runner = runnerOf();
  const body = `{"card": "${OTHER}", "text": "${"a ".repeat(3_980)}${OTHER}"}`;
  await behave({ headers: JSON_TYPE, body }, { headers: JSON_TYPE, body });
  await run(ask({ message: `Before: ${OTHER}` }), runner);
  expect(JSON.stringify(requests.slice(0, 2)).split(OTHER).length).toBeGreaterThan(3);
  await turnOn(workspace);
  const later = ask({
    message: "And now?",
    questionId: crypto.randomUUID(),
    answerId: crypto.randomUUID(),
    isNew: false,
    nowMs: Date.now(),
  });
  await run(later, runner);
  expect(JSON.stringify(requests.slice(2))).toContain(`Before: ${MASK}`);
  expect(JSON.stringify(requests.slice(2))).not.toMatch(/5555 ?5555 ?5555/);
});

test("results of client tools are masked before the session keeps them", async () => {
  const tool = { type: "client", name: "cancel_order", description: "Cancels.", parameters: { type: "object", properties: {} } };
  const fixture = await createScriptedAgent({ tools: [tool] }, [
    { toolCalls: [{ name: "cancel_order", arguments: {} }] },
    says("Cancelled."),
  ]);
  await turnOn(fixture.workspace);
  const { body: waiting } = await fixture.ask({ message: `Cancel ${CARD}` });
  const results = waiting.required_action.tool_calls.map(({ id }: any) => ({ tool_call_id: id, content: `{"card": "${CARD}"}` }));
  expect((await fixture.sendResults(waiting, results)).body.answer).toBe("Cancelled.");
  const sent = JSON.stringify(await fixture.requests());
  expect(sent).toContain(MASK);
  expect(DIGITS.exec(sent)).toBeNull();
  expect(DIGITS.exec(await stored([waiting.conversation_id], fixture.workspace.id))).toBeNull();
});

test("a repeated request is recognized by its masked text, and keys with a number stay apart", async () => {
  const { workspace, agent } = widget;
  const ask = (message: string, key: string) =>
    workspace.call("POST", `/agents/${agent.id}/messages`, { message }, { "Idempotency-Key": key });
  const first = await ask(`Card ${CARD}`, "key-1");
  expect((await ask(`Card ${CARD}`, "key-1")).headers.get("Idempotent-Replayed")).toBe("true");
  expect((await ask(`Card ${OTHER}`, "key-1")).body.message_id).toBe(first.body.message_id);
  expect((await ask("Another text", "key-1")).status).toBe(409);
  const [one, two] = [await ask("Hello", CARD), await ask("Hello", OTHER)];
  expect(one.body.message_id).not.toBe(two.body.message_id);
  expect((await ask("Hello", CARD)).body.message_id).toBe(one.body.message_id);
});

test("a workspace's counts of masks are bounded, and the operator's erasure and backup include the settings", async () => {
  const { workspace } = await createWidget();
  await turnOn(workspace, { card: true, patterns: [{ name: "word", pattern: "secret" }] });
  const patternCounts = async () => (await workspace.call("GET", "/privacy/redaction")).body.counts.patterns;
  const [agent] = (await workspace.call("GET", "/agents")).body.data;
  await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "my secret" });
  await vi.waitFor(async () => expect(await patternCounts()).toEqual({ word: 1 }));
  const many = JSON.stringify(Object.fromEntries(Array.from({ length: 400 }, (_, at) => [`a name of a pattern ${at}`, 1])));
  const fill = "UPDATE usage_periods SET redactions = ? WHERE workspace_id = ? RETURNING period";
  const [counted] = await query<{ period: string }>(workspace.id, fill, many, workspace.id);
  const { db } = newOperation(env, new Meter(), workspace.id);
  const [count] = countRedactions(db, workspace.id, counted!.period, new Map([["word", 1]]));
  await db.batch([count!]);
  expect(Object.keys(await patternCounts())).toHaveLength(400);
  const lines = (await send("GET", `/operator/v1/workspaces/${workspace.id}/export`, { token: env.OPERATOR_TOKEN })).body as string;
  expect(lines).toContain(String.raw`{\"card\":true,\"patterns\":[{\"name\":\"word\"`);
  await operate("DELETE", `/workspaces/${workspace.id}`);
  await deliver("support-agent-erasure", { workspaceId: workspace.id });
  for (const statement of ["SELECT id FROM workspaces WHERE id = ?", "SELECT period FROM usage_periods WHERE workspace_id = ?"]) {
    expect(await query(workspace.id, statement, workspace.id), statement).toEqual([]);
  }
});
