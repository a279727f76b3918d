import { createExecutionContext } from "cloudflare:test";
import { env, withEnv } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { app } from "../../../src/app.ts";
import { readJson } from "../../../src/platform/http/body.ts";
import { createAgent, createWorkspace, envWith, newAddress, send, type Workspace } from "../../harness.ts";
import {
  above,
  below,
  type Item,
  missing,
  notBoolean,
  notEmail,
  notInteger,
  notJson,
  notList,
  notObject,
  notOneOf,
  notString,
  notUuid,
  tooFew,
  tooLong,
  tooMany,
  tooShort,
  unparsedInteger,
  wrong,
} from "./items.ts";

/** A bad request and all that is wrong with it. `:agent` and `:workspace` in the path stand for the test's own. */
interface BadInput {
  operation: string;
  body?: unknown;
  headers?: Record<string, string>;
  detail: Item[];
}

const LIST = "GET /api/v1/agents";
const ASK = "POST /api/v1/agents/:agent/messages";
const ADD_SOURCE = "POST /api/v1/agents/:agent/sources";
const ADD_ANSWER = "POST /api/v1/agents/:agent/answers";
const SEARCH = "POST /api/v1/agents/:agent/search";
const ADD_WORKSPACE = "POST /operator/v1/workspaces";
const CHANGE_WORKSPACE = "PATCH /operator/v1/workspaces/:workspace";
const ADD_KEY = "POST /operator/v1/workspaces/:workspace/keys";
const ADD_AGENT = "POST /operator/v1/workspaces/:workspace/agents";

const TYPES = "'website', 'url' or 'text'";
const SCHEDULES = "'manual', 'daily' or 'weekly'";
const PLANS = "'free', 'starter', 'pro' or 'enterprise'";
const SCOPES =
  "'agents:read', 'agents:write', 'chat:write', 'conversations:read', 'conversations:write', 'leads:read', 'knowledge:read', 'knowledge:write', " +
  "'analytics:read', 'webhooks:read', 'webhooks:write', 'privacy:read', 'privacy:write', 'keys:write', 'members:read', 'members:write' or '*'";
const NO_AT = "an email address must have an @-sign";
const NO_PARTS = "check the part before and after the @-sign";
const SLUG_RULE = "use small letters, digits and single hyphens between them";
const UNSEEN = "write something that can be seen";
const SEND_JSON = "send the body as JSON, with Content-Type: application/json";
const DIGITS = "9".repeat(30);
const MANY_DIGITS = "9".repeat(400);
const emoji = (count: number) => "😀".repeat(count);

const noAgentRef = (input: string) => wrong("path.agent_id", input, "write the id or slug of an agent");

const text = (fields: object) => ({ type: "text", name: "Handbook", text: "Refunds take five days.", ...fields });

const QUERIES: BadInput[] = [
  { operation: `${LIST}?limit=`, detail: [unparsedInteger("query.limit", "")] },
  { operation: `${LIST}?limit`, detail: [unparsedInteger("query.limit", "")] },
  { operation: `${LIST}?limit=0x10`, detail: [unparsedInteger("query.limit", "0x10")] },
  { operation: `${LIST}?limit=1e1`, detail: [unparsedInteger("query.limit", "1e1")] },
  { operation: `${LIST}?limit=1.5`, detail: [unparsedInteger("query.limit", "1.5")] },
  { operation: `${LIST}?limit=1_0`, detail: [unparsedInteger("query.limit", "1_0")] },
  { operation: `${LIST}?limit=%D9%A3`, detail: [unparsedInteger("query.limit", "٣")] },
  { operation: `${LIST}?limit=%205`, detail: [unparsedInteger("query.limit", " 5")] },
  { operation: `${LIST}?limit=5%0A`, detail: [unparsedInteger("query.limit", "5\n")] },
  {
    operation: `${LIST}?limit=5&offset=0&limit=6`,
    detail: [wrong("query.limit", ["5", "6"], "give this parameter once")],
  },
  {
    operation: "DELETE /api/v1/privacy/visitors?email=a@b.example&email=c@d.example",
    detail: [wrong("query.email", ["a@b.example", "c@d.example"], "give this parameter once")],
  },
  {
    operation: "DELETE /api/v1/privacy/visitors?email=ada+shop@b.example",
    detail: [wrong("query.email", "ada shop@b.example", "an address has no spaces: write a plus sign as %2B")],
  },
  { operation: `${LIST}?limit=NaN`, detail: [unparsedInteger("query.limit", "NaN")] },
  { operation: `${LIST}?limit=Infinity`, detail: [unparsedInteger("query.limit", "Infinity")] },
  { operation: `${LIST}?limit=--1`, detail: [unparsedInteger("query.limit", "--1")] },
  { operation: `${LIST}?limit=true`, detail: [unparsedInteger("query.limit", "true")] },
  { operation: `${LIST}?limit=null`, detail: [unparsedInteger("query.limit", "null")] },
  { operation: `${LIST}?limit=0`, detail: [below("query.limit", "0", 1)] },
  { operation: `${LIST}?limit=-1`, detail: [below("query.limit", "-1", 1)] },
  { operation: `${LIST}?limit=101`, detail: [above("query.limit", "101", 100)] },
  { operation: `${LIST}?limit=${DIGITS}`, detail: [above("query.limit", DIGITS, 100)] },
  { operation: `${LIST}?limit=${MANY_DIGITS}`, detail: [above("query.limit", MANY_DIGITS, 100)] },
  { operation: `${LIST}?limit=-${MANY_DIGITS}`, detail: [below("query.limit", `-${MANY_DIGITS}`, 1)] },
  { operation: `${LIST}?offset=-1`, detail: [below("query.offset", "-1", 0)] },
  { operation: `${LIST}?offset=x`, detail: [unparsedInteger("query.offset", "x")] },
  { operation: `${LIST}?offset=${DIGITS}`, detail: [above("query.offset", DIGITS, 100_000)] },
  { operation: `${LIST}?limit=0&offset=-1`, detail: [below("query.limit", "0", 1), below("query.offset", "-1", 0)] },
];

