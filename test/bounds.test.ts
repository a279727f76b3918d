import { describe, expect, test } from "vitest";
import { backupRoutes } from "../src/backup/routes.ts";
import { shardMoveRoutes } from "../src/shard-moves/routes.ts";
import { oauthRoutes, wellKnownRoutes } from "../src/applications/oauth-routes.ts";
import { consoleRoutes } from "../src/console/routes.ts";
import { docsRoutes } from "../src/docs/routes.ts";
import { homeRoutes } from "../src/docs/home.ts";
import { mcpRoutes } from "../src/mcp/routes.ts";
import { tools } from "../src/mcp/tools.ts";
import { operatorRoutes } from "../src/operator/routes.ts";
import { loadRouters } from "../src/surfaces/api.ts";
import { SURFACES } from "../src/surfaces/surfaces.ts";
import { hostedPageRoutes } from "../src/widget/hosted-page.ts";
import { widgetRoutes } from "../src/widget/routes.ts";
import type { Limits } from "../src/workspaces/plans.ts";
import { openBrowser } from "./console/browser.ts";
import { receive } from "./email/mailbox.ts";
import {
  countRows,
  createAgent,
  createKey,
  createWorkspace,
  fileForm,
  newAddress,
  operate,
  query,
  send,
  type Workspace,
} from "./harness.ts";

/*
 * What ends each operation that writes, apart from the rate limit: WRITES has a row for each operation of each surface, and the tests
 * drive each row to its end.
 */

/** What an operation needs: a workspace with an agent, and a conversation that its team has. */
interface Fixture extends Omit<Workspace, "call"> {
  call: (...request: Parameters<Workspace["call"]>) => ReturnType<Workspace["call"]>;
  agentId: string;
  mailbox: string;
  conversationId: string;
  /** An answer of the agent in the conversation. */
  messageId: string;
  /** Records that are made once for all requests. */
  made: Map<unknown, Promise<any>>;
}

/** Makes a record for the first request, and returns it to each. */
function once<Made>(fixture: Fixture, make: (fixture: Fixture) => Promise<Made>): Promise<Made> {
  if (!fixture.made.has(make)) fixture.made.set(make, make(fixture));
  return fixture.made.get(make) as Promise<Made>;
}

/** Sends the request for the n-th time. */
type Write = (fixture: Fixture, n: number) => Promise<{ status: number }>;

/**
 * `limit`: it adds something, and a limit of the plan ends it. `in place`: it changes, deletes or only reads what exists, so that a
 * repetition adds no row. `elsewhere`: see `why`.
 */
type Bound =
  | { kind: "limit"; limit: keyof Limits; allowed: number; write: Write }
  | { kind: "in place"; write: Write }
  | { kind: "elsewhere"; why: string };

/** @param allowed the value of the limit for the test. */
const upTo = (limit: keyof Limits, allowed: number, write: Write): Bound => ({ kind: "limit", limit, allowed, write });
const inPlace = (write: Write): Bound => ({ kind: "in place", write });
const elsewhere = (why: string): Bound => ({ kind: "elsewhere", why });

/** The operator's token manages the deployment. The audit log has a largest size. */
const BY_OPERATOR = elsewhere("only the operator's token may do it");

/** A change of an agent's settings adds a version too. */
const KEPT_VERSIONS = elsewhere("an agent keeps a hundred versions: administration/versions.test.ts");

const TOOL = {
  name: "hours",
  description: "Hours.",
  parameters: { type: "object", properties: {} },
  method: "GET",
  url: "https://api.example.com/hours",
};
const EXPECTATION = { question: "When are refunds paid?", expect: { refusal: true } };

const ask = ({ call, agentId }: Fixture, body: object = {}) => call("POST", `/agents/${agentId}/messages`, { message: "Hello", ...body });
const visit = (path: string, body: object, token?: string) => send("POST", `/widget/v1${path}`, { body, token, headers: newAddress() });
const begin = async ({ agentId }: Fixture) => (await visit(`/agents/${agentId}/messages`, { message: "Hello" })).body;
const addSource = async ({ call, agentId }: Fixture) =>
  (await call("POST", `/agents/${agentId}/sources`, { type: "text", name: "Notes", text: "Refunds." })).body.id;
