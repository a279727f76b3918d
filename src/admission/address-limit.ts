import ipaddr from "ipaddr.js";
import { KeyedWindows } from "./keyed-windows.ts";
import type { WindowState } from "./window.ts";

/** Requests without a valid key that one address may make in any 60 s. */
const REQUESTS_PER_MINUTE = 60;
/** Of an IPv6 address, what a provider gives a customer at the least (RFC 6177): the rest is the customer's to choose. */
const NETWORK_BYTES = 8;

const windows = new KeyedWindows(REQUESTS_PER_MINUTE);

/** Counts a request without a valid key against its address. */
export function admitAddress(address: string, nowMs: number): WindowState {
  return windows.admit(address, nowMs);
}

/** Whom an address stands for: an IPv4 address is itself, an IPv6 one its network, hex. What is neither is itself. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  // An IPv4 address in the form of an IPv6 one is read as what it is.
  const read = ipaddr.process(address);
  return read.kind() === "ipv4" ? read.toString() : new Uint8Array(read.toByteArray().slice(0, NETWORK_BYTES)).toHex();
}
