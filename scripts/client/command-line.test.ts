import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Webhook } from "standardwebhooks";
import { ROOT } from "../shared/cli.ts";
import { freePort, listen } from "../shared/ports.ts";

// The command line against a stand-in of the service. docs/command-line.md tries it against the service itself.

const MAIN = join(ROOT, "client/cli/main.ts");
const AGENT = "/api/v1/agents/a-1";

interface Request {
  route: string;
  body: string;
  headers: IncomingMessage["headers"];
}

type Reply = string | object | ((response: ServerResponse, request: Request) => void);

/** A server that answers each route with its next reply, and with the last one from then on. */
async function serve(routes: Record<string, Reply[]>) {
  const requests: Request[] = [];
  const answer = async (incoming: IncomingMessage, response: ServerResponse) => {
    const body = Buffer.concat(await incoming.toArray()).toString();
    const route = `${incoming.method} ${incoming.url}`;
    const request = { route, body, headers: incoming.headers };
    requests.push(request);
    const replies = routes[route] ?? routes[route.replace(/\?.*/, "")] ?? [refusal(404, "not_found", "There is no such path.")];
    const reply = replies.length > 1 ? replies.shift()! : replies[0]!;
    if (typeof reply === "function") reply(response, request);
    else response.setHeader("Content-Type", "application/json").end(typeof reply === "string" ? reply : JSON.stringify(reply));
  };
  const server = createServer((request, response) => void answer(request, response));
  after(() => server.closeAllConnections());
  after(() => server.close());
  return { url: await listen(server), requests };
}

function refusal(status: number, code: string, message: string, headers: Record<string, string> = {}): Reply {
  return (response) =>
    response
      .writeHead(status, { "Content-Type": "application/json", ...headers })
      .end(JSON.stringify({ error: { code, message, request_id: "r-1" } }));
}

const stream = (...events: [type: string, data: object][]): Reply => {
  return (response) => {
    const text = events.map(([type, data], at) => `id: ${at}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`).join("");
    response.setHeader("Content-Type", "text/event-stream").end(text);
  };
};

/** Starts a command line, with what is piped in. */
function start(args: string[], { url, input = "", ...more }: { url?: string; input?: string } & NodeJS.ProcessEnv) {
  const env = {
    PATH: process.env["PATH"],
    TZ: "UTC",
    ...(url && { SUPPORT_URL: url, SUPPORT_KEY: "sk_live_1", SUPPORT_AGENT: "a-1" }),
    ...more,
  };
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", MAIN, ...args], { env, timeout: 60_000 });
  const output = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output.err += text));
  child.stdin.end(input);
  return { child, output, ended: once(child, "close").then(([code]) => ({ code: code as number | null, ...output })) };
}

const support = (args: string[], options: Parameters<typeof start>[1]) => start(args, options).ended;

const folder = mkdtempSync(join(tmpdir(), "command-line-"));
after(() => rmSync(folder, { recursive: true }));

const ANSWER = {
  conversation_id: "c-1",
  message_id: "m-1",
  answer: "On Mondays.",
  citations: [
    { title: "Parcels", url: "https://shop.example.com/parcels" },
    { title: "Parcels", url: "https://shop.example.com/parcels" },
  ],
  needs_human: false,
  handoff_reason: null,
};
const STREAMED = stream(
  ["start", { conversation_id: "c-1", message_id: "m-1" }],
  ["delta", { text: "On " }],
  ["delta", { text: "Mon\u001b[2Jdays." }],
  ["done", ANSWER],
);

const sourceOf = (status: string, more: object = {}) => ({
  id: "s-1",
  agent_id: "a-1",
  type: "website",
  name: "Help",
  status,
  pages_found: 3,
  pages_indexed: 1,
  pages_failed: 0,
  chunks_count: 2,
  error: null,
  ...more,
});

void test("an answer is printed as it streams, with each source once and without control characters", async () => {
  const { url, requests } = await serve({ [`POST ${AGENT}/messages`]: [STREAMED] });
  assert.deepEqual(await support(["ask", "When do parcels leave?"], { url }), {
    code: 0,
    out: "On Mon[2Jdays.\n\nSources:\n- Parcels (https://shop.example.com/parcels)\n",
    err: "Conversation c-1\n",
  });
  const asked = { message: "When do parcels leave?", conversation_id: null, user: null, client_tools: [] };
  assert.deepEqual(JSON.parse(requests[0]!.body), { ...asked, stream: true });
  assert.equal(requests[0]!.headers.authorization, "Bearer sk_live_1");
});

