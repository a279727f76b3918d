import { expect, test } from "vitest";
import { isPublicAddress } from "../../../src/platform/egress/target.ts";

/** The ranges of the IANA special-purpose registries and of multicast: first and last address, then the public neighbours if there are any. */
const RANGES: [range: string, first: string, last: string, ...neighbours: string[]][] = [
  ["0.0.0.0/8", "0.0.0.0", "0.255.255.255", "1.0.0.0"],
  ["10.0.0.0/8", "10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0"],
  ["100.64.0.0/10", "100.64.0.0", "100.127.255.255", "100.63.255.255", "100.128.0.0"],
  ["127.0.0.0/8", "127.0.0.0", "127.255.255.255", "126.255.255.255", "128.0.0.0"],
  ["169.254.0.0/16", "169.254.0.0", "169.254.255.255", "169.253.255.255", "169.255.0.0"],
  ["172.16.0.0/12", "172.16.0.0", "172.31.255.255", "172.15.255.255", "172.32.0.0"],
  ["192.0.0.0/24", "192.0.0.0", "192.0.0.255", "191.255.255.255", "192.0.1.0"],
  ["192.0.2.0/24", "192.0.2.0", "192.0.2.255", "192.0.1.255", "192.0.3.0"],
  ["192.31.196.0/24", "192.31.196.0", "192.31.196.255", "192.31.195.255", "192.31.197.0"],
  ["192.52.193.0/24", "192.52.193.0", "192.52.193.255", "192.52.192.255", "192.52.194.0"],
  ["192.88.99.0/24", "192.88.99.0", "192.88.99.255", "192.88.98.255", "192.88.100.0"],
  ["192.168.0.0/16", "192.168.0.0", "192.168.255.255", "192.167.255.255", "192.169.0.0"],
  ["192.175.48.0/24", "192.175.48.0", "192.175.48.255", "192.175.47.255", "192.175.49.0"],
  ["198.18.0.0/15", "198.18.0.0", "198.19.255.255", "198.17.255.255", "198.20.0.0"],
  ["198.51.100.0/24", "198.51.100.0", "198.51.100.255", "198.51.99.255", "198.51.101.0"],
  ["203.0.113.0/24", "203.0.113.0", "203.0.113.255", "203.0.112.255", "203.0.114.0"],
  ["224.0.0.0/4", "224.0.0.0", "239.255.255.255", "223.255.255.255"],
  ["240.0.0.0/4", "240.0.0.0", "255.255.255.254"],
  ["255.255.255.255/32", "255.255.255.255", "255.255.255.255"],
  ["::/128", "::", "::"],
  ["::1/128", "::1", "::1"],
  ["::/96, IPv4-compatible", "::2", "::ffff:ffff"],
  ["::ffff:0:0/96, IPv4-mapped", "::ffff:0:0", "::ffff:255.255.255.255"],
  ["::ffff:0:0:0/96, IPv4-translated", "::ffff:0:0:0", "::ffff:0:ffff:ffff"],
  ["64:ff9b::/96, NAT64", "64:ff9b::", "64:ff9b::ffff:ffff"],
  ["64:ff9b:1::/48, local NAT64", "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"],
  ["100::/64, discard", "100::", "100::ffff:ffff:ffff:ffff"],
  ["100:0:0:1::/64, dummy", "100:0:0:1::", "100:0:0:1:ffff:ffff:ffff:ffff"],
  ["not given out, below", "200::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2000::"],
  ["2001::/23", "2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::"],
  ["2001::/32, Teredo", "2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["2001:2::/48, benchmarking", "2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff"],
  ["2001:10::/28 and 2001:20::/28, ORCHID", "2001:10::", "2001:2f:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["2001:db8::/32", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::"],
  ["2002::/16, 6to4", "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2003::"],
  ["2620:4f:8000::/48", "2620:4f:8000::", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff", "2620:4f:7fff::", "2620:4f:8001::"],
  ["3fff::/20", "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::"],
  ["not given out, above", "4000::", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["5f00::/16", "5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["fc00::/7", "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["fe80::/10", "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["fec0::/10", "fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["ff00::/8", "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
];

test.each(RANGES)("%s is not public, its neighbours are", (_range, first, last, ...neighbours) => {
  expect([first, last].filter(isPublicAddress)).toEqual([]);
  expect(neighbours.filter(isPublicAddress)).toEqual(neighbours);
});

test.each([
  ["a public address mapped", "::ffff:8.8.8.8"],
  ["a public address behind NAT64", "64:ff9b::8.8.8.8"],
  ["a public address in 6to4", "2002:808:808::"],
  ["the metadata service", "169.254.169.254"],
  ["the metadata service, IPv6", "fd00:ec2::254"],
])("%s is not public", (_what, address) => {
  expect(isPublicAddress(address)).toBe(false);
});

test.each(["8.8.8.8", "1.1.1.1", "93.184.215.14", "2606:4700:4700::1111", "2A00:1450:4001:80B::200E", "2001:4860:4860::8888"])(
  "%s is public",
  (address) => {
    expect(isPublicAddress(address)).toBe(true);
  },
);

test.each([
  "",
  "example.com",
  "8.8.8",
  "8",
  "010.8.8.8",
  "0x8.8.8.8",
  "8.8.8.8.8",
  "8.8.8.8/32",
  "256.1.1.1",
  " 8.8.8.8",
  "fe80::1%eth0",
  "[2606::1]",
  "2606::1::2",
  "2606:4700::%1",
])("%j is no address, so not a public one", (text) => {
  expect(isPublicAddress(text)).toBe(false);
});
