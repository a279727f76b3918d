import { waitUntil } from "cloudflare:workers";
import type { MiddlewareHandler } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { sha256Hex } from "../crypto/hashes.ts";
import { decryptSecret, encryptSecret } from "../crypto/secrets.ts";
import { type Database, dbFor } from "../db/client.ts";
import { seededIds } from "../db/ids.ts";
import type { AppContext, AppEnv } from "./context.ts";
import { ApiError, invalid } from "./errors.ts";
import { storeResponse, KEY_LIFETIME_MS, linkConversation, releaseKey, reserveKey, takeOver } from "./idempotency-store.ts";

const HEADER = "Idempotency-Key";
const REPLAYED = "Idempotent-Replayed";
const MAX_KEY_LENGTH = 255;
/** Longer than any request takes that cannot be joined, a webhook's test of 15 s included: after it whoever held the key is dead. */
const LEASE_MS = 30_000;

/** The header as the OpenAPI document describes it. */
export const IDEMPOTENCY_PARAMETER = {
  in: "header" as const,
  name: HEADER,
  required: false,
  description: "The same key with the same request is done once within 24 hours, and answered the same.",
  schema: { type: "string" as const, minLength: 1, maxLength: MAX_KEY_LENGTH },
};

/**
 * With an Idempotency-Key the same request is done once and answered the same, for a day. What it creates gets
 * identifiers that follow from the key, so that a request whose answer was lost, or that died half-way, can be done
 * again without doing anything twice.
 */
export const idempotent: MiddlewareHandler<AppEnv> = async (c, next) => {
  const key = c.req.header(HEADER);
  if (key === undefined || !c.get("caller")) return next();
  if (key.length === 0 || key.length > MAX_KEY_LENGTH) throw invalidKey(key);
  const { id: workspaceId } = c.get("caller").workspace;
  const db = dbFor(c.env, workspaceId, c.get("meter"));
  const nowMs = Date.now();
  const requestHash = await sha256Hex(`${c.req.method} ${c.req.path}\n${c.get("bodyText") ?? ""}`);
  const record = { workspaceId, key, requestHash, leaseUntil: nowMs + LEASE_MS, createdAt: nowMs };
  const [, [reserved], [stored]] = await db.batch(reserveKey(db, record, nowMs - KEY_LIFETIME_MS));
  if (!reserved && stored) {
    if (stored.requestHash !== requestHash) {
      throw new ApiError("idempotency_conflict", "This Idempotency-Key was used for another request. Use a new key for a new request.");
    }
    if (stored.responseStatus !== null) return replay(c, stored.responseStatus, await openBody(c.env, record, stored.responseBody ?? ""));
    if (c.get("joinsRetries")) markJoined(c, stored.leaseUntil);
    else if (!(await db.batch([takeOver(db, record, record.leaseUntil, nowMs)]))[0].length) throw stillRunning(stored.leaseUntil - nowMs);
  }
  c.set("newId", await idsOf(record, stored?.createdAt ?? nowMs));
  await next();
  await keep(c, db, record);
};

/**
 * For operations that can be asked again while they are being done: a repeated request is not turned away, but done with
 * the same identifiers, by which the operation knows it and answers both alike. So a streamed answer needs no copy here.
 */
export const joinRetries: MiddlewareHandler<AppEnv> = async (c, next) => {
  c.set("joinsRetries", true);
  await next();
};

/** A request whose first try failed on our side, and let go of its key, is not repeated but done. */
function markJoined(c: AppContext, leaseUntil: number): void {
  if (leaseUntil > 0) c.header(REPLAYED, "true");
}

interface StoredKey {
  workspaceId: string;
  key: string;
}

/** Keeps what was answered; what failed on our side may be tried again. */
async function keep(c: AppContext, db: Database, record: StoredKey): Promise<void> {
  const { status } = c.res;
  if (status >= 500) return void (await db.batch([releaseKey(db, record)]));
  const streamed = c.get("streamedConversation");
  // The client need not wait for it.
  if (streamed !== undefined) return waitUntil(db.batch([linkConversation(db, record, streamed)]));
  const text = await c.res.clone().text();
  const body = text === "" ? "" : await encryptSecret(c.env, text, placeOf(record));
  await db.batch([storeResponse(db, record, { status, body, conversationId: conversationOf(text) })]);
}

/** A response as it was; it is kept encrypted, since some hold a secret that is shown once. */
async function openBody(env: Env, record: StoredKey, body: string): Promise<string> {
  return body === "" ? "" : decryptSecret(env, body, placeOf(record));
}

/** Where a response is kept: it decrypts nowhere else. */
function placeOf({ workspaceId, key }: StoredKey): string {
  return `idempotency/${workspaceId}/${key}`;
}

/** The conversation that a response tells of: what it says of a person is erased with it. */
function conversationOf(body: string): string | null {
  const { conversation_id: id } = body === "" ? {} : (JSON.parse(body) as { conversation_id?: unknown });
  return typeof id === "string" ? id : null;
}

/** The answer as it was kept; an error names the request that it answers now, as its header does. */
function replay(c: AppContext, status: number, kept: string): Response {
  c.header(REPLAYED, "true");
  const { error, ...rest } = kept === "" ? {} : (JSON.parse(kept) as { error?: Record<string, unknown> });
  const body = error ? JSON.stringify({ ...rest, error: { ...error, request_id: c.get("requestId") } }) : kept;
  return c.body(body, status as ContentfulStatusCode, { "Content-Type": "application/json" });
}

/** Identifiers that follow from the key and the time of its first use. */
function idsOf({ workspaceId, key }: StoredKey, atMs: number): Promise<(shard: number) => string> {
  return seededIds(`${workspaceId}/${atMs}/${key}`, atMs);
}

/** A request that has run for so long may take as long again; one that died is done anew as soon as its lease has run out. */
function stillRunning(leftMs: number): ApiError {
  const retryInSeconds = Math.ceil(Math.max(1_000, Math.min(LEASE_MS - leftMs, leftMs)) / 1_000);
  const message = `The first request with this Idempotency-Key is still being answered. Try again in ${retryInSeconds} s.`;
  return new ApiError("conflict", message, { headers: { "Retry-After": String(retryInSeconds) } });
}

function invalidKey(key: string): ApiError {
  const loc = ["header", HEADER];
  if (key.length === 0) {
    return invalid([{ loc, msg: "String should have at least 1 character", type: "string_too_short", input: key, ctx: { min_length: 1 } }]);
  }
  const msg = `String should have at most ${MAX_KEY_LENGTH} characters`;
  return invalid([{ loc, msg, type: "string_too_long", input: key, ctx: { max_length: MAX_KEY_LENGTH } }]);
}