const PATHS: BadInput[] = [
  { operation: "GET /api/v1/agents/Nope", detail: [noAgentRef("Nope")] },
  { operation: "GET /api/v1/agents/%ff", detail: [noAgentRef("%ff")] },
  { operation: "GET /api/v1/agents/%27--", detail: [noAgentRef("'--")] },
  { operation: `GET /api/v1/agents/${"a".repeat(64)}`, detail: [noAgentRef("a".repeat(64))] },
  { operation: "GET /api/v1/conversations/x", detail: [notUuid("path.conversation_id", "x")] },
  {
    operation: "DELETE /api/v1/agents/A/sources/b",
    detail: [noAgentRef("A"), notUuid("path.source_id", "b")],
  },
  {
    operation: "DELETE /api/v1/agents/A/answers/b",
    detail: [noAgentRef("A"), notUuid("path.answer_id", "b")],
  },
];

const BODIES: BadInput[] = [
  { operation: ASK, detail: [missing("body", null)] },
  { operation: ASK, body: "", detail: [missing("body", null)] },
  { operation: ASK, body: null, detail: [notObject("body", null)] },
  { operation: ASK, body: [], detail: [notObject("body", [])] },
  { operation: ASK, body: [{ message: "Hi" }], detail: [notObject("body", [{ message: "Hi" }])] },
  { operation: ASK, body: '"Hi"', detail: [notObject("body", "Hi")] },
  { operation: ASK, body: "5", detail: [notObject("body", 5)] },
  { operation: ASK, body: "true", detail: [notObject("body", true)] },
  { operation: ASK, body: "   ", detail: [notJson(3)] },
  { operation: ASK, body: "{", detail: [notJson(1)] },
  { operation: ASK, body: '{"message":"Hi",}', detail: [notJson(16)] },
  { operation: ASK, body: "{'message':'Hi'}", detail: [notJson(1)] },
  { operation: ASK, body: '{"message":"a\nb"}', detail: [notJson(13)] },
  { operation: ASK, body: '{"message":"Hi"}}', detail: [notJson(16)] },
  // Nothing of the body may be taken for the parser's own words.
  { operation: ASK, body: "position 777", detail: [notJson(0)] },
  { operation: ASK, body: "message=Hi", detail: [notJson(0)] },
  { operation: ASK, body: new Uint8Array([0x22, 0xff, 0xfe, 0x22]), detail: [notJson(0, "the body is not valid UTF-8")] },
  // A surrogate half in UTF-8's form is not UTF-8.
  { operation: ASK, body: new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22]), detail: [notJson(0, "the body is not valid UTF-8")] },
  // The first bytes of gzip.
  {
    operation: ASK,
    body: new Uint8Array([0x1f, 0x8b, 0x08, 0x00]),
    headers: { "Content-Encoding": "gzip" },
    detail: [notJson(0, "the body is not valid UTF-8: send it without Content-Encoding")],
  },
  { operation: ASK, body: { message: "Hi" }, headers: { "Content-Type": "text/plain" }, detail: [notJson(0, SEND_JSON)] },
  { operation: ASK, body: { message: "Hi" }, headers: { "Content-Type": "" }, detail: [notJson(0, SEND_JSON)] },
  { operation: ASK, body: { message: "Hi" }, headers: { "Content-Type": "application/jsonp" }, detail: [notJson(0, SEND_JSON)] },
  {
    operation: ASK,
    body: "message=Hi",
    headers: { "Content-Type": "application/x-www-form-urlencoded" },
    detail: [notJson(0, SEND_JSON)],
  },
  { operation: ADD_ANSWER, body: '"Hi"', headers: { "Content-Type": "text/json" }, detail: [notJson(0, SEND_JSON)] },
];

