import { decryptSecret, encryptSecret, UnreadableSecretError } from "../platform/crypto/secrets.ts";
import type { StoredClientTool, StoredHttpTool, StoredMcpServer, StoredTool } from "../platform/db/columns.ts";
import { sampleUrl } from "./tool-url.ts";
import { variablesIn } from "./tool-variables.ts";
import type { AgentRow } from "./wire.ts";

/** The encryption context of an agent's identity secret: a secret decrypts only in the context in which it was encrypted. */
export function identityContext(agentId: string): string {
  return `agent/${agentId}/identity`;
}

/**
 * The secrets that are valid for signing visitors' identities: the current one and, for a while after a rotation, the previous one.
 * @returns the secrets that can be decrypted, and the error of one that cannot: it may have made a signature that matches no other secret.
 */
export async function identitySecretsOf(env: Env, agent: AgentRow, nowMs: number) {
  const { identitySecret, previousIdentitySecret: previous, previousIdentitySecretUntil: until } = agent;
  const stored = [identitySecret, until !== null && nowMs < until ? previous : null];
  const valid = stored.filter((secret) => secret !== null);
  const opened = await Promise.allSettled(valid.map((secret) => decryptSecret(env, secret, identityContext(agent.id))));
  const secrets = opened.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const unreadable = opened.find((one) => one.status === "rejected")?.reason as unknown;
  if (unreadable !== undefined && !(unreadable instanceof UnreadableSecretError)) throw unreadable;
  return { secrets, unreadable };
}

/** The encryption context of an agent's Turnstile secret. */
export function turnstileContext(agentId: string): string {
  return `agent/${agentId}/turnstile`;
}

/** The columns that store an agent's Turnstile widget; null removes it. */
export async function encryptTurnstile(env: Env, agentId: string, given: { site_key: string; secret: string } | null) {
  if (given === null) return { turnstileSiteKey: null, turnstileSecret: null };
  return { turnstileSiteKey: given.site_key, turnstileSecret: await encryptSecret(env, given.secret, turnstileContext(agentId)) };
}

/**
 * The secret of an agent's Turnstile widget; null if it has none.
 * @throws UnreadableSecretError when it cannot be decrypted.
 */
export async function turnstileSecretOf(env: Env, { id, turnstileSecret }: AgentRow): Promise<string | null> {
  return turnstileSecret === null ? null : decryptSecret(env, turnstileSecret, turnstileContext(id));
}

/** An MCP server before its tools are listed. */
export type UnlistedServer = Omit<StoredMcpServer, "tools" | "problem" | "requiresVerifiedVisitor"> & {
  /** Undefined if the team leaves it out: the tools of the server then decide. */
  requiresVerifiedVisitor: boolean | undefined;
};

/** A tool as the operator sends it. A header with the value null keeps its stored value. Without `headers`, all stored values are kept. */
export type GivenTool = GivenTarget | StoredClientTool;
type GivenTarget = Given<StoredHttpTool> | Given<UnlistedServer>;
type Given<Tool> = Omit<Tool, "headers" | "headerVariables"> & { headers: Record<string, string | null> | undefined };

/** A tool whose headers are encrypted. */
export type ReadyTool = StoredHttpTool | UnlistedServer | StoredClientTool;

/** A header that must keep its stored value, although no value is stored. */
export interface MissingHeader {
  toolIndex: number;
  header: string;
}

/**
 * Encrypts the header values of an agent's tools. A stored value is kept for the same tool and header, and only while the tool calls
 * the same origin, so that changing the URL cannot reveal it to another server.
 */
export async function encryptTools(
  env: Env,
  agentId: string,
  given: readonly GivenTool[],
  stored: readonly StoredTool[],
): Promise<{ tools: ReadyTool[] } | { missing: MissingHeader }> {
  const tools: ReadyTool[] = [];
  for (const [toolIndex, tool] of given.entries()) {
    if (tool.type === "client") {
      tools.push(tool);
      continue;
    }
    const before = keptTool(tool, stored);
    const headers: Record<string, string> = {};
    const headerVariables: Record<string, string[]> = {};
    for (const [header, value] of Object.entries(tool.headers ?? namesOf(before))) {
      const kept = value === null ? keptHeader(before, header) : undefined;
      const encrypted = value === null ? kept?.encrypted : await encryptSecret(env, value, headerContext(agentId, tool.name, header));
      if (encrypted === undefined) return { missing: { toolIndex, header } };
      headers[header] = encrypted;
      headerVariables[header] = value === null ? (kept?.variables ?? []) : variablesIn(value);
    }
    tools.push({ ...tool, headers, headerVariables });
  }
  return { tools };
}

/**
 * Decrypts the headers of a tool.
 * @throws UnreadableSecretError when a header cannot be decrypted.
 */
export async function decryptHeaders(
  env: Env,
  agentId: string,
  { name, headers }: Pick<StoredTarget, "name" | "headers">,
): Promise<Record<string, string>> {
  const decrypted = Object.entries(headers).map(async ([header, value]) => {
    return [header, await decryptSecret(env, value, headerContext(agentId, name, header))] as const;
  });
  return Object.fromEntries(await Promise.all(decrypted));
}

type StoredTarget = StoredHttpTool | StoredMcpServer;

function keptTool({ name, url }: GivenTarget, stored: readonly StoredTool[]): StoredTarget | undefined {
  return stored.filter((tool) => tool.type !== "client").find((tool) => tool.name === name && originOf(tool.url) === originOf(url));
}

function namesOf(tool: StoredTarget | undefined): Record<string, null> {
  return Object.fromEntries(Object.keys(tool?.headers ?? {}).map((header) => [header, null]));
}

/** Finds a stored header by its name, in any case. */
function keptHeader(tool: StoredTarget | undefined, wanted: string): { encrypted: string; variables: string[] } | undefined {
  const header = Object.keys(tool?.headers ?? {}).find((name) => name.toLowerCase() === wanted.toLowerCase());
  return header === undefined ? undefined : { encrypted: tool!.headers[header]!, variables: tool!.headerVariables[header] ?? [] };
}

function originOf(template: string): string {
  return new URL(sampleUrl(template)).origin;
}

/** The encryption context of a tool's header. */
export function headerContext(agentId: string, tool: string, header: string): string {
  return `tool/${agentId}/${tool}/${header.toLowerCase()}`;
}