void test("a question from a pipe is answered as JSON", async () => {
  const { url, requests } = await serve({ [`POST ${AGENT}/messages`]: [ANSWER] });
  const { code, out } = await support(["ask", "-", "--json", "--user", "u-1", "--conversation", "c-1"], { url, input: "When?\n" });
  assert.equal(code, 0);
  assert.deepEqual(JSON.parse(out), ANSWER);
  assert.deepEqual(JSON.parse(requests[0]!.body), { message: "When?", conversation_id: "c-1", user: { id: "u-1" }, client_tools: [] });
});

void test("a chat is one conversation", async () => {
  const { url, requests } = await serve({ [`POST ${AGENT}/messages`]: [STREAMED] });
  const { code, err } = await support(["chat"], { url, input: "When?\n\nAnd on holidays?\n" });
  assert.deepEqual([code, err], [0, "Conversation c-1\n"]);
  const asked = requests.map(({ body }) => JSON.parse(body) as { message: string; conversation_id: string | null });
  assert.deepEqual(
    asked.map(({ message, conversation_id }) => [message, conversation_id]),
    [
      ["When?", null],
      ["And on holidays?", "c-1"],
    ],
  );
});

void test("without an agent's id the only agent is used, and several agents are listed", async () => {
  const agents = (...names: string[]) => ({ data: names.map((name) => ({ id: `a-${name}`, name })), total: names.length });
  const { url, requests } = await serve({
    "GET /api/v1/agents": [agents("1"), agents("1", "2")],
    [`GET ${AGENT}/sources`]: [{ data: [] }],
  });
  const env = { url, SUPPORT_AGENT: "" };
  assert.equal((await support(["sources", "ls"], env)).code, 0);
  assert.equal(requests[1]!.route, `GET ${AGENT}/sources`);
  const { code, err } = await support(["sources", "ls"], env);
  assert.equal(code, 2);
  assert.match(err, /--agent or SUPPORT_AGENT:\n {2}a-1 {2}1\n {2}a-2 {2}2\n/);
});

void test("files, URLs and standard input become sources; one that is refused does not stop the others", async () => {
  writeFileSync(join(folder, "prices.csv"), "a,b\n");
  const { url, requests } = await serve({
    [`POST ${AGENT}/sources/files`]: [sourceOf("pending")],
    [`POST ${AGENT}/sources`]: [refusal(409, "conflict", "It is there already."), sourceOf("pending")],
  });
  const { code, out, err } = await support(
    ["sources", "add", join(folder, "prices.csv"), "https://www.example.com/help", "--metadata", "team=shop=1"],
    { url },
  );
  assert.deepEqual([code, out], [1, "s-1  Help: pending, 1 of 3 pages read\n"]);
  assert.equal(err, "https://www.example.com/help: It is there already.\n1 of 2 failed.\n");
  assert.match(requests[0]!.body, /name="file"; filename="prices.csv"[^]*a,b[^]*{"team":"shop=1"}/);
  assert.deepEqual(JSON.parse(requests[1]!.body), {
    type: "url",
    url: "https://www.example.com/help",
    name: "https://www.example.com/help",
    metadata: { team: "shop=1" },
  });
  await support(["sources", "add", "-", "--name", "Hours"], { url, input: "9 to 5" });
  assert.deepEqual(JSON.parse(requests[2]!.body), { type: "text", name: "Hours", text: "9 to 5", metadata: {} });
});

void test("a source with a key is replaced, and deleted by its key", async () => {
  const byKey = `${AGENT}/sources/by-key/docs%2Fhours.md`;
  const { url, requests } = await serve({
    [`PUT ${byKey}`]: [sourceOf("pending", { type: "text" })],
    [`GET ${AGENT}/sources`]: [{ data: [sourceOf("ready", { key: null, id: "s-0" }), sourceOf("ready", { key: "docs/hours.md" })] }],
    [`DELETE ${AGENT}/sources/s-1`]: [(response) => response.writeHead(204).end()],
  });
  writeFileSync(join(folder, "hours.md"), "9 to 5");
  assert.equal((await support(["sources", "add", "-", "--key", "docs/hours.md"], { url, input: "9 to 5" })).code, 0);
  assert.deepEqual(JSON.parse(requests[0]!.body), { text: "9 to 5", metadata: {} });
  assert.equal((await support(["sources", "add", join(folder, "hours.md"), "--key", "docs/hours.md"], { url })).code, 0);
  assert.match(requests[1]!.body, /name="file"; filename="hours.md"[^]*9 to 5/);
  const removed = await support(["sources", "rm", "--key", "docs/hours.md"], { url });
  assert.deepEqual([removed.code, removed.out, requests.at(-1)!.route], [0, "s-1  deleted\n", `DELETE ${AGENT}/sources/s-1`]);
  const wrong = await support(["sources", "add", "https://www.example.com", "--key", "site"], { url });
  assert.deepEqual([wrong.code, wrong.err], [2, "--key is for files and texts. A URL is read again by its --schedule.\n"]);
});

