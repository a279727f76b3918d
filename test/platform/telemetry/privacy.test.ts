import { createExecutionContext, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { app } from "../../../src/app.ts";
import { TurnRunner } from "../../../src/chat/turn.ts";
import { ExtractiveEngine } from "../../../src/extractive/engine.ts";
import { consume } from "../../../src/queues.ts";
import { sweep } from "../../../src/sweep/sweep.ts";
import wrangler from "../../../wrangler.toml?raw";
import { receive, mailService, outbox } from "../../email/mailbox.ts";
import { createAgent, createWorkspace, deliver, envWith, learn, newAddress, operate, query, send, type Workspace } from "../../harness.ts";
import { behaveAt, newHost } from "../../outbound.ts";
import { claimsOf, hashOf, newSecret, signJwt, visitorOf } from "../../widget/widget.ts";
import { watch, type Watched } from "./watch.ts";

test("the platform's invocation logs, which hold URLs with queries, are off in every environment", () => {
  const environments = ["observability", "env.production.observability"];
  for (const name of environments) {
    expect(wrangler).toContain(`[${name}]\nenabled = true\nredact_query_string = true\n`);
    expect(wrangler).toContain(`[${name}.logs]\nenabled = true\ninvocation_logs = false\n`);
  }
  expect(wrangler.match(/observability\]$/gm)).toHaveLength(environments.length);
  expect(wrangler).not.toMatch(/logpush|tail_consumers|observability\.traces/);
});

const KNOWN = "When are refunds paid?";

/** Someone who puts the mark into everything, and whatever must stay secret of them. */
interface Person {
  mark: string;
  email: string;
  workspace: Workspace;
  agentId: string;
  secrets: string[];
}

async function createPerson(): Promise<Person> {
  const mark = `qxz${crypto.randomUUID().replaceAll("-", "")}`;
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace, { name: `Agent of ${mark}`, instructions: `Be kind to ${mark}.`, allowed_origins: ["*"] });
  const secrets = [workspace.key, env.OPERATOR_TOKEN, env.KEY_SECRET, env.ENCRYPTION_KEY];
  return { mark, email: `${mark}@example.com`, workspace, agentId: agent.id, secrets };
}

/** Bindings whose D1 fails with a text that quotes the mark. */
function failingWith(mark: string) {
  const batch = () => Promise.reject(new Error(`Failed query: insert into leads values (?)\nparams: ${mark}`));
  const failing = { prepare: (text: string) => env.DB.prepare(text), batch };
  return { DB: failing, DB_1: failing };
}

/** A batch of one message, as the platform hands it over. */
function batchOf(queue: string, body: unknown): MessageBatch {
  const message = { id: "m-1", timestamp: new Date(), attempts: 1, body, ack: () => undefined, retry: () => undefined };
  return { queue, messages: [message] } as unknown as MessageBatch;
}

async function talk({ mark, email, workspace, agentId }: Person): Promise<string> {
  const path = `/agents/${agentId}/messages`;
  const user = { id: mark, name: mark, email: email.toUpperCase() };
  const first = await workspace.call("POST", path, { message: `${KNOWN} ${mark}`, user }, { "Idempotency-Key": mark });
  await workspace.call("POST", path, { message: `${KNOWN} ${mark}`, user }, { "Idempotency-Key": mark });
  const id: string = first.body.conversation_id;
  await workspace.call("POST", path, { message: `${KNOWN} ${mark}`, user, conversation_id: id, stream: true });
  await workspace.call("POST", path, { message: `I am ${mark}: a human, please`, user });
  await workspace.call("PATCH", `/conversations/${id}`, { tags: [mark], status: "human_active" });
  await workspace.call("POST", `/conversations/${id}/messages`, { content: `Dear ${mark}`, resolve: true });
  await workspace.call("GET", `/conversations/${id}`);
  return id;
}

/** A visitor who writes, identifies, rates, asks for a human and leaves contact details. */
async function visit({ mark, email, workspace, agentId, secrets }: Person): Promise<void> {
  const visitor = visitorOf(agentId);
  const { body } = await visitor.write({ message: `Hello, ${mark} here` });
  const token = body.visitor_token as string;
  const secret = await newSecret(workspace, agentId);
  const jwt = await signJwt(secret, claimsOf(mark, { name: mark, email }));
  secrets.push(token, secret, jwt);
  await visitor.write({ message: `${KNOWN} ${mark}`, visitor_token: token, identity_token: jwt });
  await visitor.write({ message: KNOWN, user: { id: mark, name: mark, email }, user_hash: await hashOf(secret, mark) });
  await visitor.write({ message: KNOWN, identity_token: `${jwt}${mark}` });
  await visitor.write({ message: KNOWN, visitor_token: mark });
  await visitor.on(token, body.conversation_id, "POST", "handoff");
  await visitor.on(token, body.conversation_id, "POST", "csat", { score: 5, comment: mark });
  await visitor.on(token, body.conversation_id, "GET", "messages");
  const contact = {
    name: mark,
    email,
    phone: mark,
    message: mark,
    custom_fields: { [mark]: mark },
    source_url: `https://${mark}.example.com/`,
  };
  await visitor.send("POST", `/agents/${agentId}/leads`, { ...contact, visitor_token: token });
  await workspace.call("GET", `/leads?q=${mark}`);
}

