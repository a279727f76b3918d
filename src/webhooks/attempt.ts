import { sendDeliveryWakeUps } from "../events/outbox.ts";
import { UnreadableSecretError } from "../platform/crypto/secrets.ts";
import { type Database, dbFor } from "../platform/db/client.ts";
import { type Exchange, guardedFetch } from "../platform/egress/guarded-fetch.ts";
import { WEBHOOK_POLICY } from "../platform/egress/url-rules.ts";
import { Meter } from "../platform/telemetry/meter.ts";
import { type JobResult, measureJob } from "../platform/telemetry/report.ts";
import { attemptRow, type HeldDelivery, recordFailure, recordSuccess } from "./delivery-store.ts";
import { GONE_STATUS, nextAttemptAt } from "./retry-schedule.ts";
import { openSecret, signatureHeaders } from "./signature.ts";
import type { AttemptRow, DeliveryRow } from "./wire.ts";

/** For the whole exchange. A receiver that works longer should answer first and work then. */
const TIMEOUT_MS = 15_000;
/** Enough to see what went wrong; the log keeps it for each attempt. */
const MAX_RESPONSE_BYTES = 8 * 1024;
const USER_AGENT = "Support-Agent-Webhooks/1.0";

/** The environment of an attempt: bindings, meter, clock and randomness. */
export interface AttemptRun {
  env: Env;
  meter: Meter;
  now: () => number;
  random: () => number;
}

/** A delivery under lease, with all that sending it needs. */
export interface Sendable extends HeldDelivery {
  eventId: string;
  payload: string;
  endpoint: SendingEndpoint;
}

interface SendingEndpoint {
  url: string;
  secret: string;
  previousSecret: string | null;
  previousSecretUntil: number | null;
}

/**
 * Sends a delivery once: a signed POST through the egress guard, one batch that records the attempt, and a wake-up for
 * the next attempt after a failure.
 * @returns the delivery and its attempt as recorded; undefined when the lease was lost to another run, which then
 * records its own.
 */
export async function attemptDelivery(
  run: AttemptRun,
  held: Sendable,
): Promise<{ delivery: DeliveryRow; attempt: AttemptRow } | undefined> {
  const fields = { webhook_id: held.webhookId, delivery_id: held.id, event_id: held.eventId };
  const head = { job: "webhook_attempt", workspaceId: held.workspaceId, attempts: held.attemptCount + 1, fields } as const;
  const meter = new Meter();
  const { result, delivery } = await measureJob(run.env, head, () => sendAndRecord({ ...run, meter }, held), endOf, meter);
  run.meter.add(meter.cost);
  return delivery && { delivery, attempt: attemptRow(held, result) };
}

interface Attempted {
  result: AttemptResult;
  /** Undefined when another attempt had taken the delivery over. */
  delivery: DeliveryRow | undefined;
}

async function sendAndRecord(run: AttemptRun, held: Sendable): Promise<Attempted> {
  const result = await send(run, held);
  const delivery = await record(run, dbFor(run.env, held.id, run.meter), held, result);
  if (delivery?.status === "pending") await wakeAgain(run, delivery);
  return { result, delivery };
}

async function send({ env, now }: AttemptRun, { id, eventId, webhookId, payload, endpoint }: Sendable): Promise<AttemptResult> {
  const startedAtMs = now();
  const body = new TextEncoder().encode(payload);
  const secrets = await openSecrets(env, webhookId, secretsOf(endpoint, startedAtMs));
  if (!secrets) return unsignedResult(endpoint.url, startedAtMs);
  const signature = await signatureHeaders({ id: eventId, timestampMs: startedAtMs, body }, secrets);
  const exchange = await guardedFetch(env, {
    url: endpoint.url,
    policy: WEBHOOK_POLICY,
    method: "POST",
    userAgent: USER_AGENT,
    headers: { "Content-Type": "application/json", "X-Delivery-Id": id, ...signature },
    body,
    timeoutMs: TIMEOUT_MS,
    maxResponseBytes: MAX_RESPONSE_BYTES,
  });
  return resultOf(exchange, endpoint.url, startedAtMs);
}

