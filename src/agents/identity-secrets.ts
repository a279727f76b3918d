import { decryptSecret, UnreadableSecretError } from "../platform/crypto/secrets.ts";
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