const CHAT: BadInput[] = [
  { operation: ASK, body: {}, detail: [missing("body.message", {})] },
  { operation: ASK, body: { message: null }, detail: [notString("body.message", null)] },
  { operation: ASK, body: { message: 5 }, detail: [notString("body.message", 5)] },
  { operation: ASK, body: { message: ["Hi"] }, detail: [notString("body.message", ["Hi"])] },
  { operation: ASK, body: { message: "" }, detail: [tooShort("body.message", "", 1)] },
  { operation: ASK, body: { message: "x".repeat(2001) }, detail: [tooLong("body.message", "x".repeat(2001), 2000)] },
  { operation: ASK, body: { message: emoji(2001) }, detail: [tooLong("body.message", emoji(2001), 2000)] },
  { operation: ASK, body: { message: "Hi", conversation_id: "x" }, detail: [notUuid("body.conversation_id", "x")] },
  { operation: ASK, body: { message: "Hi", conversation_id: "" }, detail: [notUuid("body.conversation_id", "")] },
  { operation: ASK, body: { message: "Hi", stream: "yes" }, detail: [notBoolean("body.stream", "yes")] },
  { operation: ASK, body: { message: "Hi", stream: null }, detail: [notBoolean("body.stream", null)] },
  { operation: ASK, body: { message: "Hi", stream: 1 }, detail: [notBoolean("body.stream", 1)] },
  { operation: ASK, body: { message: "Hi", user: "me" }, detail: [notObject("body.user", "me")] },
  { operation: ASK, body: { message: "Hi", user: [] }, detail: [notObject("body.user", [])] },
  { operation: ASK, body: { message: "Hi", user: {} }, detail: [missing("body.user.id", {})] },
  { operation: ASK, body: { message: "Hi", user: { id: "" } }, detail: [tooShort("body.user.id", "", 1)] },
  { operation: ASK, body: { message: "Hi", user: { id: emoji(129) } }, detail: [tooLong("body.user.id", emoji(129), 128)] },
  { operation: ASK, body: { message: "Hi", user: { id: 7 } }, detail: [notString("body.user.id", 7)] },
  { operation: ASK, body: { message: "Hi", user: { id: "u", name: emoji(121) } }, detail: [tooLong("body.user.name", emoji(121), 120)] },
  { operation: ASK, body: { message: "Hi", user: { id: "u", email: "ada" } }, detail: [notEmail("body.user.email", "ada", NO_AT)] },
  { operation: ASK, body: { message: "Hi", user: { id: "u", email: "ada@" } }, detail: [notEmail("body.user.email", "ada@", NO_PARTS)] },
  { operation: ASK, body: { message: "Hi", user: { id: "u", email: 5 } }, detail: [notString("body.user.email", 5)] },
  // Prototypes are nobody's fields.
  {
    operation: ASK,
    body: '{"__proto__":{"message":"Hi"}}',
    detail: [missing("body.message", JSON.parse('{"__proto__":{"message":"Hi"}}'))],
  },
  {
    operation: ASK,
    body: '{"message":"Hi","user":{"__proto__":{"id":"u"}}}',
    detail: [missing("body.user.id", JSON.parse('{"__proto__":{"id":"u"}}'))],
  },
  {
    operation: ASK,
    body: { message: "", conversation_id: "x", user: { id: "", name: 5, email: "x" }, stream: 0 },
    detail: [
      tooShort("body.message", "", 1),
      notUuid("body.conversation_id", "x"),
      tooShort("body.user.id", "", 1),
      notString("body.user.name", 5),
      notEmail("body.user.email", "x", NO_AT),
      notBoolean("body.stream", 0),
    ],
  },
];

const KNOWLEDGE: BadInput[] = [
  { operation: ADD_SOURCE, body: {}, detail: [missing("body.type", {}), missing("body.name", {})] },
  { operation: ADD_SOURCE, body: { type: "pdf", name: "x" }, detail: [notOneOf("body.type", "pdf", TYPES)] },
  { operation: ADD_SOURCE, body: text({ type: 5 }), detail: [notOneOf("body.type", 5, TYPES)] },
  { operation: ADD_SOURCE, body: text({ name: "" }), detail: [tooShort("body.name", "", 1)] },
  { operation: ADD_SOURCE, body: text({ name: emoji(301) }), detail: [tooLong("body.name", emoji(301), 300)] },
  { operation: ADD_SOURCE, body: text({ text: "" }), detail: [tooShort("body.text", "", 1)] },
  { operation: ADD_SOURCE, body: text({ text: 5 }), detail: [notString("body.text", 5)] },
  { operation: ADD_SOURCE, body: text({ text: null }), detail: [missing("body.text", text({ text: null }))] },
  { operation: ADD_SOURCE, body: { type: "text", name: "x" }, detail: [missing("body.text", { type: "text", name: "x" })] },
  { operation: ADD_SOURCE, body: text({ schedule: "hourly" }), detail: [notOneOf("body.schedule", "hourly", SCHEDULES)] },
  { operation: ADD_SOURCE, body: text({ schedule: null }), detail: [notOneOf("body.schedule", null, SCHEDULES)] },
  { operation: ADD_SOURCE, body: text({ max_pages: 0 }), detail: [below("body.max_pages", 0, 1)] },
  { operation: ADD_SOURCE, body: text({ max_pages: 10_001 }), detail: [above("body.max_pages", 10_001, 10_000)] },
  { operation: ADD_SOURCE, body: text({ max_pages: 1e20 }), detail: [above("body.max_pages", 1e20, 10_000)] },
  { operation: ADD_SOURCE, body: text({ max_pages: -1e20 }), detail: [below("body.max_pages", -1e20, 1)] },
  { operation: ADD_SOURCE, body: text({ max_pages: 1.5 }), detail: [notInteger("body.max_pages", 1.5)] },
  { operation: ADD_SOURCE, body: text({ max_pages: "100" }), detail: [notInteger("body.max_pages", "100")] },
  { operation: ADD_SOURCE, body: text({ max_pages: null }), detail: [notInteger("body.max_pages", null)] },
  { operation: ADD_SOURCE, body: text({ max_pages: true }), detail: [notInteger("body.max_pages", true)] },
  { operation: ADD_SOURCE, body: text({ url: 5 }), detail: [notString("body.url", 5)] },
  {
    operation: ADD_SOURCE,
    body: { type: "url", name: "x", url: `https://example.com/${"x".repeat(2000)}` },
    detail: [tooLong("body.url", `https://example.com/${"x".repeat(2000)}`, 2000)],
  },
  { operation: ADD_SOURCE, body: text({ type: "url", url: null }), detail: [missing("body.url", text({ type: "url", url: null }))] },
  { operation: ADD_SOURCE, body: text({ type: "website" }), detail: [missing("body.url", text({ type: "website" }))] },
  {
    operation: ADD_SOURCE,
    body: { type: "text", name: "", max_pages: 0, schedule: "hourly" },
    detail: [
      tooShort("body.name", "", 1),
      below("body.max_pages", 0, 1),
      notOneOf("body.schedule", "hourly", SCHEDULES),
      missing("body.text", { type: "text", name: "", max_pages: 0, schedule: "hourly" }),
    ],
  },
  {
    operation: ADD_SOURCE,
    body: { type: "website" },
    detail: [missing("body.name", { type: "website" }), missing("body.url", { type: "website" })],
  },
  {
    operation: "POST /api/v1/agents/X/sources",
    body: { type: "url", name: "", url: "http://localhost/" },
    detail: [
      noAgentRef("X"),
      tooShort("body.name", "", 1),
      wrong(
        "body.url",
        "http://localhost/",
        "this url cannot be read: its host is a single name; to reach your own machine, run: npm run dev -- --var ALLOW_PRIVATE_TARGETS:true",
      ),
    ],
  },
  {
    operation: ADD_ANSWER,
    body: { question: "", answer: "" },
    detail: [tooShort("body.question", "", 1), tooShort("body.answer", "", 1)],
  },
  { operation: ADD_ANSWER, body: { question: "Q", answer: emoji(8001) }, detail: [tooLong("body.answer", emoji(8001), 8000)] },
  { operation: ADD_ANSWER, body: { question: emoji(2001), answer: "A" }, detail: [tooLong("body.question", emoji(2001), 2000)] },
  { operation: ADD_ANSWER, body: { question: "Q" }, detail: [missing("body.answer", { question: "Q" })] },
  { operation: SEARCH, body: {}, detail: [missing("body.query", {})] },
  { operation: SEARCH, body: { query: "q", limit: 0 }, detail: [below("body.limit", 0, 1)] },
  { operation: SEARCH, body: { query: "q", limit: 51 }, detail: [above("body.limit", 51, 50)] },
  { operation: SEARCH, body: { query: 5, limit: "5" }, detail: [notString("body.query", 5), notInteger("body.limit", "5")] },
  { operation: SEARCH, body: { query: emoji(2001) }, detail: [tooLong("body.query", emoji(2001), 2000)] },
];

