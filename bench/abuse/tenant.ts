import { type PreparedRequest, send } from "../load.ts";

/** A workspace with a key and an agent. */
export interface Tenant {
  workspaceId: string;
  keyId: string;
  agentId: string;
  authorization: Record<string, string>;
  /** Takes paths below /api/v1; fails on another status. */
  call: <Answer>(method: string, path: string, body: unknown, status: number) => Promise<Answer>;
  /** Takes paths below /operator/v1. */
  operate: <Answer>(method: string, path: string, body: unknown, status: number) => Promise<Answer>;
}

/** Creates a workspace on a plan, with limits of its own. */
export async function createTenant(port: number, operatorToken: string, slug: string, plan: string, limits: object = {}): Promise<Tenant> {
  const caller =
    (prefix: string, token: string): Tenant["call"] =>
    (method, path, body, status) =>
      send(port, { method, path: prefix + path, headers: { Authorization: `Bearer ${token}` }, body, status }) as Promise<never>;
  const operate = caller("/operator/v1", operatorToken);
  const { id: workspaceId } = await operate<{ id: string }>("POST", "/workspaces", { name: slug, slug, plan }, 201);
  const own = `/workspaces/${workspaceId}`;
  await operate("PATCH", own, { limits }, 200);
  const { id: keyId, key } = await operate<{ id: string; key: string }>("POST", `${own}/keys`, { name: slug, scopes: ["*"] }, 201);
  const { id: agentId } = await operate<{ id: string }>("POST", `${own}/agents`, { name: slug }, 201);
  return { workspaceId, keyId, agentId, authorization: { Authorization: `Bearer ${key}` }, call: caller("/api/v1", key), operate };
}

/** Sends a request, whatever its response is. */
export async function sendAny(port: number, { method, path, headers, body }: Omit<PreparedRequest, "status">): Promise<Response> {
  const init = body === undefined ? {} : { body: JSON.stringify(body) };
  return fetch(`http://127.0.0.1:${port}${path}`, { method, headers: { "Content-Type": "application/json", ...headers }, ...init });
}