void test("curated answers and webhook endpoints are added, listed and deleted", async () => {
  const gone: Reply = (response) => response.writeHead(204).end();
  const answer = { id: "q-1", question: "Open?", answer: "From 9 to 5." };
  const hook = { id: "w-1", url: "https://hooks.example.com/", secret: "whsec_1", enabled: true, events: ["*"], last_success_at: null };
  const { url, requests } = await serve({
    [`POST ${AGENT}/answers`]: [answer],
    [`GET ${AGENT}/answers`]: [{ data: [answer], offset: 0, has_more: false }],
    [`DELETE ${AGENT}/answers/q-1`]: [gone],
    "POST /api/v1/webhooks": [hook],
    "GET /api/v1/webhooks": [{ data: [hook] }],
    "DELETE /api/v1/webhooks/w-1": [gone],
    "DELETE /api/v1/webhooks/w-2": [refusal(404, "not_found", "No such webhook.")],
  });
  assert.equal((await support(["answers", "add", "Open?", "-"], { url, input: "From 9 to 5.\n" })).out, "q-1  Open?\n");
  assert.deepEqual(JSON.parse(requests[0]!.body), { question: "Open?", answer: "From 9 to 5." });
  assert.match((await support(["answers", "ls"], { url })).out, /^ID .*\nq-1 {2}Open\? {5}From 9 to 5\.\n$/);
  assert.equal((await support(["answers", "rm", "q-1"], { url })).out, "q-1  deleted\n");
  const added = await support(["webhooks", "add", hook.url, "--events", "lead.created,handoff.created"], { url });
  assert.equal(added.out, `w-1  ${hook.url}\nwhsec_1\n`);
  assert.deepEqual(JSON.parse(requests[3]!.body), { url: hook.url, events: ["lead.created", "handoff.created"] });
  assert.match((await support(["webhooks", "ls"], { url })).out, /w-1 {2}enabled {2}never .*hooks\.example\.com/);
  assert.deepEqual(await support(["webhooks", "rm", "w-2", "w-1"], { url }), {
    code: 1,
    out: "w-1  deleted\n",
    err: "w-2: No such webhook.\n1 of 2 failed.\n",
  });
});

void test("leads are printed as one CSV file, whose parts continue with a cursor", async () => {
  const part = (text: string, next?: string): Reply => {
    return (response) =>
      response.writeHead(200, { "Content-Type": "text/csv; charset=utf-8", ...(next && { "X-Next-Cursor": next }) }).end(text);
  };
  const { url, requests } = await serve({ "GET /api/v1/leads": [part("id,name\r\n1,Ann\r\n", "c-2"), part("2,Bob\r\n")] });
  const { code, out } = await support(["leads", "ls", "--csv", "--q", "shop"], { url });
  assert.deepEqual([code, out], [0, "id,name\r\n1,Ann\r\n2,Bob\r\n"]);
  assert.deepEqual(
    requests.map(({ route, headers }) => [route, headers.accept]),
    [
      ["GET /api/v1/leads?q=shop", "text/csv"],
      ["GET /api/v1/leads?q=shop&cursor=c-2", "text/csv"],
    ],
  );
});

void test("a CSV file has control characters of visitors, but not in a terminal", async () => {
  const csv = "id,name\n1,\u001b]0;owned\u0007\u009b2JAnn\n";
  const { url } = await serve({ "GET /api/v1/leads": [(response) => response.setHeader("Content-Type", "text/csv").end(csv)] });
  const list = ["leads", "ls", "--csv"];
  assert.equal((await support(list, { url })).out, csv);
  const terminal = { NODE_OPTIONS: "--import=data:text/javascript,process.stdout.isTTY=true" };
  assert.equal((await support(list, { url, ...terminal })).out, "id,name\n1,]0;owned2JAnn\n");
});