const TARGETS: BadInput[] = [
  { operation: "POST /api/v1/agents/X/messages", body: {}, detail: [noAgentRef("X"), missing("body.message", {})] },
  { operation: "POST /api/v1/agents/X/messages", body: "{", detail: [noAgentRef("X"), notJson(1)] },
  { operation: "POST /api/v1/agents/X/messages", detail: [noAgentRef("X"), missing("body", null)] },
  {
    operation: "GET /api/v1/agents/X/answers?limit=0&offset=a",
    detail: [noAgentRef("X"), below("query.limit", "0", 1), unparsedInteger("query.offset", "a")],
  },
];

const OPERATOR: BadInput[] = [
  {
    operation: ADD_WORKSPACE,
    body: { name: "", slug: "A b", plan: "gold" },
    detail: [tooShort("body.name", "", 1), wrong("body.slug", "A b", SLUG_RULE), notOneOf("body.plan", "gold", PLANS)],
  },
  {
    operation: "PATCH /api/v1/agents/:agent",
    body: { appearance: { accent: "red" }, contact_form: { fields: [{ name: "Email", label: "Email" }, { name: "email" }] } },
    detail: [
      wrong("body.appearance.accent", "red", "use a colour such as #3538cd"),
      wrong("body.contact_form.fields.0.name", "Email", "use up to 64 small letters, digits and underscores, a letter first"),
    ],
  },
  {
    operation: ADD_ANSWER,
    body: { question: "\n", answer: " " },
    detail: [wrong("body.question", "\n", UNSEEN), wrong("body.answer", " ", UNSEEN)],
  },
  { operation: ADD_WORKSPACE, body: { name: " \u200b\0", slug: "a" }, detail: [wrong("body.name", " \u200b\0", UNSEEN)] },
  { operation: ADD_WORKSPACE, body: { name: "x", slug: "a--b" }, detail: [wrong("body.slug", "a--b", SLUG_RULE)] },
  { operation: ADD_WORKSPACE, body: { name: "x", slug: "-a" }, detail: [wrong("body.slug", "-a", SLUG_RULE)] },
  { operation: ADD_WORKSPACE, body: { name: "x", slug: "é" }, detail: [wrong("body.slug", "é", SLUG_RULE)] },
  { operation: ADD_WORKSPACE, body: { name: "x", slug: "a".repeat(64) }, detail: [tooLong("body.slug", "a".repeat(64), 63)] },
  { operation: ADD_WORKSPACE, body: { slug: "a" }, detail: [missing("body.name", { slug: "a" })] },
  { operation: CHANGE_WORKSPACE, body: { limits: [] }, detail: [notObject("body.limits", [])] },
  { operation: CHANGE_WORKSPACE, body: { limits: { agents: -1 } }, detail: [below("body.limits.agents", -1, 0)] },
  { operation: CHANGE_WORKSPACE, body: { limits: { messages: "5" } }, detail: [notInteger("body.limits.messages", "5")] },
  { operation: CHANGE_WORKSPACE, body: { limits: { webhooks: 1 } }, detail: [notBoolean("body.limits.webhooks", 1)] },
  { operation: CHANGE_WORKSPACE, body: { name: null }, detail: [notString("body.name", null)] },
  { operation: ADD_KEY, body: { name: "x", scopes: [] }, detail: [tooFew("body.scopes", [], 1)] },
  {
    operation: ADD_KEY,
    body: { name: "x", scopes: Array(17).fill("agents:read") },
    detail: [tooMany("body.scopes", Array(17).fill("agents:read"), 16)],
  },
  { operation: ADD_KEY, body: { name: "x", scopes: "*" }, detail: [notList("body.scopes", "*")] },
  {
    operation: ADD_KEY,
    body: { name: "x", scopes: ["agents:read", "admin", 5] },
    detail: [notOneOf("body.scopes.1", "admin", SCOPES), notOneOf("body.scopes.2", 5, SCOPES)],
  },
  { operation: ADD_KEY, body: { scopes: ["*"] }, detail: [missing("body.name", { scopes: ["*"] })] },
  { operation: ADD_AGENT, body: {}, detail: [missing("body.name", {})] },
  {
    operation: ADD_AGENT,
    body: { name: "x", confidence_threshold: 2, inactivity_minutes: 0, status: "on", language: "e" },
    detail: [
      tooShort("body.language", "e", 2),
      below("body.inactivity_minutes", 0, 1),
      notOneOf("body.status", "on", "'active' or 'paused'"),
      wrong("body.confidence_threshold", 2, "use a number from 0 to 1"),
    ],
  },
  {
    operation: ADD_AGENT,
    body: { name: "x", allowed_origins: ["https://a.example", "https://a.example/path", "*", "https://*.a.example"] },
    detail: [
      wrong("body.allowed_origins.1", "https://a.example/path", "use an origin such as https://www.example.com, or *"),
      wrong("body.allowed_origins.3", "https://*.a.example", "use an origin such as https://www.example.com, or *"),
    ],
  },
  { operation: ADD_AGENT, body: { name: "x", email_address: "x" }, detail: [notEmail("body.email_address", "x", NO_AT)] },
  {
    operation: "PATCH /operator/v1/workspaces/x/agents/y",
    body: { name: "" },
    detail: [notUuid("path.workspace_id", "x"), notUuid("path.agent_id", "y"), tooShort("body.name", "", 1)],
  },
];