/** Undefined when one cannot be read: its receiver would refuse what it has not signed. */
async function openSecrets(env: Env, webhookId: string, stored: readonly string[]): Promise<string[] | undefined> {
  try {
    return await Promise.all(stored.map((secret) => openSecret(env, secret, webhookId)));
  } catch (error) {
    if (!(error instanceof UnreadableSecretError)) throw error;
    return undefined;
  }
}

/** The secrets that sign now: the current one first and, for a while, the one before. */
function secretsOf({ secret, previousSecret, previousSecretUntil }: SendingEndpoint, nowMs: number): string[] {
  const isValid = previousSecret !== null && previousSecretUntil !== null && nowMs < previousSecretUntil;
  return isValid ? [secret, previousSecret] : [secret];
}

async function record(run: AttemptRun, db: Database, held: Sendable, result: AttemptResult): Promise<DeliveryRow | undefined> {
  if (result.error === null) {
    const [, , [delivery]] = await db.batch(recordSuccess(db, held, result));
    return delivery;
  }
  const failure = { ...result, number: held.attemptCount + 1, endedAtMs: result.startedAtMs + result.durationMs };
  const next = held.trigger === "test" ? undefined : nextAttemptAt(failure, run.random());
  const consequence = { nextAttemptAt: next, isGone: result.status === GONE_STATUS };
  const [, , [delivery]] = await db.batch(recordFailure(db, held, result, consequence));
  return delivery;
}

/** An endpoint that has just failed is served on the slow lane. */
async function wakeAgain({ env, now }: AttemptRun, { id, nextAttemptAt }: DeliveryRow): Promise<void> {
  const delaySeconds = Math.max(0, Math.ceil(((nextAttemptAt ?? 0) - now()) / 1000));
  await sendDeliveryWakeUps(env.SLOW_DELIVERY_QUEUE, [id], delaySeconds);
}

/** Without payload, secret, or URL, whose path and query may hold secrets too. */
function endOf({ result, delivery }: Attempted): JobResult {
  const next = delivery?.nextAttemptAt ? new Date(delivery.nextAttemptAt).toISOString() : null;
  return {
    // "superseded": it took longer than the delivery was held, so another attempt stands in the log.
    outcome: delivery?.status ?? "superseded",
    fields: { response_status: result.status, error: result.error, exchange_ms: result.durationMs, next_attempt_at: next },
  };
}

/** Why an attempt failed. `secret_unreadable`: it could not be signed, so that nothing was sent. */
export const ATTEMPT_ERRORS = ["timeout", "connection_failed", "blocked_url", "http_error", "secret_unreadable"] as const;

/** The result of one attempt, as its row stores it. */
export interface AttemptResult {
  startedAtMs: number;
  durationMs: number;
  status: number | null;
  /** The beginning of the answer's body. */
  body: string | null;
  isTruncated: boolean;
  error: (typeof ATTEMPT_ERRORS)[number] | null;
  /** The header of that name. */
  retryAfter: string | null;
  /** Where it was sent. */
  url: string;
}

/** The result of an attempt that was not sent, because the endpoint's secret cannot be decrypted. */
function unsignedResult(url: string, startedAtMs: number): AttemptResult {
  const error = "secret_unreadable";
  return { startedAtMs, durationMs: 0, url, status: null, body: null, isTruncated: false, error, retryAfter: null };
}

/** The result of an HTTP exchange: any 2xx is a success. Redirects are not followed and count as failures. */
function resultOf(exchange: Exchange, url: string, startedAtMs: number): AttemptResult {
  const sent = { startedAtMs, durationMs: exchange.durationMs, url };
  if (exchange.outcome !== "answered") {
    const error = exchange.outcome === "too_many_redirects" ? "http_error" : exchange.outcome;
    return { ...sent, status: null, body: null, isTruncated: false, error, retryAfter: null };
  }
  const { status, headers, body, isTruncated } = exchange;
  const isSuccess = status >= 200 && status < 300;
  return {
    ...sent,
    status,
    body: textOf(body, isTruncated),
    isTruncated,
    error: isSuccess ? null : "http_error",
    retryAfter: headers.get("Retry-After"),
  };
}

/** Whatever the bytes are, text comes of them. A character that the cut has torn is left out. */
function textOf(body: Uint8Array, isTruncated: boolean): string {
  return new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(body, { stream: isTruncated });
}
