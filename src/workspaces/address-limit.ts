import ipaddr from "ipaddr.js";
import { SlidingWindow, type WindowState } from "./window.ts";

/** Callers remembered in an isolate; past it the one that was first seen is forgotten. */
const MAX_REMEMBERED = 10_000;

/** A sliding window for each caller, by any name. Kept in the isolate: a flood touches no storage. */
export class RateLimiter {
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

/** Requests without a valid key that one address may make in any 60 s. */
const REQUESTS_PER_MINUTE = 60;
/** Of an IPv6 address, what a provider gives a customer at the least (RFC 6177): the rest is the customer's to choose. */
const NETWORK_BYTES = 8;

const windows = new RateLimiter(REQUESTS_PER_MINUTE);

/** Counts a request without a valid key against its address. */
export function admitAddress(address: string, nowMs: number): WindowState {
  return windows.admit(address, nowMs);
}

/** Whom an address stands for: an IPv4 address is itself, an IPv6 one its network, hex. What is neither is itself. */
export function clientNetwork(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  // An IPv4 address in the form of an IPv6 one is read as what it is.
  const read = ipaddr.process(address);
  return read.kind() === "ipv4" ? read.toString() : new Uint8Array(read.toByteArray().slice(0, NETWORK_BYTES)).toHex();
}
