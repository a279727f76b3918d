import ipaddr from "ipaddr.js";

/** All that IANA gives out for use on the Internet; what lies outside is special, mapped, or not given out at all. */
const GLOBAL_UNICAST_V6 = ipaddr.IPv6.parseCIDR("2000::/3");

/**
 * Whether an IP address, in the form that DNS answers have, is one of the public Internet. What carries an IPv4 address
 * within (mapped, NAT64, 6to4, Teredo) is not: a public host has no need of it.
 */
export function isPublicAddress(text: string): boolean {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text).range() === "unicast";
  if (!ipaddr.IPv6.isValid(text)) return false;
  const address = ipaddr.IPv6.parse(text);
  return address.zoneId === undefined && address.match(GLOBAL_UNICAST_V6) && address.range() === "unicast";
}
