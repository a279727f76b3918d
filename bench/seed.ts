import { readFile } from "node:fs/promises";
import type { PreparedRequest } from "./load.ts";
import type { RunningService } from "./service.ts";
import { addTexts, createTenant, type Tenant } from "./tenant.ts";

/** A workspace with content. */
export interface Seed extends Tenant {
  /** An agent for what a bench writes, so that the knowledge of the first agent stays as it is. */
  scratchAgentId: string;
  /** A conversation of three questions. */
  conversationId: string;
  /** The last answer in it. */
  messageId: string;
  /** The handbook. */
  sourceId: string;
  /** A question that the handbook answers. */
  ask: PreparedRequest;
}

/** As many agents as one page of the list holds. */
const AGENTS = 20;

/** A few KB with headings, as a handbook has them. */
const HANDBOOK = new URL("handbook.md", import.meta.url);

const QUESTION = "How long does a refund take to be paid?";

const ANSWERS = [
  { question: "Do you have a shop in Berlin?", answer: "Yes, at Torstrasse 12, open from Monday to Saturday." },
  { question: "Can I pay by invoice?", answer: "Business customers can pay by invoice within 14 days." },
];

/** Fills the service through its API: a workspace with a key, agents, knowledge and a conversation. */
export async function seed({ port, operatorToken }: Pick<RunningService, "port" | "operatorToken">): Promise<Seed> {
  const tenant = await createTenant(port, operatorToken, "bench");
  const { agentId, call, createAgent, request } = tenant;
  const scratchAgentId = await createAgent({ name: "Scratch" });
  for (let at = 2; at < AGENTS; at++) await createAgent({ name: `Agent ${at}` });
  const text = await readFile(HANDBOOK, "utf8");
  const [source] = await addTexts(tenant, agentId, [{ name: "Handbook", text }]);
  for (const answer of ANSWERS) await call("POST", `/agents/${agentId}/answers`, answer);
  const ask = request("POST", `/agents/${agentId}/messages`, { message: QUESTION });
  return { ...tenant, scratchAgentId, sourceId: source!.id, ask, ...(await converse(tenant)) };
}

async function converse({ call, agentId }: Tenant): Promise<Pick<Seed, "conversationId" | "messageId">> {
  let answer = { conversation_id: "", message_id: "", needs_human: false };
  for (const message of [QUESTION, "How much is express shipping?", "What does the warranty cover?"]) {
    const continued = answer.conversation_id !== "" && { conversation_id: answer.conversation_id };
    answer = await call<typeof answer>("POST", `/agents/${agentId}/messages`, { message, ...continued });
    if (answer.needs_human) throw new Error(`The agent has no answer to: ${message}`);
  }
  return { conversationId: answer.conversation_id, messageId: answer.message_id };
}

/** An operation of the service, and the path of the floor that makes the same hops. */
export interface Operation {
  /** The name for `--only`. */
  name: string;
  label: string;
  floor: string;
  request: PreparedRequest;
}

/** Returns the operations that are measured. */
export function operations({ agentId, scratchAgentId, sourceId, conversationId, messageId, request }: Seed): Operation[] {
  const operation = (name: string, floor: string, method: string, path: string, body?: unknown): Operation => {
    const label = `${method} ${path.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "{id}")}`;
    return { name, label, floor, request: request(method, path, body) };
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
    operation("answers", "/rpc-write-rpc", "POST", `/agents/${scratchAgentId}/answers`, ANSWERS[0]),
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
    operation("note", "/rpc-write/note", "POST", `${conversation}/notes`, { content: "Asked the warehouse." }),
    operation("assign", "/rpc-write/assignee", "PATCH", conversation, { assignee: { id: "grace", name: "Grace Hopper" } }),
  ];
}