void test("a member is invited with a role, and the link is printed", async () => {
  const invitation = { url: "https://support.example.com/console/#sign-in=abc", expires_at: "2026-12-05T12:00:00Z" };
  const { url, requests } = await serve({ "POST /api/v1/members": [{ id: "m-1", email: "ada@example.com", invitation }] });
  const invite = ["members", "invite", "ada@example.com"];
  const { code, out, err } = await support([...invite, "--role", "custom", "--scopes", "leads:read,members:read"], { url });
  assert.deepEqual([code, out], [0, `m-1  ada@example.com\n${invitation.url}\n`]);
  assert.match(err, /Send the link to ada@example\.com: it is not shown again/);
  assert.deepEqual(JSON.parse(requests[0]!.body), { email: "ada@example.com", role: "custom", scopes: ["leads:read", "members:read"] });
  assert.equal((await support([...invite, "--role", "boss"], { url })).code, 2);
});

void test("--wait prints the progress of a source, and a source that fails makes the command fail", async () => {
  const failed = sourceOf("failed", { error: { code: "robots", message: "robots.txt forbids it." } });
  const { url } = await serve({
    [`POST ${AGENT}/sources/s-1/sync`]: [sourceOf("pending")],
    [`GET ${AGENT}/sources/s-1`]: [sourceOf("processing"), sourceOf("ready", { pages_indexed: 3 }), failed],
  });
  assert.deepEqual(await support(["sources", "sync", "s-1", "--wait"], { url }), {
    code: 0,
    out: "s-1  Help: ready, 3 of 3 pages read, 2 passages\n",
    err: "Help: pending, 1 of 3 pages read\nHelp: processing, 1 of 3 pages read\n",
  });
  const { code, out } = await support(["sources", "sync", "s-1", "--wait", "--json"], { url });
  assert.deepEqual([code, (JSON.parse(out) as { error: object }).error], [1, failed.error]);
});

void test("conversations are listed up to a limit, one a line", async () => {
  const page = (ids: string[], next_cursor: string | null) => ({
    data: ids.map((id) => ({ id })),
    offset: 0,
    has_more: next_cursor !== null,
    next_cursor,
  });
  const { url, requests } = await serve({ "GET /api/v1/conversations": [page(["c-1", "c-2"], "x"), page(["c-3", "c-4"], "y")] });
  const { out } = await support(["conversations", "ls", "--status", "needs_human", "--limit", "3", "--json"], { url });
  assert.equal(out, '{"id":"c-1"}\n{"id":"c-2"}\n{"id":"c-3"}\n');
  assert.deepEqual(
    requests.map(({ route }) => route),
    ["GET /api/v1/conversations?limit=3&status=needs_human", "GET /api/v1/conversations?limit=3&status=needs_human&cursor=x"],
  );
});

void test("a reply prints the new status of the conversation", async () => {
  const { url, requests } = await serve({ "POST /api/v1/conversations/c-1/messages": [{ conversation_status: "resolved" }] });
  const { out } = await support(["conversations", "reply", "c-1", "On its way.", "--resolve"], { url });
  assert.equal(out, "Replied. The conversation is resolved.\n");
  assert.deepEqual(JSON.parse(requests[0]!.body), { content: "On its way.", resolve: true });
});

