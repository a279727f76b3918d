import { env } from "cloudflare:workers";
import { Webhook } from "standardwebhooks";
import { vi } from "vitest";
import { newId, seededId, shardOf } from "../../src/platform/db/ids.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { sweep } from "../../src/sweep/sweep.ts";
import { attemptDelivery, type SendableDelivery } from "../../src/webhooks/attempt.ts";
import type { SendState } from "../../src/webhooks/delivery-sender.ts";
import { sendDeliveries } from "../../src/webhooks/consumer.ts";
import type { DeliveryQueue } from "../../src/webhooks/delivery-store.ts";
import { newSecret, sealSecret } from "../../src/webhooks/signature.ts";
import { createWorkspace, envWith, query, type Workspace } from "../harness.ts";
import { newHost, type ReceivedRequest } from "../outbound.ts";

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;

/** An endpoint whose receiver has a host of its own. */
export interface Receiver {
  workspace: Workspace;
  id: string;
  host: string;
  url: string;
  secret: string;
}

export interface DeliveryState {
  id: string;
  status: string;
  attempt_count: number;
  next_attempt_at: number | null;
  lease_until: number | null;
  completed_at: number | null;
}

/** Adds an endpoint with a new host; `changes` are columns of its row. */
export async function addReceiver(workspace: Workspace, changes: Record<string, unknown> = {}): Promise<Receiver> {
  const id = newId(shardOf(workspace.id), Date.now());
  const [host, secret] = [newHost(), newSecret()];
  const url = `https://${host}/hooks?token=hidden`;
  const row = {
    id,
    workspace_id: workspace.id,
    url,
    events: '["*"]',
    enabled: 1,
    secret: await sealSecret(env, secret, id),
    created_at: 1,
    updated_at: 1,
    ...changes,
  };
  await insert("webhook_endpoints", row);
  return { workspace, id, host, url, secret };
}

/** Creates a workspace with one endpoint. */
export async function createReceiver(changes: Record<string, unknown> = {}): Promise<Receiver> {
  return addReceiver(await createWorkspace(), changes);
}

/** Adds an event and its delivery to each of the receivers, due at a time; returns the deliveries' ids. */
export async function addEvent(receivers: Receiver[], atMs: number, changes: Record<string, unknown> = {}): Promise<string[]> {
  const { workspace } = receivers[0]!;
  const eventId = idAt(workspace, atMs);
  const payload = JSON.stringify({ id: eventId, type: "lead.created", data: { name: "Zoë 😀" } });
  await insert("events", { id: eventId, workspace_id: workspace.id, type: "lead.created", payload, created_at: atMs });
  const ids = receivers.map(() => idAt(workspace, atMs));
  for (const [at, id] of ids.entries()) {
    await insert("deliveries", {
      id,
      workspace_id: workspace.id,
      webhook_id: receivers[at]!.id,
      event_id: eventId,
      event_type: "lead.created",
      status: "pending",
      trigger: "event",
      next_attempt_at: atMs,
      created_at: atMs,
      ...changes,
    });
  }
  return ids;
}

/** Creates an id with that timestamp. */
function idAt(workspace: { id: string }, atMs: number): string {
  return seededId(shardOf(workspace.id), atMs, crypto.getRandomValues(new Uint8Array(16)));
}

async function insert(table: string, row: Record<string, unknown>): Promise<void> {
  const names = Object.keys(row);
  const statement = `INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`;
  await query(String(row["id"]), statement, ...Object.values(row));
}

export async function deliveryOf(id: string): Promise<DeliveryState> {
  const columns = "id, status, attempt_count, next_attempt_at, lease_until, completed_at";
  const [row] = await query<DeliveryState>(id, `SELECT ${columns} FROM deliveries WHERE id = ?`, id);
  return row!;
}

export function attemptsOf(id: string): Promise<Record<string, any>[]> {
  return query(id, "SELECT * FROM delivery_attempts WHERE delivery_id = ? ORDER BY number", id);
}

export async function endpointOf({ id }: Receiver): Promise<Record<string, any>> {
  const [row] = await query(id, "SELECT * FROM webhook_endpoints WHERE id = ?", id);
  return row!;
}