const addAnswer = async ({ call, agentId }: Fixture) =>
  (await call("POST", `/agents/${agentId}/answers`, { question: "Who?", answer: "Us." })).body.id;
const addWebhook = async ({ call }: Fixture) =>
  (await call("POST", "/webhooks", { url: "https://hooks.example.com/x", events: ["*"] })).body.id;
const addMember = async ({ call }: Fixture) => (await call("POST", "/members", { email: "ann@example.com", role: "agent" })).body.id;
const addSavedReply = async ({ call }: Fixture) => (await call("POST", "/saved-replies", { name: "Hello", content: "Hello." })).body.id;
const addTeam = async ({ call }: Fixture) => (await call("POST", "/teams", { name: "Team" })).body.id;
const addRule = async ({ call }: Fixture) => (await call("POST", "/routing-rules", { name: "Rule", actions: { tag: "vip" } })).body.id;
/** Adds a delivery that is complete. */
async function addDelivery(fixture: Fixture): Promise<string> {
  await once(fixture, addWebhook);
  await ask(fixture);
  const end = "UPDATE deliveries SET status = 'failed', next_attempt_at = NULL, completed_at = 1 WHERE workspace_id = ? RETURNING id";
  return (await query<{ id: string }>(fixture.id, end, fixture.id))[0]!.id;
}
const addEvaluation = async ({ call, agentId }: Fixture) =>
  (await call("POST", `/agents/${agentId}/evaluations`, { cases: [EXPECTATION] })).body.id;

async function addRollout({ call, agentId }: Fixture): Promise<void> {
  await call("PATCH", `/agents/${agentId}/versions/draft`, { instructions: "Rhyme." });
  await call("POST", `/agents/${agentId}/versions/publish`, { rollout: 0.5 });
}

const addLink = async ({ key }: Fixture): Promise<string> =>
  /sign-in=([\w-]+)/.exec((await send("POST", "/console/links", { token: key })).body.url)![1]!;
const addKey = (fixture: Fixture) => createKey(fixture, ["leads:read"]);

/** Adds drafts of curated answers, which come from the team's replies to questions without an answer. */
async function addDrafts(fixture: Fixture): Promise<string[]> {
  const { call, agentId } = fixture;
  for (const message of ["How is bread baked in the mountains?", "Who painted the ceiling of the chapel?"]) {
    const { conversation_id: id } = (await ask(fixture, { message })).body;
    await call("POST", `/conversations/${id}/messages`, { content: "Ask somebody else." });
  }
  return (await call("GET", `/agents/${agentId}/drafts`)).body.data.map(({ id }: { id: string }) => id);
}

