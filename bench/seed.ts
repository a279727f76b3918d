import { setTimeout as sleep } from "node:timers/promises";
import { type PreparedRequest, send } from "./load.ts";

/** What the service was filled with. */
export interface Seed {
  authorization: Record<string, string>;
  /** Knows the text below and two curated answers. */
  agentId: string;
  /** Takes what the bench writes, so that the first one's knowledge stays as it is. */
  scratchAgentId: string;
  /** Of three questions. */
  conversationId: string;
  /** Its last answer. */
  messageId: string;
  sourceId: string;
}

/** As many agents as one page of the list holds. */
const AGENTS = 20;

/** Nothing that the bench does comes near these. */
const ENOUGH = 1_000_000_000;
const LIMITS = {
  requests_per_minute: ENOUGH,
  messages: ENOUGH,
  messages_per_conversation: ENOUGH,
  team_messages_per_day: ENOUGH,
  answers_per_agent: ENOUGH,
};

const INGESTION_DEADLINE_MS = 30_000;

/** A few KB with headings, as a handbook has them. */
const HANDBOOK = `# Returns and refunds

You can return any item within 30 days of delivery. Items must be unused and in their original packaging. To start a return, open
your orders, choose the item and press "Return". We send a prepaid label by email within one hour.

Refunds are paid to the original payment method within five working days after the parcel reaches our warehouse. Gift cards are
refunded as store credit. Shipping costs are refunded only when the item was faulty or wrong.

# Shipping

Standard shipping takes three to five working days and costs 4.90 euros. Express shipping takes one working day and costs 12
euros. Orders over 60 euros are shipped free of charge. We ship to every country of the European Union, Norway and Switzerland.

Every parcel has a tracking number. It is sent by email when the parcel leaves the warehouse. If the tracking does not move for
three days, write to us and we will look for the parcel.

# Warranty

All electronic devices carry a warranty of two years. The warranty covers defects in materials and workmanship. It does not cover
damage by water, drops or repairs made by others. Keep your invoice: it is the proof of purchase.

# Accounts and passwords

To reset your password, open the sign-in page and press "Forgot password". The link in the email is valid for 20 minutes. Two-factor
authentication can be switched on in the security settings of your account. Support never asks for your password.

# Subscriptions

A subscription renews on the same day of each month. It can be paused for up to three months, or cancelled at any time until the
day before the renewal. Invoices are found under billing. Business customers can add a VAT number there.

# Opening hours

Our support team answers on working days from 8 to 18 o'clock. At weekends only the assistant answers. Urgent cases of payment fraud
are taken around the clock under the number on the back of your card.
`;

/** A question that the handbook answers. */
const QUESTION = "How long does a refund take to be paid?";

const ANSWERS = [
  { question: "Do you have a shop in Berlin?", answer: "Yes, at Torstrasse 12, open from Monday to Saturday." },
  { question: "Can I pay by invoice?", answer: "Business customers can pay by invoice within 14 days." },
];

/** Fills the service through its own API: a workspace, a key, agents, knowledge and a conversation of three turns. */
export async function seed(port: number, operatorToken: string): Promise<Seed> {
  const operator = { Authorization: `Bearer ${operatorToken}` };
  const asOperator = <Answer>(method: string, path: string, body: unknown, status: number) =>
    send(port, { method, path: `/operator/v1${path}`, headers: operator, body, status }) as Promise<Answer>;
  const workspace = await asOperator<{ id: string }>("POST", "/workspaces", { name: "Bench", slug: "bench", plan: "enterprise" }, 201);
  const own = `/workspaces/${workspace.id}`;
  await asOperator("PATCH", own, { limits: LIMITS }, 200);
  const { key } = await asOperator<{ key: string }>("POST", `${own}/keys`, { name: "Bench", scopes: ["*"] }, 201);
  const ids: string[] = [];
  for (let at = 0; at < AGENTS; at++)
    ids.push((await asOperator<{ id: string }>("POST", `${own}/agents`, { name: `Agent ${at}` }, 201)).id);
  const [agentId, scratchAgentId] = ids as [string, string];
  const authorization = { Authorization: `Bearer ${key}` };
  const call: Call = (method, path, body, status) => send(port, { method, path: `/api/v1${path}`, headers: authorization, body, status });
  const sourceId = await teach(call, agentId);
  return { authorization, agentId, scratchAgentId, sourceId, ...(await converse(call, agentId)) };
}