/** Invalid requests change nothing, so that one workspace is enough for all of them. */
let refusing: Promise<{ workspace: Workspace; agent: { id: string } }> | undefined;

function refusingWorkspace() {
  refusing ??= createWorkspace().then(async (workspace) => ({ workspace, agent: await createAgent(workspace) }));
  return refusing;
}

async function sendBad({ operation, body, headers }: BadInput) {
  const { workspace, agent } = await refusingWorkspace();
  const [method, path] = operation.split(/ (.*)/s) as [string, string];
  const token = path.startsWith("/operator") ? env.OPERATOR_TOKEN : workspace.key;
  const at = path.replace(":agent", agent.id).replace(":workspace", workspace.id);
  return send(method, at, { token, body: body === null ? "null" : body, ...(headers && { headers }) });
}

describe.each(Object.entries({ QUERIES, PATHS, BODIES, CHAT, KNOWLEDGE, TARGETS, OPERATOR }))("%s", (_, inputs) => {
  test.each(inputs.map((input) => [nameOf(input), input] as const))("%s", async (_, input) => {
    const answer = await sendBad(input);
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toEqual(input.detail);
    expect(Object.keys(answer.body).sort()).toEqual(["detail", "error"]);
    expect(answer.body.error).toEqual({
      code: "validation_error",
      message: expect.stringMatching(/detail/),
      request_id: answer.headers.get("X-Request-Id"),
    });
  });
});

function nameOf({ operation, body, headers }: BadInput): string {
  const shown = body === undefined ? "without a body" : typeof body === "string" ? body : JSON.stringify(body);
  const name = `${operation} ${headers ? JSON.stringify(headers) : ""} ${shown}`;
  return name.slice(0, 120).toWellFormed();
}

const HINT = "; to reach your own machine, run: npm run dev -- --var ALLOW_PRIVATE_TARGETS:true";

