import { waitUntil } from "cloudflare:workers";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { secretValues } from "../config.ts";
import { keyedHash, sha256OfPieces } from "../crypto/hashes.ts";
import { decryptSecret, encryptSecret } from "../crypto/secrets.ts";
import { type Database, newOperation } from "../db/client.ts";
import { seededIds } from "../db/ids.ts";
import { readAtMost } from "../read-stream.ts";
import { logProblem } from "../telemetry/log.ts";
import type { Check } from "./checks.ts";
import type { AppContext } from "./context.ts";
import { handleError } from "./error-handler.ts";
import { ApiError, invalid, retryAfter } from "./errors.ts";
import { eventStream } from "./responses.ts";
import { storeResponse, KEY_LIFETIME_MS, linkConversation, releaseKey, reserveKey, takeOver } from "./idempotency-store.ts";

const HEADER = "Idempotency-Key";
const REPLAYED = "Idempotent-Replayed";
export const MAX_KEY_LENGTH = 255;
/**
 * The lease is longer than any request of an operation without `joinRetries` or `leaseFor`, even a webhook's test of 15 s. After the
 * lease, the request is considered failed.
 */
const LEASE_MS = 30_000;
/** Keys expire each minute, a day after their first use. */
const MANY_KEYS_RETRY_SECONDS = 600;
/** A longer response is not kept. */
const MAX_RESPONSE_BYTES = 64 * 1024;

/** The header as the OpenAPI document describes it. */
export const IDEMPOTENCY_PARAMETER = {
  in: "header" as const,
  name: HEADER,
  required: false,
  description: "A request that is repeated with the same key within 24 hours takes effect once, and gets the same response.",
  schema: { type: "string" as const, minLength: 1, maxLength: MAX_KEY_LENGTH },
};

/**
 * Runs a request with an Idempotency-Key once and replays its response for a day. The ids of new records are derived from the
 * key, so that a request that was interrupted, or whose response is not kept, can run again without creating anything twice.
 */
export async function answerOnce(c: AppContext, run: () => Promise<Response>): Promise<Response> {
  const given = c.req.header(HEADER);
  if (given === undefined || !c.get("caller")) return run();
  if (given.length === 0 || given.length > MAX_KEY_LENGTH) throw invalidKey(given);
  const key = await storedKeyOf(c, given);
  const { id: workspaceId } = c.get("caller").workspace;
  const { db, nowMs } = newOperation(c.env, c.get("meter"), workspaceId);
  const leaseMs = c.get("leaseMs") ?? LEASE_MS;
  const requestHash = c.get("requestHash") ?? (await hashRequest(c));
  const record = { workspaceId, key, requestHash, leaseUntil: nowMs + leaseMs, createdAt: nowMs };
  const [, , [reserved], [stored]] = await db.batch(reserveKey(db, record, nowMs - KEY_LIFETIME_MS));
  if (!reserved && !stored) throw tooManyKeys();
  if (!reserved && stored) {
    if (stored.requestHash !== requestHash) {
      const other = c.get("isBoundToApiKey") ? "another request, or with another API key" : "another request";
      throw new ApiError("idempotency_conflict", `This Idempotency-Key was used for ${other}. Use a new one.`);
    }
    if (stored.responseStatus !== null)
      return replay(c, stored.responseStatus, await decryptBody(c.env, record, stored.responseBody ?? ""));
    if (c.get("joinsRetries")) markReplayed(c, stored.leaseUntil);
    else if (!(await db.batch([takeOver(db, record, record.leaseUntil, nowMs)]))[0].length)
      throw stillRunning(stored.leaseUntil - nowMs, leaseMs);
  }
  c.set("newIdIn", await derivedIds(record, stored?.createdAt ?? nowMs));
  const response = await responseOrError(c, run);
  const conversationId = c.get("conversationId");
  const isStream = response.headers.get("Content-Type")?.startsWith("text/event-stream");
  if (!isStream) await keepResponse(c, db, record, response);
  // The stream of an answer is not stored here, since the conversation holds it. The client waits for neither write.
  else if (c.get("joinsRetries") && conversationId !== undefined) waitUntil(db.batch([linkConversation(db, record, conversationId)]));
  else waitUntil(keepResponse(c, db, record, response));
  return response;
}

/** The key as it is stored: one with a text that is masked is stored as a keyed hash, since two keys must not become one. */
async function storedKeyOf(c: AppContext, key: string): Promise<string> {
  if (!c.get("redaction")?.finds(key)) return key;
  return `redacted:${await keyedHash(secretValues(c.env.KEY_SECRET)[0], `idempotency-key/${key}`)}`;
}

/** Returns the response, or the error as a response, since refusals are replayed too. */
async function responseOrError(c: AppContext, run: () => Promise<Response>): Promise<Response> {
  try {
    return await run();
  } catch (error) {
    return handleError(error, c);
  }
}

/** Sets the hash by which the request is compared with others that have its key, so that its body need not be kept. */
export async function hashBody(c: AppContext, body: Uint8Array): Promise<void> {
  if (c.req.header(HEADER) !== undefined) c.set("requestHash", await hashRequest(c, body));
}

