import type { z } from "@hono/zod-openapi";
import type { agentSchema } from "../agents/wire.ts";
import { fillVariables, type ReplyValues } from "../conversations/reply-variables.ts";
import type { savedReplySchema } from "../conversations/saved-reply-wire.ts";
import type { conversationSchema, messageSchema } from "../conversations/wire.ts";
import type { searchResultSchema, sourceSchema } from "../knowledge/wire.ts";
import type { DocumentPart } from "../knowledge/retrieval/document.ts";
import type { Scope } from "../workspaces/scopes.ts";
import type { meSchema } from "../workspaces/wire.ts";
import { type Api, type ApiRequest, Refusal, toText } from "./api.ts";
import { type inputs, PAGE_SIZE } from "./wire.ts";

/** The arguments of a tool as the model wrote them. The API validates them. */
type Args = Record<string, unknown>;

export type ToolName = keyof typeof inputs;

/** A tool: its description for the model, and the requests that it sends to the integrators' API. */
export interface Tool {
  title: string;
  description: string;
  /** The scope that a key needs to see the tool. */
  scope: Scope;
  /** The effects of the tool, which clients show before a call. */
  annotations: { readOnlyHint: boolean; destructiveHint?: boolean; idempotentHint?: boolean; openWorldHint: boolean };
  run: (api: Api, args: Args) => Promise<unknown>;
}

const READS = { readOnlyHint: true, openWorldHint: false };
/** The tool adds a record. A repeated call adds another one. */
const ADDS = { readOnlyHint: false, destructiveHint: false, idempotentHint: false };
/** The tool sets a state. A repeated call has no further effect. */
const SETS = { readOnlyHint: false, idempotentHint: true };