describe("URLs that no source may have", () => {
  const IP = "its host is an IP address";
  const SINGLE = "its host is a single name";
  const USER = "it carries a user name or password";
  const PORT = "its port is not one of 80, 443, 8443";
  const UNUSUAL = "its host or port is written in an unusual way";
  const RAW = "it holds white space, a control character or a backslash";
  const SCHEME = "its scheme is not https or http";
  const INCOMPLETE = "it is not a complete URL such as https://www.example.com/";
  /** The problems of URLs that a developer may allow on their machine. */
  const isPrivate = (problem: string) => [IP, SINGLE].includes(problem) || problem.endsWith("which is not public");
  const reserved = (suffix: string) => `its host ends in .${suffix}, which is not public`;

  test.each([
    ["http://127.0.0.1/", IP],
    ["https://10.0.0.1/", IP],
    ["https://93.184.216.34/", IP],
    ["http://2130706433/", IP],
    ["http://0x7f000001/", IP],
    ["http://0177.0.0.1/", IP],
    ["http://127.1/", IP],
    ["http://127.0.0.1./", IP],
    ["http://１２７.０.０.１/", IP],
    ["http://%31%32%37.0.0.1/", UNUSUAL],
    ["http://[::1]/", IP],
    ["http://[::ffff:127.0.0.1]/", IP],
    ["http://169.254.169.254/latest/meta-data/", IP],
    ["https://localhost/", SINGLE],
    ["http://localhost:3000/", SINGLE],
    ["https://LOCALHOST./", SINGLE],
    ["https://intranet/", SINGLE],
    ["https://user:password@www.example.com/", USER],
    ["https://user@www.example.com/", USER],
    ["https://:password@www.example.com/", USER],
    ["https://app.localhost/", reserved("localhost")],
    ["https://printer.local/", reserved("local")],
    ["https://metadata.google.internal/", reserved("internal")],
    ["https://WIKI.INTRANET/", reserved("intranet")],
    ["https://router.lan/", reserved("lan")],
    ["https://nas.home/", reserved("home")],
    ["https://mail.corp/", reserved("corp")],
    ["https://x.private/", reserved("private")],
    ["https://router.home.arpa/", reserved("home.arpa")],
    ["https://1.0.0.127.in-addr.arpa/", reserved("arpa")],
    ["https://x.invalid/", reserved("invalid")],
    ["https://x.test/", reserved("test")],
    ["https://abc.onion/", reserved("onion")],
    ["https://db.internal./", reserved("internal")],
    ["https://www.example.com:22/", PORT],
    ["https://www.example.com:8080/", PORT],
    ["http://www.example.com:6379/", PORT],
    ["https://www.example.com\\@127.0.0.1/", RAW],
    ["https:\\\\www.example.com/", RAW],
    [" https://www.example.com/", RAW],
    ["https://www.example.com/a b", RAW],
    ["https://www.example.com/\n", RAW],
    ["https://www.exam\tple.com/", RAW],
    ["https://www.example.com/\u0000", RAW],
    ["ftp://www.example.com/", SCHEME],
    ["javascript://www.example.com/%0aalert(1)", SCHEME],
    ["file:///etc/passwd", INCOMPLETE],
    ["www.example.com", INCOMPLETE],
    ["//www.example.com/", INCOMPLETE],
    ["https:www.example.com", INCOMPLETE],
    ["https:///www.example.com/", INCOMPLETE],
    ["https://", INCOMPLETE],
    ["data:text/html,x", INCOMPLETE],
    ["", INCOMPLETE],
  ])("%j", async (url, problem) => {
    const { workspace, agent } = await refusingWorkspace();
    for (const type of ["url", "website"]) {
      const answer = await workspace.call("POST", `/agents/${agent.id}/sources`, { type, name: "Site", url });
      expect(answer.status).toBe(422);
      expect(answer.body.detail).toEqual([wrong("body.url", url, `this url cannot be read: ${problem}${isPrivate(problem) ? HINT : ""}`)]);
    }
    const listed = await workspace.call("GET", `/agents/${agent.id}/sources`);
    expect(listed.body.total).toBe(0);
  });

  test.each([
    "https://www.example.com/",
    "http://www.example.com",
    "HTTPS://WWW.EXAMPLE.COM/",
    "https://www.example.com:443/",
    "https://www.example.com:8443/docs?q=1#top",
    "http://www.example.com:80/",
    "https://www.example.com./",
    "https://bücher.example.com/",
    "https://local.example.com/",
    "https://mylocal.com/",
  ])("%j is none of them", async (url) => {
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace);
    const answer = await workspace.call("POST", `/agents/${agent.id}/sources`, { type: "url", name: "Site", url });
    expect(answer.status).toBe(202);
    expect(answer.body).toMatchObject({ type: "url", url, status: "pending" });
  });

  test("ALLOW_PRIVATE_TARGETS allows private hosts, but no other scheme and no password", async () => {
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace);
    const permissive = envWith({ ALLOW_PRIVATE_TARGETS: "true" });
    const add = (url: string) =>
      withEnv(permissive, async () => {
        const body = JSON.stringify({ type: "url", name: "Site", url });
        const headers = { Authorization: `Bearer ${workspace.key}`, "Content-Type": "application/json" };
        const request = new Request(`http://service.test/api/v1/agents/${agent.id}/sources`, { method: "POST", headers, body });
        return (await app.fetch(request, permissive, createExecutionContext())).status;
      });
    expect(await add("http://localhost:3000/")).toBe(202);
    expect(await add("http://127.0.0.1:9999/")).toBe(202);
    expect(await add("http://user@localhost:3000/")).toBe(422);
    expect(await add("ftp://localhost/")).toBe(422);
    expect(await add("http://localhost\\@x/")).toBe(422);
  });
});

