import ipaddr from "ipaddr.js";

/** What a provider gives an IPv6 customer at the least (RFC 6177): the customer is free to choose the rest of the address. */
const NETWORK_BYTES = 8;

/** The name under which an address is limited: an IPv4 address itself, the network of an IPv6 address, or any other text. */
export function clientNetwork(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  // `process` turns an IPv4-mapped IPv6 address into the IPv4 address.
  const parsed = ipaddr.process(address);
  return parsed.kind() === "ipv4" ? parsed.toString() : new Uint8Array(parsed.toByteArray().slice(0, NETWORK_BYTES)).toHex();
}
