import { LruCache } from "../platform/lru-cache.ts";
import { SECOND_MS } from "../platform/time.ts";

/** The length of the sliding window. */
export const WINDOW_MS = 60_000;

/** `count` requests that were accepted in the same millisecond. */
export interface Accepted {
  atMs: number;
  count: number;
}

export interface WindowState {
  accepted: boolean;
  limit: number;
  /** The limit minus what was accepted in the last 60 s. */
  remaining: number;
  /** When `remaining` is back at the limit, if nothing more is sent. */
  resetAtMs: number;
  /** How long until a request would be accepted; 0 when this one was. */
  retryInMs: number;
}

/** An exact sliding window: at most `limit` requests are accepted in any 60 s. Refused requests do not count. */
export class SlidingWindow {
  private entries: Accepted[];
  /** Entries before this one have left the window. */
  private head = 0;
  private used: number;

  /** @param entries earlier accepted requests, oldest first. */
  constructor(entries: Accepted[] = []) {
    this.entries = entries;
    this.used = entries.reduce((sum, entry) => sum + entry.count, 0);
  }

  /** Accepts or refuses a request at `nowMs`; a clock that goes backwards counts as standing still. */
  admit(nowMs: number, limit: number): WindowState {
    const atMs = Math.max(nowMs, this.entries.at(-1)?.atMs ?? 0);
    this.expire(atMs);
    const accepted = this.used < limit;
    if (accepted) this.add(atMs);
    return {
      accepted,
      limit,
      remaining: Math.max(0, limit - this.used),
      resetAtMs: this.used === 0 ? atMs : this.entries.at(-1)!.atMs + WINDOW_MS,
      retryInMs: accepted ? 0 : this.freeAtMs(limit, atMs) - atMs,
    };
  }

  /** The accepted requests since `fromMs` that are still in the window, oldest first. */
  since(fromMs: number): Accepted[] {
    let from = this.entries.length;
    while (from > this.head && this.entries[from - 1]!.atMs >= fromMs) from--;
    return this.entries.slice(from);
  }

  private add(atMs: number): void {
    const last = this.entries.at(-1);
    if (last?.atMs === atMs && this.head < this.entries.length) last.count++;
    else this.entries.push({ atMs, count: 1 });
    this.used++;
  }

  private expire(nowMs: number): void {
    while (this.head < this.entries.length && this.entries[this.head]!.atMs + WINDOW_MS <= nowMs) {
      this.used -= this.entries[this.head++]!.count;
    }
    // Expired entries are dropped only when they are half of the array, so that each entry is moved at most once.
    if (this.head > 64 && this.head * 2 > this.entries.length) {
      this.entries = this.entries.slice(this.head);
      this.head = 0;
    }
  }

  /** When one more request fits: after the oldest entry, or later ones if the limit was lowered. */
  private freeAtMs(limit: number, nowMs: number): number {
    let surplus = this.used - limit + 1;
    for (let at = this.head; at < this.entries.length; at++) {
      surplus -= this.entries[at]!.count;
      if (surplus <= 0) return this.entries[at]!.atMs + WINDOW_MS;
    }
    return nowMs + WINDOW_MS;
  }
}

/** There is a slot for each second of the window and a few more, so that a slot has expired before it is written again. */
const SLOTS = 64;

interface Slot {
  second: number;
  accepted: Accepted[];
}

/** Stores a sliding window in a Durable Object as a ring buffer of seconds, so that it never grows and needs no deletes. */
export class WindowStore {
  private writtenUpToMs = 0;

  constructor(private readonly storage: DurableObjectStorage) {}

  /** The stored requests of the last 60 s, oldest first. */
  async load(nowMs: number): Promise<Accepted[]> {
    const keys = Array.from({ length: SLOTS }, (_, slot) => slotKey(slot));
    const slots = await this.storage.get<Slot>(keys);
    const accepted = [...slots.values()].flatMap((slot) => slot.accepted);
    return accepted.filter((entry) => entry.atMs + WINDOW_MS > nowMs).sort((a, b) => a.atMs - b.atMs);
  }

  /** Writes the seconds in which requests were accepted since the last save. No response waits for the write. */
  async save(window: SlidingWindow): Promise<void> {
    const fromSecond = Math.floor(this.writtenUpToMs / SECOND_MS);
    const bySecond = new Map<number, Accepted[]>();
    for (const entry of window.since(fromSecond * SECOND_MS)) {
      const second = Math.floor(entry.atMs / SECOND_MS);
      const accepted = bySecond.get(second) ?? [];
      bySecond.set(second, accepted);
      accepted.push(entry);
      this.writtenUpToMs = entry.atMs;
    }
    const slots = [...bySecond].map(([second, accepted]): [string, Slot] => [slotKey(second % SLOTS), { second, accepted }]);
    await this.storage.put(Object.fromEntries(slots), { allowUnconfirmed: true });
  }
}

function slotKey(slot: number): string {
  return `window:${slot}`;
}

/** A rate limit for callers by name. It is only in the isolate's memory, so a flood of requests needs no storage. */
export class RateLimiter {
  private readonly windows = new LruCache<string, SlidingWindow>(10_000);

  /** @param requestsPerMinute of one caller, in any 60 s. */
  constructor(private readonly requestsPerMinute: number) {}

  /** Counts a request against its caller. */
  admit(caller: string, nowMs: number): WindowState {
    let window = this.windows.get(caller);
    if (!window) {
      window = new SlidingWindow();
      this.windows.set(caller, window);
    }
    return window.admit(nowMs, this.requestsPerMinute);
  }
}