function hashRequest(c: AppContext, body: Uint8Array = new Uint8Array()): Promise<string> {
  const encoder = new TextEncoder();
  const keyId = c.get("isBoundToApiKey") ? `\n${c.get("caller").key.id}` : "";
  return sha256OfPieces([encoder.encode(`${c.req.method} ${c.req.path}\n`), body, encoder.encode(keyId)]);
}

/**
 * Binds a response to the API key of its request, for operations whose response holds a secret: if another API key repeats the request, it
 * gets a conflict instead of the response. Every other response is repeated for each key that passes the checks of the operation.
 */
export const bindToApiKey: Check = (c) => {
  c.set("isBoundToApiKey", true);
};

/**
 * Lets a concurrent retry run instead of refusing it with 409, for operations that recognize it by its derived ids and give both requests
 * the same response. A streamed response therefore needs no copy here.
 */
export const joinRetries: Check = (c) => {
  c.set("joinsRetries", true);
};

/** Sets how long a request of the operation may run: a request that is repeated within this time is refused until the first one ends. */
export function leaseFor(ms: number): Check {
  return (c) => c.set("leaseMs", ms);
}

/** Marks the response as a replay, unless the key was released, which means that the first request failed. */
function markReplayed(c: AppContext, leaseUntil: number): void {
  if (leaseUntil > 0) c.header(REPLAYED, "true");
}

interface StoredKey {
  workspaceId: string;
  key: string;
}

/**
 * Keeps the response, or releases the key, so that a repeated request runs again and finds what this one made. A failure does not
 * reach the client, whose request is done; a repeated one then runs when the lease has expired.
 */
async function keepResponse(c: AppContext, db: Database, record: StoredKey, given: Response): Promise<void> {
  try {
    const response = await responseToKeep(c, record, given);
    const release = releaseKey(db, record);
    await db.batch(response ? [storeResponse(db, record, response), release] : [release]);
  } catch (error) {
    logProblem("response_not_kept", { request_id: c.get("requestId"), workspace_id: record.workspaceId }, error);
  }
}

/** The response, unless a repeated request may succeed (429, 5xx and a stream that ends with an error) or it is too long. */
async function responseToKeep(c: AppContext, record: StoredKey, response: Response) {
  const { status } = response;
  if (status === 429 || status >= 500) return undefined;
  const { body: bytes, isTruncated } = await readAtMost(response.clone().body, MAX_RESPONSE_BYTES);
  if (isTruncated) return undefined;
  const text = new TextDecoder().decode(bytes);
  if (/^event: error$/m.test(text)) return undefined;
  const body = text === "" ? "" : await encryptSecret(c.env, text, encryptionContext(record));
  return { status, body, conversationId: c.get("conversationId") ?? null };
}

/** Bodies are stored encrypted, since some hold a secret that is shown once. */
async function decryptBody(env: Env, record: StoredKey, body: string): Promise<string> {
  return body === "" ? "" : decryptSecret(env, body, encryptionContext(record));
}

/** Binds the encrypted body to its record. */
function encryptionContext({ workspaceId, key }: StoredKey): string {
  return `idempotency/${workspaceId}/${key}`;
}

/** The stored response; an error gets the id of the current request, like the header. */
function replay(c: AppContext, status: number, stored: string): Response {
  c.header(REPLAYED, "true");
  // The text of a stream begins with an event or a comment. JSON begins with neither.
  if (/^(event)?:/.test(stored)) return eventStream(c, stored);
  const { error, ...rest } = stored === "" ? {} : (JSON.parse(stored) as { error?: Record<string, unknown> });
  const body = error ? JSON.stringify({ ...rest, error: { ...error, request_id: c.get("requestId") } }) : stored;
  return c.body(body, status as ContentfulStatusCode, { "Content-Type": "application/json" });
}

/** Ids that are derived from the key and the time of its first use. */
function derivedIds({ workspaceId, key }: StoredKey, atMs: number): Promise<(shard: number) => string> {
  return seededIds(`${workspaceId}/${atMs}/${key}`, atMs);
}

/** Returns a 409 error. Its Retry-After is the time that the first request has run so far, or what is left of its lease if that is less. */
function stillRunning(leftMs: number, leaseMs: number): ApiError {
  const retryAfterSeconds = Math.ceil(Math.max(1_000, Math.min(leaseMs - leftMs, leftMs)) / 1_000);
  const message = `The first request with this Idempotency-Key is still being answered. Try again in ${retryAfterSeconds} s.`;
  return new ApiError("conflict", message, retryAfter(retryAfterSeconds));
}

function tooManyKeys(): ApiError {
  const message =
    "The workspace has used as many Idempotency-Keys as are kept for a day. Try again later, or send the request without a key.";
  return new ApiError("rate_limited", message, retryAfter(MANY_KEYS_RETRY_SECONDS));
}

function invalidKey(key: string): ApiError {
  const loc = ["header", HEADER];
  if (key.length === 0) {
    return invalid([{ loc, msg: "String should have at least 1 character", type: "string_too_short", input: key, ctx: { min_length: 1 } }]);
  }
  const msg = `String should have at most ${MAX_KEY_LENGTH} characters`;
  return invalid([{ loc, msg, type: "string_too_long", input: key, ctx: { max_length: MAX_KEY_LENGTH } }]);
}
