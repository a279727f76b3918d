import { HANDBOOK } from "../chat/handbook.ts";
import { type Answer, createAgent, createWorkspace, learn, listen, newAddress, operate, query, send, type Workspace } from "../harness.ts";

/** The requests of a visitor, from an address of their own. */
export interface Visitor {
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** Writes to the agent. */
  write(body: Record<string, unknown>): Promise<Answer>;
  /** Acts on a conversation with a token. */
  on(token: string, conversationId: string, method: string, action: string, body?: unknown): Promise<Answer>;
}

/** Creates an agent that knows the handbook, and its visitors. */
export async function createWidget(settings: { agent?: Record<string, unknown>; plan?: string; limits?: Record<string, unknown> } = {}) {
  const { agent: agentSettings, ...workspaceSettings } = settings;
  const workspace = await createWorkspace(workspaceSettings);
  const agent = await createAgent(workspace, agentSettings);
  await learn(workspace, agent.id, HANDBOOK);
  if (workspaceSettings.plan === undefined) await listen(workspace);
  return { workspace, agent, visitor: () => visitorOf(agent.id) };
}

/** A visitor with an address of their own. */
export function visitorOf(agentId: string): Visitor {
  const address = newAddress();
  const call: Visitor["send"] = (method, path, body, headers) =>
    send(method, `/widget/v1${path}`, { body, headers: { ...address, ...headers } });
  return {
    send: call,
    write: (body) => call("POST", `/agents/${agentId}/messages`, { message: "When are refunds paid?", ...body }),
    on: (token, conversationId, method, action, body) =>
      call(method, `/conversations/${conversationId}/${action}`, body, { Authorization: `Bearer ${token}` }),
  };
}

/** Gives the agent a new identity secret. */
export async function newSecret(workspace: Workspace, agentId: string): Promise<string> {
  return (await operate("POST", `/workspaces/${workspace.id}/agents/${agentId}/rotate-identity-secret`)).secret;
}

const encode = (value: unknown) => new TextEncoder().encode(JSON.stringify(value)).toBase64({ alphabet: "base64url", omitPadding: true });

async function hmac(secret: string, text: string): Promise<Uint8Array> {
  const raw = new TextEncoder().encode(secret);
  const key = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(text)));
}

/** A JWT as an integrator's server makes it, without any library. */
export async function signJwt(
  secret: string,
  claims: Record<string, unknown>,
  header: Record<string, unknown> = { alg: "HS256", typ: "JWT" },
) {
  const signed = `${encode(header)}.${encode(claims)}`;
  return `${signed}.${(await hmac(secret, signed)).toBase64({ alphabet: "base64url", omitPadding: true })}`;
}

/** Claims that are valid for an hour. */
export function claimsOf(sub: string, more: Record<string, unknown> = {}) {
  return { sub, exp: Math.floor(Date.now() / 1000) + 3600, ...more };
}

/** The hash of a user's id as an integrator's server makes it. */
export async function hashOf(secret: string, id: string): Promise<string> {
  return (await hmac(secret, id)).toHex();
}

/** The visitors of a workspace, oldest first. */
export function visitorsOf({ id }: Workspace) {
  return query<Record<string, string | number | null>>(id, "SELECT * FROM visitors WHERE workspace_id = ? ORDER BY id", id);
}

/** Reads a conversation as an integrator does. */
export async function conversationOf(workspace: Workspace, id: string): Promise<any> {
  return (await workspace.call("GET", `/conversations/${id}`)).body;
}