describe("valid inputs", () => {
  test("lengths count code points, so 2,000 emoji are 2,000 characters", async () => {
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace);
    const path = `/agents/${agent.id}`;
    const user = { id: emoji(128), name: emoji(120) };
    expect((await workspace.call("POST", `${path}/messages`, { message: emoji(2000), user })).status).toBe(200);
    const answer = await workspace.call("POST", `${path}/answers`, { question: emoji(2000), answer: emoji(8000) });
    expect(answer.status).toBe(201);
    expect(answer.body.answer).toBe(emoji(8000));
    const source = await workspace.call("POST", `${path}/sources`, text({ name: emoji(300), max_pages: 10_000 }));
    expect(source.status).toBe(202);
    expect(source.body.name).toBe(emoji(300));
    expect((await workspace.call("POST", `${path}/search`, { query: emoji(2000), limit: 50 })).status).toBe(200);
  });

  test("unknown fields, __proto__ and constructor among them, are ignored", async () => {
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace);
    const body = '{"question":"Q","answer":"A","__proto__":{"question":5},"constructor":{"prototype":1},"id":"mine","extra":[1]}';
    const answer = await workspace.call("POST", `/agents/${agent.id}/answers`, body);
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({ question: "Q", answer: "A", agent_id: agent.id });
    expect(answer.body).not.toHaveProperty("extra");
    expect(({} as Record<string, unknown>)["question"]).toBeUndefined();
    expect((await workspace.call("GET", "/agents?limit=5&color=red&__proto__=1")).body.limit).toBe(5);
  });

  test("a lone surrogate is read as U+FFFD, so that a record named by it can be found", async () => {
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace);
    const ask = (message: string, id: string) =>
      workspace.call("POST", `/agents/${agent.id}/messages`, `{"message":"${message}","user":{"id":"${id}"}}`);
    const asked = await ask(String.raw`\ud83d\ude00 \uD83D! \\ud83d \n\ude00`, String.raw`cut \ud83d`);
    const { body } = await workspace.call("GET", `/conversations/${asked.body.conversation_id}`);
    expect(body.messages[0].content).toBe("😀 \ufffd! \\ud83d \n\ufffd");
    expect(body.visitor.external_id).toBe("cut \ufffd");
    const found = await workspace.call("GET", `/privacy/visitors?external_id=${encodeURIComponent("cut \ufffd")}`);
    expect(found.body.counts.conversations).toBe(1);
  });

  test("ids are accepted in either case", async () => {
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace);
    const found = await workspace.call("GET", `/agents/${agent.id.toUpperCase()}`);
    expect(found.body.id).toBe(agent.id);
    const asked = await workspace.call("POST", `/agents/${agent.id.toUpperCase()}/messages`, { message: "Hi" });
    const again = { message: "Hi", conversation_id: asked.body.conversation_id.toUpperCase() };
    const continued = await workspace.call("POST", `/agents/${agent.id}/messages`, again);
    expect(continued.status).toBe(200);
    expect(continued.body.conversation_id).toBe(asked.body.conversation_id);
  });

  test("any UUID is a valid id: the nil UUID is just not found", async () => {
    const workspace = await createWorkspace();
    for (const id of ["00000000-0000-0000-0000-000000000000", "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF", crypto.randomUUID()]) {
      expect((await workspace.call("GET", `/agents/${id}`)).status).toBe(404);
    }
  });

  test.each(["application/json", "application/json; charset=utf-8", "APPLICATION/JSON", "application/vnd.acme+json"])(
    "%s is JSON",
    async (type) => {
      const workspace = await createWorkspace();
      const agent = await createAgent(workspace);
      const body = { question: "Q", answer: "A" };
      expect((await workspace.call("POST", `/agents/${agent.id}/answers`, body, { "Content-Type": type })).status).toBe(201);
    },
  );

  test("an offset that is too large names the cursor, where the list has one", async () => {
    const workspace = await createWorkspace();
    for (const list of ["/conversations", "/leads"]) {
      const answer = await workspace.call("GET", `${list}?offset=100001`);
      const msg = "Input should be less than or equal to 100000: instead, send the next_cursor of the previous page as cursor";
      expect([answer.status, answer.body.detail]).toEqual([422, [{ ...above("query.offset", "100001", 100_000), msg }]]);
      expect((await workspace.call("GET", `${list}?offset=100000`)).status).toBe(200);
    }
  });

  test.each([
    ["limit=1&offset=0", 1, 0],
    ["limit=100&offset=100000", 100, 100_000],
    ["limit=007", 7, 0],
    ["", 20, 0],
  ])("paging %j", async (query, limit, offset) => {
    const workspace = await createWorkspace();
    const answer = await workspace.call("GET", `/agents?${query}`);
    expect(answer.body).toEqual({ data: [], total: 0, limit, offset, has_more: false });
  });
});

