import type { Auditor, AuditedChange, OperatorOperation } from "../administration/operator-audit-store.ts";
import { healthTokens, optionalSecretValues } from "../platform/config.ts";
import { sha256Hex } from "../platform/crypto/hashes.ts";
import { isMapped } from "../platform/db/bindings.ts";
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
  const token = await readToken(c, operatorTokens(c.env), {
    missing: "Send the operator's token: Authorization: Bearer <OPERATOR_TOKEN>",
    invalid: "This is not the operator's token.",
  });
  c.set("actor", `token/${(await sha256Hex(token)).slice(0, FINGERPRINT_LENGTH)}`);
}) satisfies Check;

/** Requires a token that reads the health: a health token, which opens nothing else, or the operator's token. */
export const requireHealthReader = (async (c) => {
  await readToken(c, [...healthTokens(c.env), ...operatorTokens(c.env)], {
    missing: "Send a health token or the operator's token: Authorization: Bearer <HEALTH_TOKEN>",
    invalid: "This is neither a health token nor the operator's token.",
  });
}) satisfies Check;

/** Whether this is one of the operator's tokens. */
export function isOperatorToken(env: Env, token: string): Promise<boolean> {
  return isOneOf(operatorTokens(env), token);
}

function operatorTokens(env: Env): readonly string[] {
  return optionalSecretValues(env.OPERATOR_TOKEN ?? "");
}

/** Returns the token of a request. @throws ApiError not_found if no token is accepted; 401 if the request has none of those. */
async function readToken(c: AppContext, accepted: readonly string[], refusals: { missing: string; invalid: string }): Promise<string> {
  if (accepted.length === 0) throw new ApiError("not_found", "There is nothing at this path.");
  const token = bearerToken(c);
  if (token === undefined) throw unauthorized(c, "missing_api_key", refusals.missing);
  if (!(await isOneOf(accepted, token))) throw unauthorized(c, "invalid_api_key", refusals.invalid);
  return token;
}

async function isOneOf(accepted: readonly string[], token: string): Promise<boolean> {
  const matches = await Promise.all(accepted.map((expected) => isEqual(token, expected)));
  return matches.includes(true);
}

/** Returns the author and the operation of a request for the audit log. */
export function auditorOf(c: AppContext, { operationId: operation }: { operationId: string }): Auditor {
  return { actor: c.get("actor"), operation, requestId: c.get("requestId") };
}

/** Returns the context of an operation on a workspace, with the author for the audit log. */
export function operatorOperationOf(c: AppContext, route: { operationId: string }, workspaceId: string): OperatorOperation & AuditedChange {
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
  if (!isMapped(c.env, workspaceId)) throw noWorkspace();
  c.set("logFields", { workspaceId });
  const op = operatorOperationOf(c, route, workspaceId);
  const [[workspace]] = await op.db.batch([findWorkspace(op.db, workspaceId)]);
  if (!workspace) throw noWorkspace();
  return { workspace, op };
}

export function noWorkspace(): ApiError<"not_found"> {
  return new ApiError("not_found", "No workspace with this id, or it was deleted. Check the id in the list of workspaces.");
}