/** Knowledge that names the person: taught, curated, crawled, searched and failed. */
async function teach({ mark, workspace, agentId }: Person): Promise<void> {
  await learn(workspace, agentId, `# Refunds\n\nRefunds are paid within five working days. Ask ${mark}.`, mark);
  await workspace.call("POST", `/agents/${agentId}/answers`, { question: `Who is ${mark}?`, answer: mark });
  await workspace.call("POST", `/agents/${agentId}/search`, { query: `" ${mark} NEAR(` });
  const host = newHost();
  await behaveAt(host, { status: 200, headers: { "Content-Type": "text/html" }, body: `<title>${mark}</title><p>${mark}</p>` });
  for (const url of [`https://${host}/${mark}?email=${mark}`, `https://${mark}.example.com/`]) {
    const { body } = await workspace.call("POST", `/agents/${agentId}/sources`, { type: "url", name: mark, url });
    const message = { workspaceId: workspace.id, agentId, sourceId: body.id };
    await deliver("support-agent-crawls", message);
    await consume(batchOf("support-agent-crawls", message), envWith(failingWith(mark)));
    await consume(batchOf("support-agent-crawls-dlq", { ...message, name: mark }), env);
  }
}

/** Webhooks whose receiver repeats the mark, fails and is gone; tests, redeliveries and dead letters. */
async function hook({ mark, workspace, secrets }: Person, work: () => Promise<void>): Promise<void> {
  const host = newHost();
  await behaveAt(
    host,
    { status: 200, body: mark },
    { status: 500, body: mark },
    { status: 302, headers: { Location: `https://${mark}/` } },
  );
  const url = `https://${host}/${mark}?token=${mark}`;
  const endpoint = await workspace.call("POST", "/webhooks", { url, events: ["*"], description: mark });
  secrets.push(endpoint.body.secret);
  await work();
  const waiting = await query<{ id: string }>(workspace.id, "SELECT id FROM deliveries WHERE workspace_id = ?", workspace.id);
  expect(waiting.length).toBeGreaterThan(3);
  for (const [at, { id }] of waiting.entries()) {
    await deliver(at % 2 === 0 ? "support-agent-deliveries" : "support-agent-slow-deliveries", { deliveryId: id });
  }
  await deliver("support-agent-deliveries-dlq", { deliveryId: waiting[0]!.id, payload: mark });
  await consume(batchOf("support-agent-deliveries", { deliveryId: waiting[1]!.id }), envWith(failingWith(mark)));
  await workspace.call("POST", `/webhooks/${endpoint.body.id}/test`);
  await workspace.call("POST", `/webhooks/deliveries/${waiting[0]!.id}/redeliver`);
  await workspace.call("GET", `/webhooks/${endpoint.body.id}/deliveries`);
}

/** Mails of the person: taken, of a program, to nobody, refused by the mail service, and met by a database that fails. */
async function mail({ mark, email, workspace, agentId }: Person): Promise<void> {
  const to = `help-${mark}@example.com`;
  await operate("PATCH", `/workspaces/${workspace.id}/agents/${agentId}`, { email_address: to });
  const sent = { to, from: `${mark} <${email}>`, subject: mark, text: `${KNOWN} ${mark}` };
  await receive(sent);
  await receive({ ...sent, headers: { "Auto-Submitted": "auto-replied" } });
  await receive({ ...sent, to: `${mark}@example.com` });
  await receive(sent, { bytes: mark });
  const failed = await receive(sent, { environment: envWith(failingWith(mark)) }).catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(Error);
  expect(String(failed)).not.toContain(mark);
  const { environment } = mailService(() => mark);
  const [waiting] = await outbox({ workspace, agentId, address: to });
  await consume(batchOf("support-agent-email", { messageId: waiting!.message_id }), environment);
  await deliver("support-agent-email-dlq", { messageId: waiting!.message_id, to: email });
}

/** Requests that are refused or fail, with the mark wherever a client can put it. */
async function fail({ mark, email, workspace, agentId }: Person): Promise<void> {
  const token = workspace.key;
  const headers = { ...newAddress(), "User-Agent": mark, Cookie: mark, Referer: `https://${mark}/`, "X-Request-Id": mark };
  await send("GET", `/${mark}?email=${email}`, { token, headers });
  await send("GET", `/api/v1/${mark}`, { token, headers });
  await send("GET", `/api/v1/agents/${mark}?q=${mark}`, { token, headers });
  await send("PATCH", `/api/v1/leads?q=${mark}`, { token, headers });
  await send("GET", "/api/v1/me", { token: `sk_live_${mark}`, headers });
  await send("GET", "/operator/v1/health", { token: mark, headers });
  await send("POST", `/api/v1/agents/${agentId}/messages`, { token, headers, body: `{"message": "${mark}` });
  await send("POST", `/api/v1/agents/${agentId}/messages`, { token, headers, body: { message: 7, user: { id: mark, email: mark } } });
  await send("POST", `/api/v1/agents/${agentId}/messages`, { token, headers: { ...headers, "Content-Type": mark }, body: mark });
  await send("GET", `/api/v1/privacy/visitors?email=${email}&anon_id=${mark}`, { token, headers });
  for (const path of [`/leads?q=${mark}`, `/privacy/visitors?email=${email}`]) {
    const request = new Request(`http://service.test/api/v1${path}`, { headers: { Authorization: `Bearer ${token}`, ...headers } });
    expect((await app.fetch(request, envWith(failingWith(mark)), createExecutionContext())).status).toBe(500);
  }
}