export const tools: Record<ToolName, Tool> = {
  search: {
    title: "Search the knowledge",
    description:
      "Finds passages of what a support agent knows: help pages, texts and curated answers. No model is asked. Read a whole document with fetch.",
    scope: "knowledge:read",
    annotations: READS,
    run: search,
  },
  fetch: {
    title: "Read a document",
    description: "Reads the document of a search result, a page at a time.",
    scope: "knowledge:read",
    annotations: READS,
    run: fetchDocument,
  },
  ask_agent: {
    title: "Ask a support agent",
    description:
      "Asks the support agent as a customer would; it answers with citations and a confidence, or hands over to a human. The answer is empty while a human has the conversation. The question is stored as a conversation and counts toward the month's quota. To look something up yourself, use search.",
    scope: "chat:write",
    annotations: { ...ADDS, openWorldHint: true },
    run: async (api, { agent_id, idempotency_key, ...body }) =>
      api({
        method: "POST",
        path: ["agents", await agentOf(api, agent_id), "messages"],
        body: { ...body, client_tools: [] },
        idempotencyKey: idempotency_key,
      }),
  },
  list_agents: {
    title: "List the support agents",
    description: "Lists the workspace's support agents with their ids, oldest first.",
    scope: "agents:read",
    annotations: READS,
    run: async (api, { cursor: offset }) => byOffset(await api({ method: "GET", path: ["agents"], query: { limit: PAGE_SIZE, offset } })),
  },
  list_conversations: {
    title: "List conversations",
    description:
      "Lists conversations, latest activity first, or finds them by the words of their messages. Those with the status needs_human wait for the team.",
    scope: "conversations:read",
    annotations: READS,
    run: (api, { unread, ...query }) =>
      api({ method: "GET", path: ["conversations"], query: { ...query, unread: unread === true ? true : undefined, limit: PAGE_SIZE } }),
  },
  get_conversation: {
    title: "Read a conversation",
    description: "One conversation with its latest messages and the team's notes; the pages after hold earlier messages.",
    scope: "conversations:read",
    annotations: READS,
    run: getConversation,
  },
  reply_to_conversation: {
    title: "Reply to a customer",
    description:
      "Sends the customer a reply from the team immediately. The support agent then stays silent in this conversation until it is resolved or its status is set to open.",
    scope: "conversations:write",
    annotations: { ...ADDS, openWorldHint: true },
    run: (api, { conversation_id, idempotency_key, ...body }) =>
      api({ method: "POST", path: ["conversations", conversation_id, "messages"], body, idempotencyKey: idempotency_key }),
  },
  update_conversation: {
    title: "Change a conversation",
    description: "Sets a conversation's status, tags, assignee, or whether it is read. Fields that are left out stay unchanged.",
    scope: "conversations:write",
    annotations: { ...SETS, destructiveHint: true, openWorldHint: false },
    run: (api, { conversation_id, ...body }) => api({ method: "PATCH", path: ["conversations", conversation_id], body }),
  },
  list_saved_replies: {
    title: "List saved replies",
    description:
      "Lists the texts that the team sends often, oldest first. With a conversation, variables such as {{visitor.name}} have its values; write something in place of those that are left. Send one with reply_to_conversation.",
    scope: "conversations:read",
    annotations: READS,
    run: listSavedReplies,
  },
  get_business_hours: {
    title: "Read the team's hours",
    description: "When the team is there: the hours of each weekday with their time zone, the holidays, and when it opens next.",
    scope: "conversations:read",
    annotations: READS,
    run: (api) => api({ method: "GET", path: ["business-hours"] }),
  },
  list_approvals: {
    title: "List tool calls to approve",
    description: "Lists the calls that a support agent may make only with the approval of a person, newest first, with their arguments.",
    scope: "conversations:read",
    annotations: READS,
    run: (api, query) => api({ method: "GET", path: ["approvals"], query: { ...query, limit: PAGE_SIZE } }),
  },
  decide_approval: {
    title: "Approve or decline a tool call",
    description:
      "Approves a call, perhaps with other arguments, or declines it with a reason. An approved call is made immediately and cannot be undone: show it to a person first.",
    scope: "conversations:write",
    annotations: { ...SETS, destructiveHint: true, openWorldHint: true },
    run: (api, { approval_id, decision, reason, arguments: changed, author }) => {
      // It is a part of the path, so that no schema of the API checks it.
      if (decision !== "approve" && decision !== "decline") throw new Refusal("decision: use approve or decline.");
      const body = decision === "decline" ? { reason, author } : { arguments: changed, author };
      return api({ method: "POST", path: ["approvals", approval_id, decision], body });
    },
  },
  list_leads: {
    title: "List leads",
    description: "Lists the contact details that visitors left, newest first, or finds them by a part of name, email or phone.",
    scope: "leads:read",
    annotations: READS,
    run: (api, query) => api({ method: "GET", path: ["leads"], query: { ...query, limit: PAGE_SIZE } }),
  },
  get_analytics: {
    title: "Read the analytics",
    description:
      "How many questions were asked, answered, handed off and rated in the last days, with the rates, each day, the questions without an answer, and the days before to compare.",
    scope: "analytics:read",
    annotations: READS,
    run: (api, query) => api({ method: "GET", path: ["analytics", "overview"], query }),
  },
  list_sources: {
    title: "List knowledge sources",
    description: "Lists the websites, pages and texts that a support agent learns from, with their state and errors, oldest first.",
    scope: "knowledge:read",
    annotations: READS,
    run: listSources,
  },
  add_answer: {
    title: "Add a curated answer",
    description:
      "Adds a question with its answer, which the support agent gives word for word to everybody who asks it. Show the words to a person first.",
    scope: "knowledge:write",
    annotations: { ...ADDS, openWorldHint: false },
    run: async (api, { agent_id, idempotency_key, ...body }) =>
      api({ method: "POST", path: ["agents", await agentOf(api, agent_id), "answers"], body, idempotencyKey: idempotency_key }),
  },
  sync_source: {
    title: "Read a source again",
    description: "Queues a knowledge source to be read again; list_sources shows when it is done.",
    scope: "knowledge:write",
    annotations: { ...SETS, destructiveHint: false, openWorldHint: true },
    run: async (api, { agent_id, source_id, idempotency_key }) => {
      const path = ["agents", await agentOf(api, agent_id), "sources", source_id, "sync"];
      return api({ method: "POST", path, idempotencyKey: idempotency_key });
    },
  },
};

type Agent = z.infer<typeof agentSchema>;

/** The id of the named agent, or of the only agent if none is named. */
async function agentOf(api: Api, named: unknown): Promise<unknown> {
  if ((named ?? null) !== null) return named;
  const { data, total } = await api<{ data: Agent[]; total: number }>({ method: "GET", path: ["agents"], query: { limit: PAGE_SIZE } });
  if (total === 1) return data[0]!.id;
  const list = data.map(({ id, name }) => `- ${id}: ${name}`).join("\n");
  throw new Refusal(total === 0 ? "The workspace has no agent yet: create one first." : `Name one of the agents as agent_id:\n${list}`);
}

