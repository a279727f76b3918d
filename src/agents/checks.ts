import { isUuid } from "../platform/db/ids.ts";
import type { Check } from "../platform/http/checks.ts";
import { ApiError } from "../platform/http/errors.ts";
import { operationOf } from "../workspaces/checks.ts";
import { findAgentBySlug } from "./store.ts";

/** Returns a 404 error for an agent that was named by a slug. */
export function noAgent(): ApiError<"not_found"> {
  return new ApiError("not_found", "No agent with this id or slug. Check it and that it belongs to this workspace.");
}

/** Returns a 404 error for a version of an agent. */
export function noVersion(): ApiError<"not_found"> {
  return new ApiError("not_found", "The agent has no version with this number, or it is not kept any more. List its versions.");
}

/** Lets the operations of a caller's workspace take an agent's slug wherever they take its id. */
export const acceptSlugs: Check = (c) => {
  c.set("agentIdOf", async (named) => {
    if (isUuid(named)) return named;
    const { db, workspaceId } = operationOf(c);
    const [[agent]] = await db.batch([findAgentBySlug(db, workspaceId, named)]);
    if (!agent) throw noAgent();
    return agent.id;
  });
};
