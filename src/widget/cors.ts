import { z } from "@hono/zod-openapi";
import { hasDatabase } from "../platform/db/bindings.ts";
import { dbFor } from "../platform/db/client.ts";
import type { Check } from "../platform/http/checks.ts";
import type { AppContext } from "../platform/http/context.ts";
import { ApiError } from "../platform/http/errors.ts";
import { truncate } from "../platform/text.ts";
import { limitAddress } from "./rate-limit.ts";
import { findAllowedOrigins } from "./store.ts";

/** How long a browser may cache a preflight. A changed list of origins takes effect within this time. */
const PREFLIGHT_SECONDS = 600;
const ANY_ORIGIN = "*";
/** How many characters of an origin an error repeats. */
const MAX_ORIGIN_LENGTH = 200;

const AGENT_PATH = /^\/widget\/v1\/agents\/([^/]+)/;
const CONVERSATION_PATH = /^\/widget\/v1\/conversations\/([^/]+)/;

/**
 * Lets browsers read responses, and answers their preflights. Any page may read an error, so that its developer sees in the
 * browser's console what is wrong. Only pages of the agent's allowed origins get other responses.
 */
export const cors: Check = async (c) => {
  c.header("Vary", "Origin");
  c.header("Cache-Control", "no-store");
  c.header("Access-Control-Allow-Origin", c.req.header("Origin"));
  c.header("Access-Control-Expose-Headers", "X-Request-Id, Retry-After, X-Unknown-Fields");
  limitAddress(c);
  if (c.req.method !== "OPTIONS") return undefined;
  c.set("answeredBy", "preflight");
  await checkPreflight(c);
  c.header("Access-Control-Allow-Methods", "GET, POST, OPTIONS");
  c.header("Access-Control-Allow-Headers", "Authorization, Content-Type, Idempotency-Key, Last-Event-ID");
  c.header("Access-Control-Max-Age", String(PREFLIGHT_SECONDS));
  return c.body(null, 204);
};

/**
 * Admits requests without an origin, requests of the service's own pages, and requests of the agent's allowed origins.
 * @throws ApiError origin_not_allowed.
 */
export function checkOrigin(c: AppContext, allowedOrigins: readonly string[]): void {
  const origin = c.req.header("Origin");
  if (origin === undefined || origin === new URL(c.req.url).origin) return;
  if (allowedOrigins.includes(origin) || allowedOrigins.includes(ANY_ORIGIN)) return;
  throw new ApiError(
    "origin_not_allowed",
    `Pages of ${truncate(origin, MAX_ORIGIN_LENGTH)} may not use the agent. Add this origin to the agent's allowed_origins.`,
  );
}

/** Whether a page of this host may use the agent. */
export function isAllowedHost(c: AppContext, allowedOrigins: readonly string[], hostname: string): boolean {
  const origins = [new URL(c.req.url).origin, ...allowedOrigins];
  return origins.some((origin) => origin === ANY_ORIGIN || new URL(origin).hostname === hostname);
}

/** Preflights for unknown agents pass, so that the request itself can get its 404. */
async function checkPreflight(c: AppContext): Promise<void> {
  const agentId = idIn(AGENT_PATH, c.req.path);
  const conversationId = idIn(CONVERSATION_PATH, c.req.path);
  const id = agentId ?? conversationId;
  if (id === undefined || c.req.header("Origin") === undefined || !hasDatabase(c.env, id)) return;
  const db = dbFor(c.env, id, c.get("meter"));
  const [[agent]] = await db.batch([findAllowedOrigins(db, agentId === undefined ? { conversationId: id } : { agentId })]);
  if (agent) checkOrigin(c, agent.allowedOrigins);
}

function idIn(pattern: RegExp, path: string): string | undefined {
  return z.guid().toLowerCase().safeParse(pattern.exec(path)?.[1]).data;
}