const WRITES: Record<string, Bound | Bound[]> = {
  "POST /api/v1/agents": upTo("agents", 3, ({ call }, n) => call("POST", "/agents", { name: `Agent ${n}` })),
  "PATCH /api/v1/agents/:agent_id": inPlace(({ call, agentId }, n) => call("PATCH", `/agents/${agentId}`, { description: `${n}` })),
  "DELETE /api/v1/agents/:agent_id": inPlace(async (fixture) =>
    fixture.call("DELETE", `/agents/${(await fixture.call("POST", "/agents", { name: "New" })).body.id}`),
  ),
  "POST /api/v1/agents/:agent_id/rotate-identity-secret": inPlace(({ call, agentId }) =>
    call("POST", `/agents/${agentId}/rotate-identity-secret`),
  ),
  "PATCH /api/v1/agents/:agent_id/versions/draft": inPlace(({ call, agentId }, n) =>
    call("PATCH", `/agents/${agentId}/versions/draft`, { instructions: `${n}` }),
  ),
  "DELETE /api/v1/agents/:agent_id/versions/draft": inPlace(({ call, agentId }) => call("DELETE", `/agents/${agentId}/versions/draft`)),
  "POST /api/v1/agents/:agent_id/versions/publish": KEPT_VERSIONS,
  "POST /api/v1/agents/:agent_id/versions/:version/restore": KEPT_VERSIONS,
  "POST /api/v1/agents/:agent_id/rollout": inPlace(async (fixture, n) => {
    await once(fixture, addRollout);
    return fixture.call("POST", `/agents/${fixture.agentId}/rollout`, { share: n / 10 });
  }),
  "POST /api/v1/agents/:agent_id/tools/:tool_name/test": inPlace(({ call, agentId }) =>
    call("POST", `/agents/${agentId}/tools/hours/test`, { arguments: {} }),
  ),
  "POST /api/v1/keys": upTo("api_keys", 3, ({ call }) => call("POST", "/keys", { name: "Key", scopes: ["leads:read"] })),
  "DELETE /api/v1/keys/:key_id": inPlace(async (fixture) => fixture.call("DELETE", `/keys/${(await once(fixture, addKey)).id}`)),
  "POST /api/v1/agents/:agent_id/messages": [
    upTo("messages", 3, (fixture) => ask(fixture)),
    upTo("visitor_messages_per_day", 2, (fixture) => ask(fixture, { conversation_id: fixture.conversationId })),
  ],
  "POST /api/v1/conversations/:conversation_id/messages/:message_id/tool-results": elsewhere(
    "it finishes an answer, whose question is counted",
  ),
  "POST /widget/v1/conversations/:conversation_id/messages/:message_id/tool-results": elsewhere(
    "it finishes an answer, whose question is counted",
  ),
  "POST /api/v1/approvals/:approval_id/approve": elsewhere("it decides about a call of an answer, whose question is counted"),
  "POST /api/v1/approvals/:approval_id/decline": elsewhere("it decides about a call of an answer, whose question is counted"),
  "POST /api/v1/conversations/:conversation_id/suggested-reply": upTo("messages", 3, ({ call, conversationId }) =>
    call("POST", `/conversations/${conversationId}/suggested-reply`),
  ),
  "POST /api/v1/conversations/:conversation_id/summary": inPlace(({ call, conversationId }) =>
    call("POST", `/conversations/${conversationId}/summary`),
  ),
  "POST /api/v1/members": upTo("members", 2, ({ call }, n) =>
    call("POST", "/members", { email: `member-${n}@example.com`, role: "agent" }),
  ),
  "PATCH /api/v1/members/:member_id": inPlace(async (fixture, n) =>
    fixture.call("PATCH", `/members/${await once(fixture, addMember)}`, { name: `Ann ${n}` }),
  ),
  "DELETE /api/v1/members/:member_id": elsewhere("it adds no row but one of the audit log, which has a largest size"),
  "DELETE /api/v1/members/:member_id/applications/:application_id": elsewhere("it deletes a row, and the audit log has a largest size"),
  "DELETE /api/v1/members/:member_id/sessions/:session_id": elsewhere("it deletes a row, and the audit log has a largest size"),
  "POST /api/v1/members/:member_id/invitation": elsewhere("a link is an object that deletes itself after 7 days"),
  "PATCH /api/v1/sign-in": inPlace(({ call }, n) =>
    call("PATCH", "/sign-in", { domains: [{ domain: `a${n}.example.com`, role: "agent" }] }),
  ),
  "PATCH /api/v1/business-hours": inPlace(({ call }, n) => call("PATCH", "/business-hours", { closed_message: `Closed ${n}.` })),
  "PATCH /api/v1/privacy/redaction": inPlace(({ call }, n) => call("PATCH", "/privacy/redaction", { card: n % 2 === 0 })),
  "POST /api/v1/privacy/redaction/preview": inPlace(({ call }) => call("POST", "/privacy/redaction/preview", { text: "Hello" })),
  "POST /api/v1/teams": elsewhere("a workspace has 50 of them, see test/routing/rules.test.ts"),
  "PATCH /api/v1/teams/:team_id": inPlace(async (fixture, n) =>
    fixture.call("PATCH", `/teams/${await once(fixture, addTeam)}`, { name: `${n}` }),
  ),
  "DELETE /api/v1/teams/:team_id": inPlace(async (fixture) => fixture.call("DELETE", `/teams/${await addTeam(fixture)}`)),
  "POST /api/v1/routing-rules": elsewhere("a workspace has 50 of them, see test/routing/rules.test.ts"),
  "PATCH /api/v1/routing-rules/:routing_rule_id": inPlace(async (fixture, n) =>
    fixture.call("PATCH", `/routing-rules/${await once(fixture, addRule)}`, { name: `${n}` }),
  ),
  "DELETE /api/v1/routing-rules/:routing_rule_id": inPlace(async (fixture) =>
    fixture.call("DELETE", `/routing-rules/${await addRule(fixture)}`),
  ),
  "POST /api/v1/saved-replies": elsewhere("a workspace has 200 of them, see test/conversations/saved-replies.test.ts"),
  "PATCH /api/v1/saved-replies/:saved_reply_id": inPlace(async (fixture, n) =>
    fixture.call("PATCH", `/saved-replies/${await once(fixture, addSavedReply)}`, { content: `${n}` }),
  ),
  "DELETE /api/v1/saved-replies/:saved_reply_id": inPlace(async (fixture) =>
    fixture.call("DELETE", `/saved-replies/${await addSavedReply(fixture)}`),
  ),
  "POST /api/v1/openai/chat/completions": upTo("messages", 3, ({ call, agentId }) =>
    call("POST", "/openai/chat/completions", { model: agentId, messages: [{ role: "user", content: "Hello" }] }),
  ),
  "POST /api/v1/conversations": upTo("team_messages_per_day", 2, ({ call, agentId }) =>
    call("POST", "/conversations", { agent_id: agentId, channel: "api", content: "Hello" }),
  ),
  "PATCH /api/v1/conversations/:conversation_id": inPlace(async (fixture, n) => {
    await once(fixture, addWebhook);
    const changes = { status: n % 2 === 0 ? "resolved" : "human_active", tags: [`${n}`] };
    return fixture.call("PATCH", `/conversations/${fixture.conversationId}`, changes);
  }),
  "POST /api/v1/conversations/bulk": inPlace(async ({ call, conversationId }, n) => {
    const changes = { status: n % 2 === 0 ? "resolved" : "human_active", [n % 2 === 0 ? "add_tags" : "remove_tags"]: ["vip"] };
    return call("POST", "/conversations/bulk", { ids: [conversationId], ...changes });
  }),
  "POST /api/v1/conversations/:conversation_id/messages": upTo("team_messages_per_day", 2, ({ call, conversationId }) =>
    call("POST", `/conversations/${conversationId}/messages`, { content: "Hello" }),
  ),
  "POST /api/v1/conversations/:conversation_id/notes": upTo("team_messages_per_day", 2, ({ call, conversationId }) =>
    call("POST", `/conversations/${conversationId}/notes`, { content: "Hello" }),
  ),
  "POST /api/v1/conversations/:conversation_id/messages/:message_id/feedback": [
    inPlace(({ call, conversationId, messageId }, n) =>
      call("POST", `/conversations/${conversationId}/messages/${messageId}/feedback`, { rating: n % 2 === 0 ? "up" : "down" }),
    ),
    elsewhere("an answer takes ratings of 200 keys, see test/conversations/feedback.test.ts"),
  ],
  "POST /api/v1/agents/:agent_id/sources": [
    upTo("sources", 2, ({ call, agentId }, n) =>
      call("POST", `/agents/${agentId}/sources`, { type: "text", name: `Notes ${n}`, text: "Refunds." }),
    ),
    upTo("syncs_per_day", 2, async (fixture) => {
      const { status, body } = await fixture.call("POST", `/agents/${fixture.agentId}/sources`, {
        type: "text",
        name: "Notes",
        text: "Refunds.",
      });
      if (status === 202) await fixture.call("DELETE", `/agents/${fixture.agentId}/sources/${body.id}`);
      return { status };
    }),
  ],
  "POST /api/v1/agents/:agent_id/sources/files": upTo("sources", 2, ({ call, agentId }) =>
    call("POST", `/agents/${agentId}/sources/files`, fileForm("Refunds.")),
  ),
  "PUT /api/v1/agents/:agent_id/sources/by-key/:source_key": [
    upTo("sources", 2, ({ call, agentId }, n) => call("PUT", `/agents/${agentId}/sources/by-key/notes-${n}`, { text: "Refunds." })),
    upTo("syncs_per_day", 3, ({ call, agentId }, n) => call("PUT", `/agents/${agentId}/sources/by-key/notes`, { text: `Text ${n}` })),
    upTo("sources", 2, ({ call, agentId }, n) => call("PUT", `/agents/${agentId}/sources/by-key/file-${n}`, fileForm("Refunds."))),
  ],
  "PATCH /api/v1/agents/:agent_id/sources/:source_id": upTo("syncs_per_day", 3, async (fixture, n) =>
    fixture.call("PATCH", `/agents/${fixture.agentId}/sources/${await once(fixture, addSource)}`, { text: `Text ${n}` }),
  ),
  "POST /api/v1/agents/:agent_id/sources/:source_id/sync": upTo("syncs_per_day", 3, async (fixture) => {
    const id = await once(fixture, addSource);
    // A sync that waits is joined, so that the one before has to end.
    await query(fixture.id, "UPDATE sources SET status = 'ready' WHERE id = ?", id);
    return fixture.call("POST", `/agents/${fixture.agentId}/sources/${id}/sync`);
  }),
  "DELETE /api/v1/agents/:agent_id/sources/:source_id": inPlace(async (fixture) =>
    fixture.call("DELETE", `/agents/${fixture.agentId}/sources/${await addSource(fixture)}`),
  ),
  "POST /api/v1/agents/:agent_id/answers": upTo("answers_per_agent", 2, ({ call, agentId }, n) =>
    call("POST", `/agents/${agentId}/answers`, { question: `Who ${n}?`, answer: "Us." }),
  ),
  "PATCH /api/v1/agents/:agent_id/answers/:answer_id": inPlace(async (fixture, n) =>
    fixture.call("PATCH", `/agents/${fixture.agentId}/answers/${await once(fixture, addAnswer)}`, { answer: `${n}` }),
  ),
  "DELETE /api/v1/agents/:agent_id/answers/:answer_id": inPlace(async (fixture) =>
    fixture.call("DELETE", `/agents/${fixture.agentId}/answers/${await addAnswer(fixture)}`),
  ),
  "POST /api/v1/agents/:agent_id/search": inPlace(({ call, agentId }) => call("POST", `/agents/${agentId}/search`, { query: "refunds" })),
  "POST /api/v1/agents/:agent_id/drafts/:draft_id/accept": upTo("answers_per_agent", 1, async (fixture, n) => {
    const [first, second] = await once(fixture, addDrafts);
    return fixture.call("POST", `/agents/${fixture.agentId}/drafts/${n === 0 ? first : second}/accept`, {});
  }),
  "POST /api/v1/agents/:agent_id/drafts/:draft_id/dismiss": inPlace(async (fixture) =>
    fixture.call("POST", `/agents/${fixture.agentId}/drafts/${(await once(fixture, addDrafts))[0]}/dismiss`),
  ),
  "POST /api/v1/agents/:agent_id/evaluations": upTo("evaluation_cases_per_day", 2, ({ call, agentId }) =>
    call("POST", `/agents/${agentId}/evaluations`, { cases: [EXPECTATION] }),
  ),
  "POST /api/v1/agents/:agent_id/evaluations/:evaluation_id/cases": upTo("evaluation_cases_per_day", 3, async (fixture, n) => {
    const id = await once(fixture, addEvaluation);
    return fixture.call("POST", `/agents/${fixture.agentId}/evaluations/${id}/cases`, { ...EXPECTATION, question: `Why ${n}?` });
  }),
  "DELETE /api/v1/agents/:agent_id/evaluations/:evaluation_id": inPlace(async (fixture) =>
    fixture.call("DELETE", `/agents/${fixture.agentId}/evaluations/${await addEvaluation(fixture)}`),
  ),
  "DELETE /api/v1/privacy/visitors": upTo("erasures_per_day", 2, ({ call }, n) =>
    call("DELETE", `/privacy/visitors?external_id=nobody-${n}`),
  ),
  "POST /api/v1/webhooks": elsewhere("a workspace has 100 endpoints, see test/webhooks/operations.test.ts"),
  "PATCH /api/v1/webhooks/:webhook_id": inPlace(async (fixture, n) =>
    fixture.call("PATCH", `/webhooks/${await once(fixture, addWebhook)}`, { description: `${n}` }),
  ),
  "DELETE /api/v1/webhooks/:webhook_id": inPlace(async (fixture) => fixture.call("DELETE", `/webhooks/${await addWebhook(fixture)}`)),
  "POST /api/v1/webhooks/:webhook_id/rotate-secret": inPlace(async (fixture) =>
    fixture.call("POST", `/webhooks/${await once(fixture, addWebhook)}/rotate-secret`),
  ),
  "POST /api/v1/webhooks/:webhook_id/test": upTo("deliveries_per_day", 2, async (fixture) =>
    fixture.call("POST", `/webhooks/${await once(fixture, addWebhook)}/test`),
  ),
  "POST /api/v1/webhooks/deliveries/:delivery_id/redeliver": upTo("deliveries_per_day", 5, async (fixture) =>
    fixture.call("POST", `/webhooks/deliveries/${await once(fixture, addDelivery)}/redeliver`),
  ),

  "POST /api/v1/attachments": upTo("attachments_mb", 1, ({ call }) => call("POST", "/attachments", fileForm("x".repeat(700_000)))),

  "POST /widget/v1/agents/:agent_id/attachments": upTo("visitor_attachments_per_day", 2, ({ agentId }) =>
    visit(`/agents/${agentId}/attachments`, fileForm("A text")),
  ),
  "POST /widget/v1/agents/:agent_id/messages": upTo("visitor_messages_per_day", 2, ({ agentId }) =>
    visit(`/agents/${agentId}/messages`, { message: "Hello" }),
  ),
  "POST /widget/v1/agents/:agent_id/leads": upTo("leads_per_day", 2, ({ agentId }, n) =>
    visit(`/agents/${agentId}/leads`, { email: `ann-${n}@example.com` }),
  ),
  "POST /widget/v1/conversations/:conversation_id/handoff": upTo("visitor_messages_per_day", 3, async (fixture) => {
    const { conversation_id: id, visitor_token: token } = await once(fixture, begin);
    await fixture.call("PATCH", `/conversations/${id}`, { status: "resolved" });
    return visit(`/conversations/${id}/handoff`, {}, token);
  }),
  "POST /widget/v1/sessions/end": inPlace(async (fixture) => visit("/sessions/end", {}, (await once(fixture, begin)).visitor_token)),
  "POST /widget/v1/conversations/:conversation_id/messages/:message_id/feedback": inPlace(async (fixture, n) => {
    const { conversation_id: id, message_id: messageId, visitor_token: token } = await once(fixture, begin);
    return visit(`/conversations/${id}/messages/${messageId}/feedback`, { rating: n % 2 === 0 ? "up" : "down" }, token);
  }),
  "POST /widget/v1/conversations/:conversation_id/csat": inPlace(async (fixture, n) => {
    const { conversation_id: id, visitor_token: token } = await once(fixture, begin);
    return visit(`/conversations/${id}/csat`, { score: 1 + (n % 5) }, token);
  }),

  "POST /operator/v1/workspaces": BY_OPERATOR,
  "PATCH /operator/v1/workspaces/:workspace_id": BY_OPERATOR,
  "DELETE /operator/v1/workspaces/:workspace_id": BY_OPERATOR,
  "POST /operator/v1/workspaces/:workspace_id/keys": BY_OPERATOR,
  "DELETE /operator/v1/workspaces/:workspace_id/keys/:key_id": BY_OPERATOR,
  "POST /operator/v1/workspaces/:workspace_id/agents": BY_OPERATOR,
  "PATCH /operator/v1/workspaces/:workspace_id/agents/:agent_id": BY_OPERATOR,
  "DELETE /operator/v1/workspaces/:workspace_id/agents/:agent_id": BY_OPERATOR,
  "POST /operator/v1/workspaces/:workspace_id/agents/:agent_id/rotate-identity-secret": BY_OPERATOR,
  "PUT /operator/v1/databases/:binding/shard-move": BY_OPERATOR,
  "POST /operator/v1/databases/:binding/shard-move": BY_OPERATOR,
  "DELETE /operator/v1/databases/:binding/shard-move": BY_OPERATOR,
  "POST /operator/v1/secrets/reencrypt": BY_OPERATOR,
  "POST /operator/v1/workspaces/:workspace_id/import": BY_OPERATOR,
  "POST /operator/v1/workspaces/:workspace_id/import/complete": BY_OPERATOR,
  "DELETE /operator/v1/workspaces/:workspace_id/import": BY_OPERATOR,

  // A sign-in and a link have an object each, which erases itself when they expire.
  "POST /console/session": inPlace(({ key }) => openBrowser().call("POST", "/console/session", { secret: key })),
  "DELETE /console/session": inPlace(() => openBrowser().call("DELETE", "/console/session")),
  "POST /console/links": inPlace(({ key }) => send("POST", "/console/links", { token: key })),
  // Mails are counted for an hour in one object per workspace, up to a limit. Their links are objects as others are.
  "POST /console/sign-in/mail": inPlace((_, n) =>
    openBrowser().call("POST", "/console/sign-in/mail", { workspace: `acme-${n}`, email: `member-${n}@example.com` }),
  ),
  "POST /console/links/read": inPlace(async (fixture) =>
    openBrowser().call("POST", "/console/links/read", { link: await once(fixture, addLink) }),
  ),

  "POST /console/consent": elsewhere("a member has the latest 20 applications, and the audit log has a largest size"),
  "POST /console/consent/read": elsewhere("it stores nothing"),

  "POST /oauth/register": elsewhere("all workspaces together have 5,000 records, of which the first to expire give way"),
  "POST /oauth/token": elsewhere("an application has its latest two tokens, and the assertion of a client is such a record"),

  "POST /mcp/": elsewhere("its tools call operations of this table"),

  "a mail": upTo("visitor_messages_per_day", 2, async ({ mailbox }, n) => {
    const rejected = await receive({ to: mailbox, from: `ann@sender-${n}.example` });
    return { status: rejected === undefined ? 200 : 429 };
  }),
};