void test("an evaluation prints the answers that are wrong, and fails the command below the minimum accuracy", async () => {
  const run = { id: "e-1", agent_id: "a-1", status: "running", cases_count: 2, done_count: 1, right_count: 1, error: null };
  const counts = { wrong_count: 1, refused_count: 0, failed_count: 0 };
  const cases = [
    { verdict: "right", question: "When?", expect: { refusal: false }, answer: "On Mondays." },
    { verdict: "wrong", question: "How much?", expect: { answer_contains: "5 euros" }, answer: "Nothing." },
  ];
  const comparison = { evaluation_id: "e-0", better: 1, worse: 0, same: 1 };
  const result = { ...run, ...counts, status: "completed", cases, metrics: { recall: 0.5 }, comparison };
  const { url, requests } = await serve({
    [`POST ${AGENT}/evaluations`]: [{ ...run, status: "pending" }],
    [`GET ${AGENT}/evaluations`]: [{ data: [run] }, { data: [{ ...run, status: "completed" }] }],
    [`GET ${AGENT}/evaluations/e-1`]: [result],
    [`GET ${AGENT}/evaluations/e-0`]: [result],
  });
  const input = JSON.stringify(cases.map(({ question, expect }) => ({ question, expect })));
  assert.deepEqual(await support(["evals", "run", "-", "--name", "Before", "--compare-to", "e-0"], { url, input }), {
    code: 1,
    out: [
      "wrong: How much?",
      '  expected: {"answer_contains":"5 euros"}',
      "  answered: Nothing.",
      "1 of 2 right, 1 wrong",
      "The expected source is found in 50 % of the cases that name one.",
      "Since e-0: 1 better, 0 worse, 1 the same.",
      "Evaluation e-1\n",
    ].join("\n"),
    err: "1 of 2 questions, 1 right\nFewer than 100 % of the answers are right.\n",
  });
  assert.deepEqual(JSON.parse(requests[1]!.body), { cases: JSON.parse(input) as unknown, name: "Before" });
  writeFileSync(join(folder, "cases.json"), JSON.stringify({ name: "Kept", cases: JSON.parse(input) as unknown }));
  const { code, out } = await support(["evals", "run", join(folder, "cases.json"), "--min-accuracy", "0.5", "--json"], { url });
  assert.deepEqual([code, JSON.parse(out)], [0, result]);
});

void test("an evaluation prints the conversations that are not as expected, with what is missing", async () => {
  const run = { id: "e-1", agent_id: "a-1", status: "completed", cases_count: 1, done_count: 1, right_count: 0, error: null };
  const turn = { visitor: "Where is A1?", answer: "It is shipped.", tool_calls: ['order_status {"order":"A1"}'] };
  const checks = [
    { turn: 0, kind: "said", expected: "shipped", holds: true, reason: null },
    { turn: 1, kind: "said", expected: "tomorrow", holds: false, reason: null },
    { turn: null, kind: "criterion", expected: "It is kind.", holds: false, reason: "It is rude." },
  ];
  const transcript = [turn, { visitor: "When?", answer: "", tool_calls: [] }];
  const judged = {
    verdict: "wrong",
    question: "When?",
    turns: [{ visitor: "Where is A1?" }, { visitor: "When?" }],
    transcript,
    checks,
    end: "all_turns",
  };
  const counts = { wrong_count: 1, refused_count: 0, failed_count: 0 };
  const { url } = await serve({
    [`POST ${AGENT}/evaluations`]: [run],
    [`GET ${AGENT}/evaluations`]: [{ data: [run] }],
    [`GET ${AGENT}/evaluations/e-1`]: [{ ...run, ...counts, cases: [judged], metrics: { recall: null }, comparison: null }],
  });
  const { code, out } = await support(["evals", "run", "-"], { url, input: "[]" });
  assert.equal(code, 1);
  assert.deepEqual(out.split("\n").slice(0, 9), [
    "wrong: Where is A1?",
    "  visitor: Where is A1?",
    '  called: order_status {"order":"A1"}',
    "  agent: It is shipped.",
    "  visitor: When?",
    "  agent: (silent)",
    "  expected in turn 2: said: tomorrow",
    "  expected at the end: criterion: It is kind. (It is rude.)",
    "  ended: all_turns",
  ]);
});

const eventOf = (id: string) => ({ id, type: "lead.created", created_at: "2026-01-31T12:00:00.000Z", data: { name: "Zoë" } });

