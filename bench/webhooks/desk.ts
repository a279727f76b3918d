import { type Prepared, send } from "../load.ts";

/** A workspace whose replies cause events, one each. */
export interface Desk {
  /** Adds endpoints for replies; gives a function that removes them. */
  listen(urls: string[]): Promise<() => Promise<void>>;
  /** Causes one event; gives the record's identifier. */
  reply(): Promise<string>;
  replyRequest: Prepared;
}

/** What of the answers is read. */
interface Answered {
  id: string;
  key: string;
  conversation_id: string;
}

/** More than the bench asks for. */
const LIMITS = { requests_per_minute: 1_000_000_000, messages: 1_000_000_000 };

export async function openDesk(port: number, operatorToken: string): Promise<Desk> {
  const asOperator = (method: string, path: string, body: unknown, status: number) =>
    send(port, {
      method,
      path: `/operator/v1${path}`,
      headers: { Authorization: `Bearer ${operatorToken}` },
      body,
      status,
    }) as Promise<Answered>;
  const slug = `desk-${Date.now()}`;
  const { id } = await asOperator("POST", "/workspaces", { name: "Desk", slug, plan: "enterprise" }, 201);
  await asOperator("PATCH", `/workspaces/${id}`, { limits: LIMITS }, 200);
  const agent = await asOperator("POST", `/workspaces/${id}/agents`, { name: "Agent" }, 201);
  const { key } = await asOperator("POST", `/workspaces/${id}/keys`, { name: "Bench", scopes: ["*"] }, 201);
  const headers = { Authorization: `Bearer ${key}` };
  const call = (method: string, path: string, body: unknown, status: number) =>
    send(port, { method, path: `/api/v1${path}`, headers, body, status }) as Promise<Answered>;
  const { conversation_id: conversationId } = await call("POST", `/agents/${agent.id}/messages`, { message: "Hello?" }, 200);
  const reply = {
    method: "POST",
    path: `/conversations/${conversationId}/messages`,
    body: { content: "We will look into it." },
    status: 201,
  };
  return {
    listen: async (urls) => {
      const ids: string[] = [];
      for (const url of urls) ids.push((await call("POST", "/webhooks", { url, events: ["message.human_replied"] }, 201)).id);
      return async () => {
        for (const webhookId of ids) await call("DELETE", `/webhooks/${webhookId}`, undefined, 204);
      };
    },
    reply: async () => (await call(reply.method, reply.path, reply.body, reply.status)).id,
    replyRequest: { ...reply, path: `/api/v1${reply.path}`, headers },
  };
}