/** The routers of each surface. Those without a write are there too, so that a new surface needs a row here. */
const ROUTERS = {
  "": async () => [homeRoutes],
  api: loadRouters,
  widget: async () => [widgetRoutes],
  operator: async () => [operatorRoutes, backupRoutes, shardMoveRoutes],
  mcp: async () => [mcpRoutes(loadRouters)],
  oauth: async () => [oauthRoutes],
  ".well-known": async () => [wellKnownRoutes],
  console: async () => [consoleRoutes],
  chat: async () => [hostedPageRoutes],
  docs: async () => [docsRoutes],
};
const ROOTS: Partial<Record<keyof typeof ROUTERS, string>> = { api: "/api/v1", widget: "/widget/v1", operator: "/operator/v1" };

test("every operation that writes has a row that says what ends it", async () => {
  expect(Object.keys(ROUTERS).toSorted()).toEqual(Object.keys(SURFACES).toSorted());
  const registered = new Set<string>();
  for (const [surface, load] of Object.entries(ROUTERS)) {
    const root = ROOTS[surface as keyof typeof ROUTERS] ?? `/${surface}`;
    for (const { method, path } of (await load()).flatMap(({ routes }) => routes)) {
      // Middleware is registered for all methods and paths.
      if (method !== "GET" && method !== "OPTIONS" && !(method === "ALL" && path.endsWith("*"))) registered.add(`${method} ${root}${path}`);
    }
  }
  expect([...registered, "a mail"].toSorted()).toEqual(Object.keys(WRITES).toSorted());
});