type Found = z.infer<typeof searchResultSchema>;

async function search(api: Api, { agent_id, ...body }: Args) {
  const agentId = await agentOf(api, agent_id);
  const { data } = await api<Found>({ method: "POST", path: ["agents", agentId, "search"], body });
  const results = data.map(({ source_id, url, content, ...rest }) => {
    const id = [agentId, source_id, ...(url === null ? [] : [url])].join("/");
    return { ...rest, id, url: url ?? "", text: content };
  });
  return { results };
}

/** The id of a search result: the ids of agent and source, and the URL of a page if there is one. */
const RESULT_ID = /^([^/]+)\/([^/]+)(?:\/(.+))?$/s;

async function fetchDocument(api: Api, { id, cursor }: Args) {
  const [, agentId, sourceId, url] = RESULT_ID.exec(toText(id)) ?? [];
  if (agentId === undefined || sourceId === undefined) throw new Refusal("Give the id of a search result, unchanged.");
  const request: ApiRequest = { method: "GET", path: ["agents", agentId, "documents", sourceId], query: { url, after: cursor } };
  const { title, text, type, next } = await api<DocumentPart>(request);
  const metadata = { type, agent_id: agentId, source_id: sourceId };
  return { id, title, text, url: url ?? "", metadata, next_cursor: next === null ? null : String(next) };
}

async function getConversation(api: Api, { conversation_id, cursor }: Args) {
  const path = ["conversations", conversation_id];
  type Page = { data: z.infer<typeof messageSchema>[]; next_cursor: string | null };
  const [conversation, page] = await Promise.all([
    api<z.infer<typeof conversationSchema>>({ method: "GET", path }),
    api<Page>({ method: "GET", path: [...path, "messages"], query: { cursor, limit: PAGE_SIZE } }),
  ]);
  return { ...conversation, messages: page.data, next_cursor: page.next_cursor };
}

async function listSources(api: Api, { agent_id, cursor }: Args) {
  const path = ["agents", await agentOf(api, agent_id), "sources"];
  const { data } = await api<{ data: z.infer<typeof sourceSchema>[] }>({ method: "GET", path });
  return pageOfAll(data, cursor);
}

async function listSavedReplies(api: Api, { conversation_id: conversationId, cursor }: Args) {
  const { data } = await api<{ data: z.infer<typeof savedReplySchema>[] }>({ method: "GET", path: ["saved-replies"] });
  const page = pageOfAll(data, cursor);
  if ((conversationId ?? null) === null) return page;
  const values = await replyValuesOf(api, conversationId);
  return { ...page, data: page.data.map((reply) => ({ ...reply, content: fillVariables(reply.content, values) })) };
}

/** The values of the variables in a conversation, without the agent's name for a key that may not read agents. */
async function replyValuesOf(api: Api, conversationId: unknown): Promise<ReplyValues> {
  type Conversation = z.infer<typeof conversationSchema>;
  const [{ visitor, agent_id: agentId }, me] = await Promise.all([
    api<Conversation>({ method: "GET", path: ["conversations", conversationId] }),
    api<z.infer<typeof meSchema>>({ method: "GET", path: ["me"] }),
  ]);
  const mayReadAgents = me.api_key.scopes.includes("agents:read");
  const agent = mayReadAgents ? await api<Agent>({ method: "GET", path: ["agents", agentId] }) : undefined;
  return {
    "visitor.name": visitor?.name,
    "visitor.email": visitor?.email,
    "agent.name": agent?.name,
    "member.name": me.member?.name,
    "workspace.name": me.workspace.name,
  };
}

/** A page of a list that the API returns whole. The cursor is the next offset. */
function pageOfAll<Item extends object>(data: readonly Item[], cursor: unknown) {
  const offset = Number(cursor ?? 0);
  if (!Number.isSafeInteger(offset) || offset < 0) throw new Refusal("cursor: use the next_cursor of the page before, unchanged.");
  const shown = data.slice(offset, offset + PAGE_SIZE);
  return byOffset({ data: shown, total: data.length, offset, has_more: offset + shown.length < data.length });
}

/** A page of a list that is read by offsets. The cursor is the next offset. */
function byOffset<Item extends object>({
  offset,
  has_more: hasMore,
  ...page
}: {
  data: Item[];
  total: number;
  offset: number;
  has_more: boolean;
}) {
  return { ...page, next_cursor: hasMore ? String(offset + page.data.length) : null };
}
