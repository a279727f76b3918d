import { SlidingWindow, type WindowState } from "./window.ts";

/** Callers remembered in an isolate; past it the one that was first seen is forgotten. */
const MAX_REMEMBERED = 10_000;

/** A sliding window for each caller, by any name. Kept in the isolate: a flood touches no storage. */
export class KeyedWindows {
  private readonly windows = new Map<string, SlidingWindow>();

  /** @param requestsPerMinute what one caller may send in any 60 s. */
  constructor(private readonly requestsPerMinute: number) {}

  /** Counts a request against its caller. */
  admit(name: string, nowMs: number): WindowState {
    let window = this.windows.get(name);
    if (!window) {
      if (this.windows.size >= MAX_REMEMBERED) this.windows.delete(this.windows.keys().next().value!);
      window = new SlidingWindow();
      this.windows.set(name, window);
    }
    return window.admit(nowMs, this.requestsPerMinute);
  }
}
