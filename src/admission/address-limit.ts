import { KeyedWindows } from "./keyed-windows.ts";
import type { WindowState } from "./window.ts";

/** Requests without a valid key that one address may make in any 60 s. */
const REQUESTS_PER_MINUTE = 60;

const windows = new KeyedWindows(REQUESTS_PER_MINUTE);

/** Counts a request without a valid key against its address. */
export function admitAddress(address: string, nowMs: number): WindowState {
  return windows.admit(address, nowMs);
}
