import { decryptSecret, encryptSecret, UnreadableSecretError } from "../platform/crypto/secrets.ts";
import type { StoredTool } from "../platform/db/columns.ts";
import { sampleOf } from "./tool-url.ts";
import type { AgentRow } from "./wire.ts";

/** Where an agent's identity secret is stored: it decrypts nowhere else. */
export function identityPlace(agentId: string): string {
  return `agent/${agentId}/identity`;
}

/** The secrets of an agent that can be read, and what keeps another one from it: a signature that fits none may be that one's. */
export interface IdentitySecrets {
  secrets: string[];
  unreadable: UnreadableSecretError | undefined;
}

/** The secrets that may sign the identities of an agent's visitors now: the current one and, for a while, the one before. */
export async function identitySecretsOf(env: Env, agent: AgentRow, nowMs: number): Promise<IdentitySecrets> {
  const { identitySecret, previousIdentitySecret: previous, previousIdentitySecretUntil: until } = agent;
  const stored = [identitySecret, until !== null && nowMs < until ? previous : null];
  const valid = stored.filter((secret) => secret !== null);
  const opened = await Promise.allSettled(valid.map((secret) => decryptSecret(env, secret, identityPlace(agent.id))));
  const secrets = opened.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const failed = opened.find((one) => one.status === "rejected")?.reason as unknown;
  if (failed !== undefined && !(failed instanceof UnreadableSecretError)) throw failed;
  return { secrets, unreadable: failed };
}

/** A tool as the operator sends it: a header's null, and headers that are left out, keep what is stored. */
export type GivenTool = Omit<StoredTool, "headers"> & { headers: Record<string, string | null> | undefined };

/** A header whose value should be kept where none is stored for it. */
export interface MissingHeader {
  toolIndex: number;
  header: string;
}

/**
 * An agent's tools as its row holds them, the values of headers encrypted. A value is kept for the same tool and header,
 * and only while the tool calls the same origin: it was not given to be shown to another.
 */
export async function sealTools(
  env: Env,
  agentId: string,
  given: readonly GivenTool[],
  stored: readonly StoredTool[],
): Promise<{ tools: StoredTool[] } | { missing: MissingHeader }> {
  const tools: StoredTool[] = [];
  for (const [toolIndex, tool] of given.entries()) {
    const kept = keptHeaders(tool, stored);
    const headers: Record<string, string> = {};
    for (const [header, value] of Object.entries(tool.headers ?? Object.fromEntries(kept))) {
      const sealed =
        tool.headers && value !== null ? await encryptSecret(env, value, headerPlace(agentId, tool.name, header)) : find(kept, header);
      if (sealed === undefined) return { missing: { toolIndex, header } };
      headers[header] = sealed;
    }
    tools.push({ ...tool, headers });
  }
  return { tools };
}

/**
 * A tool's headers with their values.
 * @throws UnreadableSecretError when one cannot be read.
 */
export async function openHeaders(env: Env, agentId: string, { name, headers }: StoredTool): Promise<Record<string, string>> {
  const opened = Object.entries(headers).map(async ([header, sealed]) => {
    return [header, await decryptSecret(env, sealed, headerPlace(agentId, name, header))] as const;
  });
  return Object.fromEntries(await Promise.all(opened));
}

function keptHeaders({ name, url }: GivenTool, stored: readonly StoredTool[]): [string, string][] {
  const before = stored.find((tool) => tool.name === name && originOf(tool.url) === originOf(url));
  return Object.entries(before?.headers ?? {});
}

function find(headers: readonly [string, string][], wanted: string): string | undefined {
  return headers.find(([name]) => name.toLowerCase() === wanted.toLowerCase())?.[1];
}

function originOf(template: string): string {
  return new URL(sampleOf(template)).origin;
}

/** Where a header's value is stored: it decrypts nowhere else. */
export function headerPlace(agentId: string, tool: string, header: string): string {
  return `tool/${agentId}/${tool}/${header.toLowerCase()}`;
}
