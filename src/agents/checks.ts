import type { Check } from "../platform/http/checks.ts";
import { notFound } from "../platform/http/errors.ts";
import { isUuid } from "../platform/http/fields.ts";
import { operationOf } from "../workspaces/checks.ts";
import { findAgentBySlug } from "./store.ts";

/** Lets the operations of a caller's workspace take an agent's slug wherever they take its id. */
export const acceptSlugs: Check = (c) => {
  c.set("agentIdOf", async (named) => {
    if (isUuid(named)) return named;
    const { db, workspaceId } = operationOf(c);
    const [[agent]] = await db.batch([findAgentBySlug(db, workspaceId, named)]);
    if (!agent) throw notFound("agent");
    return agent.id;
  });
};