interface Answer {
  conversation_id: string;
  message_id: string;
  needs_human: boolean;
}

type Call = (method: string, path: string, body: unknown, status: number) => Promise<unknown>;

async function teach(call: Call, agentId: string): Promise<string> {
  const path = `/agents/${agentId}/sources`;
  const source = { type: "text", name: "Handbook", text: HANDBOOK };
  const { id } = (await call("POST", path, source, 202)) as { id: string };
  for (const answer of ANSWERS) await call("POST", `/agents/${agentId}/answers`, answer, 201);
  const deadlineMs = Date.now() + INGESTION_DEADLINE_MS;
  for (;;) {
    const { data } = (await call("GET", path, undefined, 200)) as { data: { status: string }[] };
    if (data[0]?.status === "ready") return id;
    if (data[0]?.status === "failed" || Date.now() > deadlineMs) throw new Error(`The source is not ready: ${JSON.stringify(data)}`);
    await sleep(100);
  }
}

async function converse(call: Call, agentId: string): Promise<Pick<Seed, "conversationId" | "messageId">> {
  let [conversationId, messageId] = ["", ""];
  for (const message of [QUESTION, "How much is express shipping?", "What does the warranty cover?"]) {
    const body = { message, ...(conversationId && { conversation_id: conversationId }) };
    const answer = (await call("POST", `/agents/${agentId}/messages`, body, 200)) as Answer;
    if (answer.needs_human) throw new Error(`The agent knows no answer to: ${message}`);
    ({ conversation_id: conversationId, message_id: messageId } = answer);
  }
  return { conversationId, messageId };
}

/** An operation of the service, and the path of the floor that makes the same hops. */
export interface Operation {
  /** For `--only`. */
  name: string;
  label: string;
  floor: string;
  request: PreparedRequest;
}

/** What is measured. */
export function operations({ authorization, agentId, scratchAgentId, sourceId, conversationId, messageId }: Seed): Operation[] {
  const operation = (name: string, floor: string, method: string, path: string, body?: unknown, status = 200): Operation => {
    const label = `${method} ${path.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "{id}")}`;
    return { name, label, floor, request: { method, path: `/api/v1${path}`, headers: authorization, body, status } };
  };
  const agent = `/agents/${agentId}`;
  const conversation = `/conversations/${conversationId}`;
  const message = `${conversation}/messages/${messageId}`;
  const completion = { model: agentId, messages: [{ role: "user", content: QUESTION }] };
  return [
    operation("me", "/rpc", "GET", "/me"),
    operation("usage", "/rpc-read/usage", "GET", "/usage"),
    operation("agents", "/rpc-read/agents", "GET", "/agents"),
    operation("agent", "/rpc-read/agent", "GET", agent),
    operation("conversation", "/rpc-read/conversation", "GET", conversation),
    operation("sources", "/rpc-read/sources", "GET", `${agent}/sources`),
    operation("search", "/rpc-read-search", "POST", `${agent}/search`, { query: QUESTION }),
    operation("answers", "/rpc-write-rpc", "POST", `/agents/${scratchAgentId}/answers`, ANSWERS[0], 201),
    operation("ask", "/ask", "POST", `${agent}/messages`, { message: QUESTION }),
    operation("completion", "/ask-completion", "POST", "/openai/chat/completions", completion),
    operation("source", "/rpc-read/agent", "GET", `${agent}/sources/${sourceId}`),
    operation("keys", "/rpc-read/agent", "GET", "/keys"),
    operation("events", "/rpc-read/sources", "GET", "/events"),
    operation("feedback", "/rpc-read/agent", "GET", "/feedback"),
    operation("gaps", "/rpc-read/gaps", "GET", `${agent}/gaps`),
    operation("drafts", "/rpc-read/agent", "GET", `${agent}/drafts`),
    operation("trace", "/rpc-read-session", "GET", `${message}/trace`),
    operation("conversation-search", "/rpc-index-read", "GET", "/conversations?q=refund"),
    operation("rate", "/rpc-write/rating", "POST", `${message}/feedback`, { rating: "up" }),
    operation("note", "/rpc-write/note", "POST", `${conversation}/notes`, { content: "Asked the warehouse." }, 201),
    operation("assign", "/rpc-write/assignee", "PATCH", conversation, { assignee: { id: "grace", name: "Grace Hopper" } }),
  ];
}
