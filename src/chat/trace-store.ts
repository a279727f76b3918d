import { firstIdAt, timeOf } from "../platform/db/ids.ts";
import { DAY_MS } from "../platform/time.ts";
import type { Trace } from "./trace-wire.ts";

const PREFIX = "trace:";
export const TRACE_LIFETIME_MS = 30 * DAY_MS;

/** The traces of a conversation's answers, in the storage of its object. They are erased together with the conversation. */
export class TraceStore {
  constructor(private readonly kv: SyncKvStorage) {}

  put(trace: Trace): void {
    this.kv.put(PREFIX + trace.message_id, trace);
  }

  find(messageId: string): Trace | undefined {
    const trace = messageId < expiredBefore() ? undefined : this.kv.get<Trace>(PREFIX + messageId);
    return trace && withAgentVersion(trace);
  }

  /** Lists the traces of the answers after a message, oldest first. */
  list(afterId: string, limit: number): Trace[] {
    const from = afterId > expiredBefore() ? { startAfter: PREFIX + afterId } : { start: PREFIX + expiredBefore() };
    return [...this.kv.list<Trace>({ prefix: PREFIX, ...from, limit })].map(([, trace]) => withAgentVersion(trace));
  }

  /** Deletes the traces that have expired. */
  prune(): void {
    const expired = [...this.kv.list({ prefix: PREFIX, end: PREFIX + expiredBefore() })];
    for (const [key] of expired) this.kv.delete(key);
  }

  /** When the oldest trace expires, in Unix milliseconds; undefined if there is none. */
  get nextExpiryMs(): number | undefined {
    const [first] = this.kv.list({ prefix: PREFIX, limit: 1 });
    return first && timeOf(first[0].slice(PREFIX.length)) + TRACE_LIFETIME_MS + 1;
  }
}

/** Returns a trace with `agent_version`, which traces of 1.0.0 lack. */
function withAgentVersion(trace: Trace): Trace {
  return { ...trace, agent_version: trace.agent_version ?? null };
}

/** The ids of answers whose traces have expired are smaller than this. */
function expiredBefore(): string {
  return firstIdAt(Date.now() - TRACE_LIFETIME_MS);
}
