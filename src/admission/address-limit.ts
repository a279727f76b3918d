import { SlidingWindow, type WindowState } from "./window.ts";

/** Requests without a valid key that one address may make in any 60 s. */
const REQUESTS_PER_MINUTE = 60;
/** Addresses remembered in an isolate; past it the one that was first seen is forgotten. */
const MAX_ADDRESSES = 10_000;

const windows = new Map<string, SlidingWindow>();

/** Counts a request without a valid key against its address. Kept in the isolate: a flood touches no storage. */
export function admitAddress(address: string, nowMs: number): WindowState {
  let window = windows.get(address);
  if (!window) {
    if (windows.size >= MAX_ADDRESSES) windows.delete(windows.keys().next().value!);
    window = new SlidingWindow();
    windows.set(address, window);
  }
  return window.admit(nowMs, REQUESTS_PER_MINUTE);
}
