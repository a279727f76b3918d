import { sendDeliveryWakeUps } from "../events/outbox.ts";
import { UnreadableSecretError } from "../platform/crypto/secrets.ts";
import { dbFor } from "../platform/db/client.ts";
import { type Exchange, guardedFetch } from "../platform/egress/guarded-fetch.ts";
import { WEBHOOK_POLICY } from "../platform/egress/url-rules.ts";
import { Meter } from "../platform/telemetry/meter.ts";
import { type JobResult, measureJob } from "../platform/telemetry/report.ts";
import { attemptRow, type LeasedDelivery, recordFailure, recordSuccess } from "./delivery-store.ts";
import { GONE_STATUS, nextAttemptAt } from "./retry-schedule.ts";
import type { EndpointRow } from "./endpoints.ts";
import { openSecret, signatureHeaders } from "./signature.ts";
import type { AttemptRow, DeliveryRow } from "./wire.ts";

/** The time limit of the whole HTTP exchange. A receiver that needs longer should respond first and process afterwards. */
const TIMEOUT_MS = 15_000;
/** Response bytes that the delivery log keeps. */
const MAX_RESPONSE_BYTES = 8 * 1024;
const USER_AGENT = "Support-Agent-Webhooks/1.0";

/** A leased delivery with everything that is needed to send it. */
export interface SendableDelivery extends LeasedDelivery {
  eventId: string;
  payload: string;
  endpoint: Pick<EndpointRow, "url" | "secret" | "previousSecret" | "previousSecretUntil" | "olderSecrets">;
}

/** The environment of an attempt. */
export interface AttemptRun {
  env: Env;
  meter: Meter;
  now: () => number;
  random: () => number;
}

/**
 * Makes one attempt of a delivery: a signed POST, one batch that records it and, after a failure, a delayed wake-up for the
 * next attempt.
 * @returns the delivery and its attempt as recorded; undefined when the lease was lost to another run, which records its own.
 */
export async function attemptDelivery(
  run: AttemptRun,
  delivery: SendableDelivery,
): Promise<{ delivery: DeliveryRow; attempt: AttemptRow } | undefined> {
  const fields = { webhook_id: delivery.webhookId, delivery_id: delivery.id, event_id: delivery.eventId };
  const head = { job: "webhook_attempt", workspaceId: delivery.workspaceId, attempts: delivery.attemptCount + 1, fields } as const;
  const meter = new Meter();
  const { result, recorded } = await measureJob(run.env, head, () => sendAndRecord({ ...run, meter }, delivery), toJobResult, meter);
  run.meter.add(meter.cost);
  return recorded && { delivery: recorded, attempt: attemptRow(delivery, result) };
}

interface Attempt {
  result: AttemptResult;
  /** Undefined when the lease was lost. */
  recorded: DeliveryRow | undefined;
}

async function sendAndRecord(run: AttemptRun, delivery: SendableDelivery): Promise<Attempt> {
  const result = await send(run, delivery);
  const recorded = await record(run, delivery, result);
  if (recorded?.status === "pending") {
    // An endpoint that has just failed is served on the slow queue.
    const delaySeconds = Math.max(0, Math.ceil(((recorded.nextAttemptAt ?? 0) - run.now()) / 1000));
    await sendDeliveryWakeUps(run.env.SLOW_DELIVERY_QUEUE, [recorded.id], delaySeconds);
  }
  return { result, recorded };
}

async function send({ env, now }: AttemptRun, { id, eventId, webhookId, payload, endpoint }: SendableDelivery): Promise<AttemptResult> {
  const startedAtMs = now();
  const body = new TextEncoder().encode(payload);
  const secrets = await readSecrets(env, webhookId, endpoint, startedAtMs);
  if (!secrets) return failedResult("secret_unreadable", { startedAtMs, durationMs: 0, url: endpoint.url });
  const signature = await signatureHeaders({ id: eventId, timestampMs: startedAtMs, body }, secrets);
  const exchange = await guardedFetch(env, {
    url: endpoint.url,
    policy: WEBHOOK_POLICY,
    method: "POST",
    userAgent: USER_AGENT,
    headers: { ...requestHeaders(id, eventId), ...signature },
    body,
    timeoutMs: TIMEOUT_MS,
    maxResponseBytes: MAX_RESPONSE_BYTES,
  });
  return toResult(exchange, endpoint.url, startedAtMs);
}

