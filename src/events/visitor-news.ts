import { waitUntil } from "cloudflare:workers";
import { type Channel, type ConversationStatus, VISITOR_CHANNELS } from "../platform/db/columns.ts";
import { objectOf } from "../platform/objects.ts";
import { logRarely } from "../platform/telemetry/log.ts";

interface ChangedConversation {
  id: string;
  workspaceId: string;
  channel: Channel;
  status: ConversationStatus;
}

/**
 * Tells the visitor's pages that have the conversation open that something changed in it, once that is committed. Nothing waits
 * for it, and a page reads again without it.
 */
export function tellVisitor(env: Env, { id, workspaceId, channel, status }: ChangedConversation): void {
  if (!(VISITOR_CHANNELS as readonly Channel[]).includes(channel)) return;
  const told = objectOf(env, env.SESSION, `${workspaceId}/${id}`).tellVisitor(id, status);
  waitUntil(Promise.resolve(told).catch((error: unknown) => logRarely("visitor_not_told", {}, error)));
}

/** Has the visitor's pages connect again, whose tokens may have ended. A conversation that is resolved has no page to tell. */
export function checkVisitor(env: Env, { id, workspaceId, status }: ChangedConversation): void {
  if (status === "resolved") return;
  const checked = objectOf(env, env.SESSION, `${workspaceId}/${id}`).checkVisitors();
  waitUntil(Promise.resolve(checked).catch((error: unknown) => logRarely("visitor_not_checked", {}, error)));
}