test("each tool of /mcp that writes calls operations of the table", async () => {
  for (const [name, { annotations, run }] of Object.entries(tools)) {
    if (annotations.readOnlyHint) continue;
    const called: string[] = [];
    const api = async ({ method, path }: { method: string; path: unknown[] }) => void called.push(`${method} /api/v1/${path.join("/")}`);
    await run(api as never, { agent_id: "ID", conversation_id: "ID", source_id: "ID", approval_id: "ID", decision: "approve" });
    const known = Object.keys(WRITES).map((row) => row.replaceAll(/:\w+/g, "ID"));
    expect(called.length, name).toBeGreaterThan(0);
    for (const call of called) expect(known, name).toContain(call);
  }
});

async function createFixture(): Promise<Fixture> {
  const workspace = await createWorkspace();
  const mailbox = `help-${workspace.id}@example.com`;
  const agent = await createAgent(workspace, { tools: [TOOL], allowed_origins: ["*"], email_address: mailbox });
  const { conversation_id: conversationId, message_id: messageId } = (
    await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "Hello" })
  ).body;
  await workspace.call("PATCH", `/conversations/${conversationId}`, { status: "human_active" });
  return { ...workspace, agentId: agent.id, mailbox, conversationId, messageId, made: new Map() };
}

/** The rows with a bound of this kind, with their titles. */
function rowsOf<Kind extends Bound["kind"]>(kind: Kind) {
  type Row = Extract<Bound, { kind: Kind }>;
  const rows = Object.entries(WRITES).flatMap(([operation, bounds]) => [bounds].flat().map((bound) => [operation, bound] as const));
  const named = rows.map(([operation, bound]) => [bound.kind === "limit" ? `${operation}: ${bound.limit}` : operation, bound] as const);
  return named.filter((row): row is readonly [string, Row] => row[1].kind === kind);
}