describe("bodies that are too large", () => {
  const MAX = 512 * 1024;
  const MIB = 1024 * 1024;
  const json = (length: number) => `{"query":"q","pad":"${"x".repeat(length - 22)}"}`;
  const streamed = (body: string) => new Blob([body]).stream();

  async function search(body: string | ReadableStream) {
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace);
    return workspace.call("POST", `/agents/${agent.id}/search`, body);
  }

  test.each([
    ["with a Content-Length", json],
    ["without one", (length: number) => streamed(json(length))],
  ])("%s: the largest body is read, one byte more is refused", async (_, bodyOf) => {
    expect(json(MAX)).toHaveLength(MAX);
    expect((await search(bodyOf(MAX))).status).toBe(200);
    const refused = await search(bodyOf(MAX + 1));
    expect(refused.status).toBe(413);
    expect(refused.body).toEqual({
      error: {
        code: "payload_too_large",
        message: "The body is too large: send at most 524,288 bytes.",
        request_id: refused.headers.get("X-Request-Id"),
      },
    });
  });

  test.each([
    ["of a declared length", { "Content-Length": String(MAX + 1) }, 0],
    ["without an end", {}, MAX],
  ])("a body %s over the limit is refused at the limit", async (_, headers, read) => {
    let sent = 0;
    const pull = (controller: ReadableStreamDefaultController) => {
      sent += 65_536;
      controller.enqueue(new Uint8Array(65_536));
    };
    const body = new ReadableStream({ pull }, { highWaterMark: 0 });
    const request = new Request("http://service.test/", {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body,
    });
    await expect(readJson(request, {})).rejects.toMatchObject({ code: "payload_too_large" });
    expect(sent).toBeLessThanOrEqual(read + (read && 65_536));
  });

  test("no more than 32 MiB are read of an endless body that is refused", async () => {
    let sent = 0;
    const endless = new ReadableStream({
      pull(controller) {
        sent += 65_536;
        // Without a limit this would never return: twice as much is enough to show it.
        if (sent > 64 * MIB) controller.close();
        else controller.enqueue(new Uint8Array(65_536));
      },
    });
    expect((await search(endless)).status).toBe(413);
    expect(sent).toBeLessThan(32 * MIB + 4 * MAX);
  });

  test("a text source may hold 5 MiB of UTF-8, and not a byte more", async () => {
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace);
    const longest = 5 * 1024 * 1024;
    const path = `/agents/${agent.id}/sources`;
    // Two bytes a letter: characters alone would let twice as much in.
    const refused = await workspace.call("POST", path, text({ text: "é".repeat(longest / 2) + "x" }));
    expect(refused.status).toBe(413);
    expect(refused.body.error.message).toBe("The body is too large: send at most 5,242,880 bytes.");
    const over = await workspace.call("POST", path, text({ text: "x", pad: "x".repeat(16 * 1024 * 1024) }));
    expect(over.status).toBe(413);
    expect((await workspace.call("GET", path)).body.total).toBe(0);
    expect((await workspace.call("POST", path, text({ text: "é".repeat(longest / 2) }))).status).toBe(202);
  });

  /** Sends a source whose body has no end, and counts what was read of it. */
  async function sendEndless(start: string, piece: string) {
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace);
    const chunk = new TextEncoder().encode(piece.repeat(Math.ceil(65_536 / piece.length)));
    let sent = 0;
    const body = new ReadableStream({
      pull(controller) {
        controller.enqueue(sent === 0 ? new TextEncoder().encode(start) : chunk);
        sent += chunk.length;
        // Without a limit this would never return.
        if (sent > 64 * 1024 * 1024) controller.close();
      },
    });
    return { status: (await workspace.call("POST", `/agents/${agent.id}/sources`, body)).status, sent };
  }

  test.each([
    ["a text", `{"type":"text","name":"N","text":"`, "x"],
    ["an escaped text", `{"type":"text","name":"N","text":"`, "\\u0438"],
    ["a second long text", `{"text":"${"x".repeat(4 * MIB)}","pad":"`, "x"],
    ["many short values", `{"type":"text","name":"N","text":"T","pad":[0`, ",0"],
    ["many objects", `{"type":"text","name":"N","text":"T","pad":[{}`, ",{}"],
    ["white space", `{"type":"text","name":"N","text":"T"`, " "],
  ])(
    "%s without an end is refused as the body of a source: 16 MiB are examined, and 32 MiB after them dropped",
    async (_, start, piece) => {
      const { status, sent } = await sendEndless(start, piece);
      expect(status).toBe(413);
      expect(sent).toBeLessThan((16 + 32) * MIB + 8 * 65_536);
    },
  );

  test("what is beside the text of a source is no larger than another body", async () => {
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace);
    const add = (pad: string) =>
      workspace.call("POST", `/agents/${agent.id}/sources`, `{"type":"text","name":"N","text":"T","pad":${pad}}`);
    // White space counts, since it is in no string.
    expect((await add(`[0${" ".repeat(MAX - 200)}]`)).status).toBe(202);
    for (const pad of [`[0${" ".repeat(MAX)}]`, `"${"x".repeat(MAX)}","more":"${"x".repeat(MAX)}"`]) {
      expect((await add(pad)).status).toBe(413);
    }
  });

  test("a source's text may be escaped letter by letter", async () => {
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace);
    const letters = (5 * MIB) / 2;
    const body = `{"type":"text","name":"N","text":"${"\\u0438".repeat(letters)}"}`;
    expect((await workspace.call("POST", `/agents/${agent.id}/sources`, body)).status).toBe(202);
    const over = await workspace.call("POST", `/agents/${agent.id}/sources`, body.replace("\\u0438", "\\u0438x"));
    expect([over.status, over.body.error.message]).toEqual([413, "The body is too large: send at most 5,242,880 bytes."]);
  });

  test("a large input is not echoed, and deep nesting is harmless", async () => {
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace);
    const path = `/agents/${agent.id}/messages`;
    const long = await workspace.call("POST", path, { message: "x".repeat(100_000) });
    expect(long.body.detail).toEqual([
      { loc: ["body", "message"], msg: "String should have at most 2000 characters", type: "string_too_long", ctx: { max_length: 2000 } },
    ]);
    const deep = "[".repeat(9_000) + "]".repeat(9_000);
    const nested = await workspace.call("POST", path, `{"message":${deep}}`);
    expect(nested.status).toBe(422);
    expect(nested.body.detail).toEqual([{ loc: ["body", "message"], msg: "Input should be a valid string", type: "string_type" }]);
    expect((await workspace.call("POST", path, `{"message":"Hi","extra":${deep}}`)).status).toBe(200);
    const deepest = "[".repeat(250_000) + "]".repeat(250_000);
    expect((await workspace.call("POST", path, `{"message":"Hi","extra":${deepest}}`)).status).toBe(413);
  });

  test("a response lists at most a hundred failed checks", async () => {
    const agent = await createAgent(await createWorkspace());
    const fields = Object.fromEntries(Array.from({ length: 9_000 }, (_, at) => [`field-${at}`, []]));
    const body = { email: "ada@example.com", custom_fields: fields };
    const answer = await send("POST", `/widget/v1/agents/${agent.id}/leads`, { body, headers: newAddress() });
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toHaveLength(100);
  });
});