/** The headers that are the same in each attempt of a delivery. */
export function requestHeaders(deliveryId: string, eventId: string): Record<string, string> {
  return { "Content-Type": "application/json", "User-Agent": USER_AGENT, "X-Delivery-Id": deliveryId, "webhook-id": eventId };
}

/** The secrets that sign now: the current one and those that were replaced within a day. Undefined when one cannot be decrypted. */
async function readSecrets(env: Env, webhookId: string, endpoint: SendableDelivery["endpoint"], nowMs: number) {
  const { secret, previousSecret, previousSecretUntil, olderSecrets } = endpoint;
  const previous = previousSecret === null ? [] : [{ secret: previousSecret, untilMs: previousSecretUntil ?? 0 }];
  const replaced = [...previous, ...olderSecrets].filter(({ untilMs }) => nowMs < untilMs);
  try {
    return await Promise.all([{ secret }, ...replaced].map((one) => openSecret(env, one.secret, webhookId)));
  } catch (error) {
    if (!(error instanceof UnreadableSecretError)) throw error;
    return undefined;
  }
}

async function record(run: AttemptRun, delivery: SendableDelivery, result: AttemptResult): Promise<DeliveryRow | undefined> {
  const db = dbFor(run.env, delivery.id, run.meter);
  if (result.error === null) {
    const [, , [succeeded]] = await db.batch(recordSuccess(db, delivery, result));
    return succeeded;
  }
  const failure = { ...result, number: delivery.attemptCount + 1, endedAtMs: result.startedAtMs + result.durationMs };
  const retryAt = delivery.trigger === "test" ? undefined : nextAttemptAt(failure, run.random());
  const [, , [failed]] = await db.batch(recordFailure(db, delivery, result, { retryAt, isGone: result.status === GONE_STATUS }));
  return failed;
}

/** The payload, the secret and the URL are not logged: the path and query of the URL may hold secrets. */
function toJobResult({ result, recorded }: Attempt): JobResult {
  const next = recorded?.nextAttemptAt ? new Date(recorded.nextAttemptAt).toISOString() : null;
  return {
    // "superseded": the attempt outlasted its lease, so the log holds another run's attempt.
    outcome: recorded?.status ?? "superseded",
    fields: { response_status: result.status, error: result.error, exchange_ms: result.durationMs, next_attempt_at: next },
  };
}

/** Why an attempt failed. With `secret_unreadable` it could not be signed, so nothing was sent. */
export const ATTEMPT_ERRORS = ["timeout", "connection_failed", "blocked_url", "http_error", "secret_unreadable"] as const;

/** The result of one attempt, as its row stores it. */
export interface AttemptResult {
  startedAtMs: number;
  durationMs: number;
  url: string;
  /** Null when there was no response. */
  status: number | null;
  /** The beginning of the response's body. */
  body: string | null;
  isTruncated: boolean;
  error: (typeof ATTEMPT_ERRORS)[number] | null;
  /** The response header. */
  retryAfter: string | null;
}

type RequestFields = Pick<AttemptResult, "startedAtMs" | "durationMs" | "url">;

function failedResult(error: AttemptResult["error"], request: RequestFields): AttemptResult {
  return { ...request, status: null, body: null, isTruncated: false, error, retryAfter: null };
}

/** Returns the result of an attempt. Any 2xx is a success. Redirects are not followed and count as failures. */
function toResult(exchange: Exchange, url: string, startedAtMs: number): AttemptResult {
  const request = { startedAtMs, durationMs: exchange.durationMs, url };
  if (exchange.outcome !== "answered")
    return failedResult(exchange.outcome === "too_many_redirects" ? "http_error" : exchange.outcome, request);
  const { status, headers, body, isTruncated } = exchange;
  const isSuccess = status >= 200 && status < 300;
  // In stream mode the decoder drops a character that the truncation cut in half.
  const text = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(body, { stream: isTruncated });
  return { ...request, status, body: text, isTruncated, error: isSuccess ? null : "http_error", retryAfter: headers.get("Retry-After") };
}