void test("events are forwarded as they happen, signed like webhooks with the printed secret", { timeout: 60_000 }, async () => {
  const { url, requests } = await serve({
    "GET /api/v1/events?cursor=latest&types=lead.created": [{ data: [], has_more: false, next_cursor: "0" }],
    "GET /api/v1/events?cursor=0&limit=100&types=lead.created": [{ data: [eventOf("1")], has_more: true, next_cursor: "1" }],
    "GET /api/v1/events?cursor=1&limit=100&types=lead.created": [{ data: [eventOf("2")], has_more: false, next_cursor: "2" }],
    "GET /api/v1/events?cursor=2&limit=100&types=lead.created": [refusal(401, "revoked_api_key", "This key was revoked.")],
  });
  const secret = (await support(["events", "listen", "--print-secret"], { url })).out.trim();
  const webhook = new Webhook(secret);
  const handled: unknown[] = [];
  const handle: Reply = (response, { body, headers }) => {
    handled.push(webhook.verify(body, headers as Record<string, string>));
    response.writeHead(204).end();
  };
  const handler = await serve({ "POST /hook": [handle] });
  const { code, out, err } = await support(["events", "listen", "--types", "lead.created", "--forward-to", `${handler.url}/hook`], { url });
  assert.deepEqual(handled, [eventOf("1"), eventOf("2")]);
  assert.match(out, /^2026-01-31 12:00:00 {2}lead\.created {2}1 {2}204 in \d+ ms\n.* {2}2 {2}204 in \d+ ms\n$/);
  assert.ok(err.includes(`signed with ${secret}\n`));
  // What asking again does not mend ends it.
  assert.equal(code, 1);
  assert.match(err, /revoked\. Check SUPPORT_KEY\.\n$/);
  assert.equal(requests.length, 4);
});

void test("listening continues while the handler or the service fails", { timeout: 60_000 }, async () => {
  const { url } = await serve({
    "GET /api/v1/events?cursor=latest": [{ data: [], has_more: false, next_cursor: "0" }],
    "GET /api/v1/events?cursor=0&limit=100": [
      refusal(500, "internal_error", "It failed."),
      { data: [eventOf("1")], has_more: false, next_cursor: "1" },
    ],
    "GET /api/v1/events?cursor=1&limit=100": [refusal(403, "plan_required", "The plan does not include webhooks.")],
  });
  const { code, out, err } = await support(["events", "listen", "--forward-to", `http://127.0.0.1:${await freePort()}/`], { url });
  assert.match(out, /lead\.created {2}1 {2}not delivered: connect ECONNREFUSED/);
  assert.match(err, /It failed\. Request r-1\. Trying again\.\n/);
  assert.deepEqual([code, err.split("\n").at(-2)], [1, "The plan does not include webhooks."]);
});

/** What goes wrong, with the exit code and the words that it ends with. */
const MISTAKES: [what: string, args: string[], env: NodeJS.ProcessEnv, code: number, words: RegExp][] = [
  [
    "a parameter where there is none",
    ["sources", "ls", "mine"],
    {},
    2,
    /sources ls takes no parameter, such as mine\.\nSee: support-agent sources/,
  ],
  ["no key", ["sources", "ls"], { SUPPORT_URL: "http://localhost:8787" }, 2, /SUPPORT_KEY is not set\. .*export SUPPORT_KEY=sk_live_/],
  ["no address", ["ask", "When?"], { SUPPORT_KEY: "sk_live_1" }, 2, /SUPPORT_URL is not set\. Run: export SUPPORT_URL=/],
  ["an address with a path", ["ask", "When?"], { SUPPORT_KEY: "k", SUPPORT_URL: "http://localhost/api" }, 2, /a host without a path/],
  ["no such command", ["sources", "eat"], {}, 2, /There is no command sources eat\. See: support-agent --help/],
  ["no such option", ["ask", "When?", "--loud"], {}, 2, /Unknown option '--loud'\.\nSee: support-agent ask --help/],
  ["a question without quotation marks", ["ask", "When", "then?"], {}, 2, /in quotation marks/],
  [
    "no such file",
    ["sources", "add", "./nothing.pdf"],
    { SUPPORT_URL: "http://localhost:8787", SUPPORT_KEY: "k", SUPPORT_AGENT: "a" },
    2,
    /nothing\.pdf cannot be read: there is no such file/,
  ],
  ["a share that is none", ["evals", "run", "-", "--min-accuracy", "90"], {}, 2, /from 0 to 1, such as 0\.9/],
  ["cases that are no JSON", ["evals", "run", "-"], {}, 2, /What is piped in is not JSON/],
  ["a status that is none", ["conversations", "ls", "--status", "shut"], {}, 2, /--status is one of open, /],
  ["a target that is none", ["events", "listen", "--forward-to", "localhost:3000"], { SUPPORT_KEY: "k" }, 2, /is not a URL such as/],
];

for (const [what, args, env, code, words] of MISTAKES) {
  void test(`${what}: exit code ${code}, and what to do`, async () => {
    const ended = await support(args, env);
    assert.deepEqual([ended.code, ended.out], [code, ""]);
    assert.match(ended.err, words);
  });
}