/** Turns whose database or model fails with the mark in its error, until they are given up. */
async function failTurns({ mark, workspace, agentId }: Person, conversationId: string): Promise<void> {
  const session = env.SESSION.getByName(`${workspace.id}/${conversationId}`);
  const ask = () =>
    workspace.call("POST", `/agents/${agentId}/messages`, {
      message: `What is the capital of ${mark}?`,
      conversation_id: conversationId,
      user: { id: mark },
    });
  const runWith = (runner: TurnRunner) => runInDurableObject(session, (live) => void Object.assign(live, { runner }));
  await runWith(new TurnRunner(env, { answer: () => Promise.reject(new Error(`The server said: ${mark}`)) }));
  await ask();
  await runWith(new TurnRunner(envWith(failingWith(mark)), new ExtractiveEngine()));
  await workspace.call("PATCH", `/conversations/${conversationId}`, { status: "open" });
  await ask();
  for (let run = 0; run < 7; run++) await runDurableObjectAlarm(session);
}

/** Finds, exports and erases the person by each of their names; the first attempt dies on its way. */
async function forget({ mark, email, workspace }: Person): Promise<void> {
  for (const name of [`email=${email.toUpperCase()}`, `external_id=${mark}`, `anon_id=api:${mark}`]) {
    await workspace.call("GET", `/privacy/visitors?${name}`);
    await workspace.call("GET", `/privacy/export?${name}`);
    const request = new Request(`http://service.test/api/v1/privacy/visitors?${name}`, {
      method: "DELETE",
      headers: { Authorization: `Bearer ${workspace.key}` },
    });
    expect((await app.fetch(request, envWith({ SESSION: {} }), createExecutionContext())).status).toBe(
      name.startsWith("email") ? 500 : 200,
    );
    await workspace.call("DELETE", `/privacy/visitors?${name}`);
  }
  await sweep(env, Date.now() + 60 * 60_000);
  await sweep(envWith(failingWith(mark)), Date.now());
}

async function end({ mark, workspace }: Person): Promise<void> {
  await operate("GET", `/workspaces/${workspace.id}`);
  await operate("GET", "/health");
  await operate("PATCH", `/workspaces/${workspace.id}`, { name: mark });
  await operate("DELETE", `/workspaces/${workspace.id}`);
  await consume(batchOf("support-agent-erasure", { workspaceId: workspace.id, name: mark }), envWith(failingWith(mark)));
  await deliver("support-agent-erasure-dlq", { workspaceId: workspace.id, name: mark });
  await deliver("support-agent-erasure", { workspaceId: workspace.id });
}

/** The whole life of a workspace, and all that was told of it. */
async function live(): Promise<{ person: Person; watched: Watched }> {
  const person = await createPerson();
  const watched = await watch(async () => {
    await teach(person);
    let conversationId = "";
    await hook(person, async () => {
      conversationId = await talk(person);
      await visit(person);
    });
    await mail(person);
    await fail(person);
    await failTurns(person, conversationId);
    await forget(person);
    await end(person);
  });
  return { person, watched };
}

test("in the whole life of a workspace nothing of a person and no secret is in the log or in the figures", async () => {
  const { person, watched } = await live();
  const told = [...watched.texts, ...watched.points.map((point) => JSON.stringify(point))];
  const leaks = (secret: string) => told.filter((text) => text.toLowerCase().includes(secret.toLowerCase()));
  for (const secret of [person.mark, ...person.secrets]) expect(leaks(secret)).toEqual([]);
  // And it was told of at all: each kind of line, and of failures too.
  const kinds = new Set(watched.lines.map(({ event, operation, job, outcome }) => [event, operation ?? job, outcome === "failed"].join()));
  for (const kind of [
    "request,askAgent,false",
    "request,sendVisitorLead,false",
    "request,erasePerson,false",
    "request,exportPerson,false",
    "failure,findPerson,false",
    "job,turn,false",
    "job,turn,true",
    "job,session_alarm,false",
    "job,crawls,false",
    "job,crawls,true",
    "job,inbound_email,false",
    "job,inbound_email,true",
    "job,email,false",
    "email_refused,,false",
    "job,webhook_attempt,false",
    "job,sweep,false",
    "job,erasure,true",
    "dead_letter,,false",
    "model_failure,,false",
    "database_not_swept,,false",
  ]) {
    expect([...kinds]).toContain(kind);
  }
});
