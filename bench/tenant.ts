import { setTimeout as sleep } from "node:timers/promises";
import { type PreparedRequest, send } from "./load.ts";
import { forEach } from "./measure.ts";

type Call = <Answer>(method: string, path: string, body?: unknown) => Promise<Answer>;

/** A workspace with a key and an agent. */
export interface Tenant {
  workspaceId: string;
  keyId: string;
  agentId: string;
  /** The headers of a request with its key. */
  headers: Record<string, string>;
  /** Sends a request to a path below /api/v1; fails unless the response is successful. */
  call: Call;
  /** Sends a request to a path below /operator/v1; fails unless the response is successful. */
  operate: Call;
  /** Creates another agent, and returns its id. */
  createAgent: (agent: object) => Promise<string>;
  /** A request to a path below /api/v1 with its key. */
  request: (method: string, path: string, body?: unknown) => PreparedRequest;
}

/** No bench comes near these. */
const ENOUGH = 1_000_000_000;
const LIMITS = {
  agents: ENOUGH,
  answers_per_agent: ENOUGH,
  erasures_per_day: ENOUGH,
  leads_per_day: ENOUGH,
  messages: ENOUGH,
  messages_per_conversation: ENOUGH,
  requests_per_minute: ENOUGH,
  sources: ENOUGH,
  syncs_per_day: ENOUGH,
  team_messages_per_day: ENOUGH,
  visitor_messages_per_day: ENOUGH,
  deliveries_per_day: ENOUGH,
  delivery_log_mb: 1_000,
};

/** Creates a workspace through the service's API: unless told otherwise, without limits that a bench comes near. */
export async function createTenant(
  port: number,
  operatorToken: string,
  slug: string,
  { plan = "enterprise", limits = LIMITS, agent = {} }: { plan?: string; limits?: object; agent?: object } = {},
): Promise<Tenant> {
  const prepare =
    (prefix: string, token: string): Tenant["request"] =>
    (method, path, body) => ({ method, path: prefix + path, headers: { Authorization: `Bearer ${token}` }, body });
  const asOperator = prepare("/operator/v1", operatorToken);
  const operate: Call = (...request) => send(port, asOperator(...request));
  const { id: workspaceId } = await operate<{ id: string }>("POST", "/workspaces", { name: slug, slug, plan });
  const own = `/workspaces/${workspaceId}`;
  await operate("PATCH", own, { limits });
  const { id: keyId, key } = await operate<{ id: string; key: string }>("POST", `${own}/keys`, { name: slug, scopes: ["*"] });
  const createAgent = async (body: object) => (await operate<{ id: string }>("POST", `${own}/agents`, body)).id;
  const agentId = await createAgent({ name: slug, ...agent });
  const request = prepare("/api/v1", key);
  const call: Call = (...of) => send(port, request(...of));
  return { workspaceId, keyId, agentId, headers: { Authorization: `Bearer ${key}` }, call, operate, createAgent, request };
}

export interface Source {
  id: string;
  name: string;
  status: string;
  pages_indexed: number;
  chunks_count: number;
  error: unknown;
}

const POLL_MS = 50;
const READY_DEADLINE_MS = 15 * 60_000;

/**
 * Waits until all sources of an agent are ready, and returns them.
 * @throws Error where one fails.
 */
export async function untilReady({ call }: Tenant, agentId: string): Promise<Source[]> {
  for (const deadlineMs = Date.now() + READY_DEADLINE_MS; Date.now() < deadlineMs; await sleep(POLL_MS)) {
    const { data } = await call<{ data: Source[] }>("GET", `/agents/${agentId}/sources`);
    const failed = data.find(({ status }) => status === "failed");
    if (failed) throw new Error(`A source failed: ${JSON.stringify(failed.error)}`);
    if (data.every(({ status }) => status === "ready")) return data;
  }
  throw new Error("The sources are not ready in time.");
}

/** Adds text sources to an agent, and returns them in their order when all are ready. */
export async function addTexts(tenant: Tenant, agentId: string, texts: readonly { name: string; text: string }[]): Promise<Source[]> {
  const add = ({ name, text }: { name: string; text: string }) =>
    tenant.call<Source>("POST", `/agents/${agentId}/sources`, { type: "text", name, text });
  const added = await forEach(texts, add);
  const ready = new Map((await untilReady(tenant, agentId)).map((source) => [source.id, source]));
  return added.map(({ id }) => ready.get(id)!);
}