/** What the service, or something else, answers. */
const REFUSALS: [what: string, reply: Reply, words: RegExp][] = [
  ["a wrong key", refusal(401, "invalid_api_key", "This is not a key."), /^This is not a key\. Check SUPPORT_KEY\.\n$/],
  [
    "a rate limit of the day",
    refusal(429, "rate_limited", "Too many.", { "Retry-After": "7200" }),
    /^Too many\. Try again at \d\d:\d\d:\d\d, in 7200 s\.\n$/,
  ],
  [
    "another server",
    (response) => response.writeHead(404).end("<h1>Not found</h1>"),
    /answered, but not as the service does \(status 404\)\. Check SUPPORT_URL\.\n$/,
  ],
  ["a page instead of JSON", "<h1>Welcome</h1>", /answered, but not as the service does \(JSON was expected\)/],
];

for (const [what, reply, words] of REFUSALS) {
  void test(`${what}: exit code 1, and what to do`, async () => {
    const { url } = await serve({ [`GET ${AGENT}/sources`]: [reply] });
    const ended = await support(["sources", "ls"], { url });
    assert.deepEqual([ended.code, ended.out], [1, ""]);
    assert.match(ended.err, words);
  });
}

void test("every invalid field of a refused request is printed", async () => {
  const detail = [
    { loc: ["body", "url"], msg: "Use https", type: "value_error" },
    { loc: ["body", "name"], msg: "Field required", type: "missing" },
  ];
  const reply: Reply = (response) =>
    response
      .writeHead(422, { "Content-Type": "application/json" })
      .end(JSON.stringify({ detail, error: { code: "validation_error", message: "Not valid." } }));
  const { url } = await serve({ [`POST ${AGENT}/sources`]: [reply] });
  assert.equal((await support(["sources", "add", "http://www.example.com"], { url })).err, "url: Use https\nname: Field required\n");
});

void test("the version is the one of the package", async () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, "client/package.json"), "utf8")) as { version: string };
  assert.equal((await support(["--version"], {})).out, `${version}\n`);
});

void test("every command has help with an example, without a key", async () => {
  const { out, code } = await support(["--help"], {});
  assert.equal(code, 0);
  const commands = [.../^Commands:\n([^]*?)\n\n/m.exec(out)![1]!.matchAll(/^ {2}(\S+(?: \S+)?) {2,}\S/gm)].map(([, name]) => name!);
  assert.ok(commands.length >= 9);
  for (const name of commands) {
    const help = await support([...name.split(" "), "--help"], {});
    assert.equal(help.code, 0);
    assert.match(help.out, new RegExp(`^Usage: support-agent ${name} [^]*^Examples:\n {2}.*support-agent ${name}`, "m"));
  }
  assert.match((await support(["sources"], {})).out, /sources add[^]*sources sync/);
});

void test("many conversations are changed in parts of a hundred, and the exit code says that one was not", async () => {
  const answer: Reply = (response, { body }) => {
    const { ids } = JSON.parse(body) as { ids: string[] };
    const results = ids.map((id) => {
      const found = id !== "c-130";
      return {
        id,
        outcome: found ? "changed" : "not_found",
        previous_status: null,
        status: found ? "resolved" : null,
        tags: found ? ["vip"] : [],
      };
    });
    response.setHeader("Content-Type", "application/json").end(JSON.stringify({ data: results }));
  };
  const { url, requests } = await serve({ "POST /api/v1/conversations/bulk": [answer] });
  const ids = Array.from({ length: 131 }, (_, at) => `c-${at}`);
  const { code, out, err } = await support(["conversations", "update", ...ids, "--status", "resolved", "--tag", "vip", "--untag", "new"], {
    url,
  });
  assert.equal(code, 1);
  assert.match(out, /^c-0\s+changed\s+resolved\s+vip$/m);
  assert.match(err, /1 of 131 could not be changed/);
  const bodies = requests.map(({ body }) => JSON.parse(body) as { ids: string[] });
  assert.deepEqual(
    bodies.map((body) => body.ids.length),
    [100, 31],
  );
  assert.deepEqual({ ...bodies[1], ids: [] }, { ids: [], status: "resolved", add_tags: ["vip"], remove_tags: ["new"] });
  assert.equal((await support(["conversations", "update", "c-1", "--status", "ai_handled"], { url })).code, 2);
  assert.equal((await support(["conversations", "update", "--status", "resolved"], { url })).code, 2);
});