describe("a limit of the plan ends", () => {
  test.each(rowsOf("limit"))("%s", async (_, { limit, allowed, write }) => {
    const fixture = await createFixture();
    await operate("PATCH", `/workspaces/${fixture.id}`, { limits: { [limit]: allowed } });
    expect((await fixture.call("GET", "/usage")).body.limits[limit]).toBe(allowed);
    const accepted: number[] = [];
    let { status } = await write(fixture, 0);
    while (status < 300 && accepted.length <= allowed) {
      accepted.push(status);
      ({ status } = await write(fixture, accepted.length));
    }
    expect(accepted.length).toBeGreaterThan(0);
    expect([402, 403, 429]).toContain(status);
    const before = await countRows();
    expect((await write(fixture, accepted.length + 1)).status).toBe(status);
    expect(await countRows()).toEqual(before);
  });
});

/** The rows of all tables but the audit log, of which a trigger keeps the latest entries: members/audit.test.ts. */
async function countUnbounded() {
  const { "0.audit_log": _first, "1.audit_log": _second, ...others } = await countRows();
  return others;
}

describe("repeating it adds no row", () => {
  test.each(rowsOf("in place"))("%s", async (_, { write }) => {
    const fixture = await createFixture();
    expect((await write(fixture, 0)).status).toBeLessThan(300);
    // The second request may add what is counted by the day.
    await write(fixture, 1);
    const before = await countUnbounded();
    await write(fixture, 2);
    await write(fixture, 3);
    expect(await countUnbounded()).toEqual(before);
  });
});
