import type { Accepted, SlidingWindow } from "./window.ts";
import { WINDOW_MS } from "./window.ts";

const SECOND_MS = 1_000;
/** A ring of one slot a second; longer than the window by a few, so that a slot is free again before it is written. */
const SLOTS = 64;

interface Slot {
  second: number;
  accepted: Accepted[];
}

/** Keeps a sliding window in an object's storage: a ring of seconds, so that it never grows and nothing is deleted. */
export class WindowStore {
  private writtenUpToMs = 0;

  constructor(private readonly storage: DurableObjectStorage) {}

  /** What is stored of the last 60 s, oldest first. */
  async load(nowMs: number): Promise<Accepted[]> {
    const keys = Array.from({ length: SLOTS }, (_, slot) => slotKey(slot));
    const slots = await this.storage.get<Slot>(keys);
    const accepted = [...slots.values()].flatMap((slot) => slot.accepted);
    return accepted.filter((entry) => entry.atMs + WINDOW_MS > nowMs).sort((a, b) => a.atMs - b.atMs);
  }

  /** Writes the seconds in which something was accepted since the last time. No answer waits for the write. */
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
