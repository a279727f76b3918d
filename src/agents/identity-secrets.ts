import { decryptSecret } from "../secrets.ts";
import type { AgentRow } from "./wire.ts";

/** Where an agent's identity secret is stored: it decrypts nowhere else. */
export function identityPlace(agentId: string): string {
  return `agent/${agentId}/identity`;
}

/** The secrets that may sign the identities of an agent's visitors now: the current one and, for a while, the one before. */
export async function identitySecretsOf(env: Env, agent: AgentRow, nowMs: number): Promise<string[]> {
  const { identitySecret, previousIdentitySecret: previous, previousIdentitySecretUntil: until } = agent;
  const stored = [identitySecret, until !== null && nowMs < until ? previous : null];
  const valid = stored.filter((secret) => secret !== null);
  return Promise.all(valid.map((secret) => decryptSecret(env, secret, identityPlace(agent.id))));
}