export async function changeEndpoint({ id }: Receiver, changes: Record<string, unknown>): Promise<void> {
  const assignments = Object.keys(changes)
    .map((name) => `${name} = ?`)
    .join(", ");
  await query(id, `UPDATE webhook_endpoints SET ${assignments} WHERE id = ?`, ...Object.values(changes), id);
}

/**
 * Reads a request as a receiver with the official library does, at a given time; throws when it is not genuine or older
 * than five minutes.
 */
export function verify(secret: string, { headers, body }: Pick<ReceivedRequest, "headers" | "body">, atMs = Date.now()): any {
  const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
  const named = Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith("webhook-")));
  vi.useFakeTimers({ toFake: ["Date"], now: atMs });
  try {
    return new Webhook(secret).verify(text, named);
  } finally {
    vi.useRealTimers();
  }
}

interface Message {
  atMs: number;
  queue: DeliveryQueue;
  id: string;
}

/** Simulates the delivery of events with a clock that the test controls. Queues deliver messages when the clock reaches their time. */
export class DeliverySimulation {
  readonly env: Env;
  /** Every message that was ever queued. */
  readonly queued: Message[] = [];
  private waiting: Message[] = [];
  /** Whether sending to a queue fails. */
  isQueueDown = false;
  random = 0.5;

  constructor(
    public nowMs: number,
    /** Wake-ups of other deliveries are dropped. */
    private readonly tracked: Set<string> = new Set(),
  ) {
    this.env = envWith({ DELIVERY_QUEUE: this.queueOf("fast"), SLOW_DELIVERY_QUEUE: this.queueOf("slow") });
  }

  /** Adds an event and wakes its deliveries. */
  async emit(receivers: Receiver[], changes: Record<string, unknown> = {}): Promise<string[]> {
    const ids = await addEvent(receivers, this.nowMs, changes);
    this.track(...ids);
    await this.env.DELIVERY_QUEUE.sendBatch(ids.map((deliveryId) => ({ body: { deliveryId } })));
    return ids;
  }

  track(...ids: string[]): void {
    for (const id of ids) this.tracked.add(id);
  }

  /** Handles a batch of wake-ups now. */
  async batch(
    queue: DeliveryQueue,
    ids: string[],
    send: (delivery: SendableDelivery) => Promise<SendState> = this.send,
  ): Promise<string[]> {
    return sendDeliveries({ env: this.env, meter: new Meter(), queue, now: () => this.nowMs, send }, ids);
  }

  /** Advances the clock and delivers what becomes due on the way. */
  async runUntil(untilMs: number): Promise<void> {
    for (;;) {
      const nextMs = Math.min(...this.waiting.map(({ atMs }) => atMs));
      if (nextMs > untilMs) break;
      this.nowMs = Math.max(this.nowMs, nextMs);
      const due = this.waiting.filter(({ atMs }) => atMs <= this.nowMs);
      this.waiting = this.waiting.filter(({ atMs }) => atMs > this.nowMs);
      for (const [queue, messages] of Map.groupBy(due, ({ queue }) => queue))
        await this.batch(
          queue,
          messages.map(({ id }) => id),
        );
    }
    this.nowMs = untilMs;
  }

  async sweep(): Promise<void> {
    await sweep(this.env, this.nowMs);
  }

  /** Loses all queued wake-ups. */
  crash(): void {
    this.waiting = [];
  }

  readonly send = async (delivery: SendableDelivery) => {
    await attemptDelivery({ env: this.env, meter: new Meter(), now: () => this.nowMs, random: () => this.random }, delivery);
    return "finished" as const;
  };

  private queueOf(queue: DeliveryQueue) {
    return {
      sendBatch: async (messages: Iterable<{ body: { deliveryId: string } }>, { delaySeconds = 0 } = {}) => {
        if (this.isQueueDown) throw new Error("The queue is down");
        for (const { body } of messages) {
          if (!this.tracked.has(body.deliveryId)) continue;
          const message = { atMs: this.nowMs + delaySeconds * SECOND, queue, id: body.deliveryId };
          this.queued.push(message);
          this.waiting.push(message);
        }
      },
    };
  }
}
