import { firstIdAt, timeOf } from "../platform/db/ids.ts";
import { DAY_MS } from "../platform/time.ts";
import type { Trace } from "./trace-wire.ts";

const PREFIX = "trace:";
/** How long a trace is kept. */
export const TRACE_LIFETIME_MS = 30 * DAY_MS;

/** The traces of a conversation's answers, in its object's storage, where they are erased with the rest of it. */
export class TraceStore {
  constructor(private readonly kv: SyncKvStorage) {}

  /** Keeps a trace until it expires. */
  put(trace: Trace): void {
    this.kv.put(PREFIX + trace.message_id, trace);
  }

  find(messageId: string): Trace | undefined {
    return messageId < expiredBefore() ? undefined : this.kv.get<Trace>(PREFIX + messageId);
  }

  /** So many traces, oldest first, after that of a message. */
  list(afterId: string, limit: number): Trace[] {
    const from = afterId > expiredBefore() ? { startAfter: PREFIX + afterId } : { start: PREFIX + expiredBefore() };
    return [...this.kv.list<Trace>({ prefix: PREFIX, ...from, limit })].map(([, trace]) => trace);
  }

  /** Deletes the traces that have expired. */
  prune(): void {
    const expired = [...this.kv.list({ prefix: PREFIX, end: PREFIX + expiredBefore() })];
    for (const [key] of expired) this.kv.delete(key);
  }

  /** When the next one expires; undefined where there is none. */
  get nextExpiryMs(): number | undefined {
    const [first] = this.kv.list({ prefix: PREFIX, limit: 1 });
    return first && timeOf(first[0].slice(PREFIX.length)) + TRACE_LIFETIME_MS + 1;
  }
}

/** The ids of the answers whose traces have expired sort before this. */
function expiredBefore(): string {
  return firstIdAt(Date.now() - TRACE_LIFETIME_MS);
}
