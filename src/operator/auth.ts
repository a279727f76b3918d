import type { Auditor, OperatorOperation } from "../administration/audit-store.ts";
import { optionalSecretValues } from "../platform/config.ts";
import { sha256Hex } from "../platform/crypto/hashes.ts";
import { isKnownShard } from "../platform/db/shards.ts";
import type { Check } from "../platform/http/checks.ts";
import { type AppContext, bearerToken } from "../platform/http/context.ts";
import { ApiError } from "../platform/http/errors.ts";
import { operationOf, unauthorized } from "../workspaces/checks.ts";
import { findWorkspace } from "../workspaces/store.ts";

declare module "../platform/http/context.ts" {
  interface CallerVariables {
    /** The fingerprint of the operator's token, which requireOperator sets. */
    actor: string;
  }
}

/** These 64 bits of a hash identify one of an operator's tokens, and reveal nothing about a random token. */
const FINGERPRINT_LENGTH = 16;

/** Requires the operator's token. If none is configured, every path of the operator API responds with 404. */
export const requireOperator = (async (c) => {
  if (optionalSecretValues(c.env.OPERATOR_TOKEN ?? "").length === 0) throw new ApiError("not_found", "There is nothing at this path.");
  const token = bearerToken(c);
  if (token === undefined) throw unauthorized(c, "missing_api_key", "Send the operator's token: Authorization: Bearer <OPERATOR_TOKEN>");
  if (!(await isOperatorToken(c.env, token))) throw unauthorized(c, "invalid_api_key", "This is not the operator's token.");
  c.set("actor", `token/${(await sha256Hex(token)).slice(0, FINGERPRINT_LENGTH)}`);
}) satisfies Check;

/** Whether this is one of the operator's tokens. */
export async function isOperatorToken(env: Env, token: string): Promise<boolean> {
  const tokens = optionalSecretValues(env.OPERATOR_TOKEN ?? "");
  const matches = await Promise.all(tokens.map((expected) => isEqual(token, expected)));
  return matches.includes(true);
}

/** Returns the author and the operation of a request for the audit log. */
export function auditorOf(c: AppContext, { operationId: operation }: { operationId: string }): Auditor {
  return { actor: c.get("actor"), operation, requestId: c.get("requestId") };
}

/** Returns the context of an operation on a workspace, with the author for the audit log. */
export function operatorOperationOf(c: AppContext, route: { operationId: string }, workspaceId: string): OperatorOperation {
  return { ...operationOf(c, workspaceId), by: auditorOf(c, route) };
}

/** Compares in constant time. Digests have equal lengths, which `timingSafeEqual` requires. */
async function isEqual(given: string, expected: string): Promise<boolean> {
  const [a, b] = await Promise.all([given, expected].map((text) => crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
  return crypto.subtle.timingSafeEqual(a!, b!);
}

/**
 * Finds the workspace of a request, for an operation on it.
 * @throws ApiError not_found if it does not exist or is deleted.
 */
export async function openWorkspace(c: AppContext, route: { operationId: string }, workspaceId: string) {
  if (!(await isKnownShard(c.env, c.get("meter"), workspaceId))) throw noWorkspace();
  c.set("logFields", { workspaceId });
  const op = operatorOperationOf(c, route, workspaceId);
  const [[workspace]] = await op.db.batch([findWorkspace(op.db, workspaceId)]);
  if (!workspace) throw noWorkspace();
  return { workspace, op };
}

export function noWorkspace(): ApiError<"not_found"> {
  return new ApiError("not_found", "No workspace with this id, or it was deleted. Check the id in the list of workspaces.");
}
