import { expect, test } from "vitest";
import { CRAWLER_POLICY, urlProblem, WEBHOOK_POLICY } from "../../../src/platform/egress/url-rules.ts";

const MENDED = "it holds white space, a control character or a backslash";
const INCOMPLETE = "it is not a complete URL such as https://www.example.com/";
const USER = "it carries a user name or password";
const UNUSUAL = "its host or port is written in an unusual way";
const ADDRESS = "its host is an IP address";
const SINGLE = "its host is a single name";
const NAME = "its host is not a valid name";
const PORT = { webhook: "its port is not one of 443, 8443", crawler: "its port is not one of 80, 443, 8443" };
const SCHEME = { webhook: "its scheme is not https", crawler: "its scheme is not https or http" };
const reserved = (suffix: string) => `its host ends in .${suffix}, which is not public`;

/** Refused by both policies, for the same reason. */
const REFUSED: [url: string, reason: string][] = [
  // Every spelling of an IPv4 address
  ["https://127.0.0.1/", ADDRESS],
  ["https://10.0.0.1/", ADDRESS],
  ["https://169.254.169.254/latest/meta-data", ADDRESS],
  ["https://8.8.8.8/", ADDRESS],
  ["https://127.0.0.1./", ADDRESS],
  ["https://2130706433/", ADDRESS],
  ["https://2852039166/", ADDRESS],
  ["https://0x7f000001/", ADDRESS],
  ["https://0X7F.0.0.1/", ADDRESS],
  ["https://0x7f.1/", ADDRESS],
  ["https://017700000001/", ADDRESS],
  ["https://0177.0.0.1/", ADDRESS],
  ["https://0000177.0x0.0.1/", ADDRESS],
  ["https://127.1/", ADDRESS],
  ["https://127.0.1/", ADDRESS],
  ["https://10.1/", ADDRESS],
  ["https://0/", ADDRESS],
  ["https://0x/", ADDRESS],
  ["https://１２７.０.０.１/", ADDRESS],
  ["https://①②⑦.⓪.⓪.①/", ADDRESS],
  ["https://127。0。0。1/", ADDRESS],
  ["https://127．0．0．1/", ADDRESS],
  ["https://127｡0｡0｡1/", ADDRESS],
  ["https://１６９。２５４。１６９。２５４/", ADDRESS],
  ["https://%31%32%37.0.0.1/", UNUSUAL],
  ["https://127%2e0%2e0%2e1/", UNUSUAL],
  ["https://256.0.0.1/", INCOMPLETE],
  ["https://1.2.3.4.5/", INCOMPLETE],
  ["https://a.example.0x7f/", INCOMPLETE],
  ["https://4294967296/", INCOMPLETE],
  // and of an IPv6 address
  ["https://[::1]/", ADDRESS],
  ["https://[::]/", ADDRESS],
  ["https://[0:0:0:0:0:0:0:1]/", ADDRESS],
  ["https://[::ffff:127.0.0.1]/", ADDRESS],
  ["https://[::ffff:7f00:1]/", ADDRESS],
  ["https://[::127.0.0.1]/", ADDRESS],
  ["https://[64:ff9b::7f00:1]/", ADDRESS],
  ["https://[64:ff9b::10.0.0.1]/", ADDRESS],
  ["https://[2002:7f00:1::]/", ADDRESS],
  ["https://[fd00::1]:8443/", ADDRESS],
  ["https://[fe80::1]/", ADDRESS],
  ["https://[2606:4700:4700::1111]/", ADDRESS],
  ["https://[fe80::1%25eth0]/", INCOMPLETE],
  ["https://[fe80::1%eth0]/", INCOMPLETE],
  ["https://[::1/", INCOMPLETE],
  ["https://::1/", INCOMPLETE],
  // Names that are not public
  ["https://localhost/", SINGLE],
  ["https://LOCALHOST/", SINGLE],
  ["https://localhost./", SINGLE],
  ["https://intranet/", SINGLE],
  ["https://router:8443/", SINGLE],
  ["https://metadata/", SINGLE],
  ["https://ｌｏｃａｌｈｏｓｔ/", SINGLE],
  ["https://xn--nxasmq6b/", SINGLE],
  ["https://app.localhost/", reserved("localhost")],
  ["https://app.localhost./", reserved("localhost")],
  ["https://APP.LocalHost/", reserved("localhost")],
  ["https://app。localhost/", reserved("localhost")],
  ["https://app。localhost。/", reserved("localhost")],
  ["https://app.ⓛocalhost/", reserved("localhost")],
  ["https://printer.local/", reserved("local")],
  ["https://metadata.google.internal/", reserved("internal")],
  ["https://metadata.google.INTERNAL./", reserved("internal")],
  ["https://wiki.intranet/", reserved("intranet")],
  ["https://nas.lan/", reserved("lan")],
  ["https://tv.home/", reserved("home")],
  ["https://mail.corp/", reserved("corp")],
  ["https://db.private/", reserved("private")],
  ["https://nas.home.arpa/", reserved("home.arpa")],
  ["https://1.0.0.127.in-addr.arpa/", reserved("arpa")],
  ["https://a.invalid/", reserved("invalid")],
  ["https://a.test/", reserved("test")],
  ["https://xn--bcher-kva.test/", reserved("test")],
  ["https://abc.onion/", reserved("onion")],
  // Names that are none
  ["https://example.com../", NAME],
  ["https://localhost../", NAME],
  ["https://a..example.com/", NAME],
  ["https://.example.com/", NAME],
  ["https://./", NAME],
  ["https://a!b.example.com/", NAME],
  ["https://a'b.example.com/", NAME],
  ["https://*.example.com/", NAME],
  [`https://${"a".repeat(64)}.example.com/`, NAME],
  [`https://${"a.".repeat(127)}com/`, NAME],
  ["https://exa<mple.com/", INCOMPLETE],
  // User names
  ["https://user@example.com/", USER],
  ["https://user:secret@example.com/", USER],
  ["https://:secret@example.com/", USER],
  ["https://@example.com/", USER],
  ["https://:@example.com/", USER],
  ["https://example.com@127.0.0.1/", USER],
  ["https://example.com%40@127.0.0.1/", USER],
  // URLs that the parser corrects silently
  ["https:example.com", INCOMPLETE],
  ["https:/example.com/", INCOMPLETE],
  ["https:///example.com/", INCOMPLETE],
  ["https:////example.com/", INCOMPLETE],
  ["//example.com/", INCOMPLETE],
  ["example.com", INCOMPLETE],
  ["https://", INCOMPLETE],
  ["https:///", INCOMPLETE],
  ["https://?a=b", INCOMPLETE],
  ["", INCOMPLETE],
  ["https:\\\\example.com\\", MENDED],
  ["https://example.com\\@127.0.0.1/", MENDED],
  ["https://example.com/a\\b", MENDED],
  ["\thttps://example.com/", MENDED],
  [" https://example.com/", MENDED],
  ["https://example.com/ ", MENDED],
  ["ht\ttps://example.com/", MENDED],
  ["https://exam\tple.com/", MENDED],
  ["https://example.com/a\nb", MENDED],
  ["https://example.com/a\r\nHost: b", MENDED],
  ["https://example.com/a b", MENDED],
  ["https://example.com/\u0000", MENDED],
  ["https://example.com/\u007F", MENDED],
  ["https://example.com/\u0085", MENDED],
  ["https://example.com/\u00A0", MENDED],
  ["\uFEFFhttps://example.com/", MENDED],
  ["https://example.com/\u2028", MENDED],
  ["https://example.com/\uD800", MENDED],
  ["https://local\u200Bhost.example.com/", UNUSUAL],
  ["https://exa\u00ADmple.com/", UNUSUAL],
  ["https://ex%61mple.com/", UNUSUAL],
  ["https://example.com%00/", INCOMPLETE],
  // Ports
  ["https://example.com:/", UNUSUAL],
  ["https://example.com:0/", UNUSUAL],
  ["https://example.com:0443/", UNUSUAL],
  ["https://example.com:00/", UNUSUAL],
  ["https://example.com:65536/", INCOMPLETE],
  ["https://example.com:99999999999/", INCOMPLETE],
  ["https://example.com:-1/", INCOMPLETE],
  ["https://example.com:4４3/", INCOMPLETE],
];

/** Refused by both, each naming what it allows. */
const REFUSED_BY_POLICY: [url: string, reason: Record<"webhook" | "crawler", string>][] = [
  ["https://example.com:22/", PORT],
  ["https://example.com:25/", PORT],
  ["https://example.com:8080/", PORT],
  ["https://example.com:6379/", PORT],
  ["https://example.com:65535/", PORT],
  ["ftp://example.com/", SCHEME],
  ["ws://example.com/", SCHEME],
  ["wss://example.com/", SCHEME],
  ["gopher://example.com/", SCHEME],
  ["file://example.com/etc/passwd", SCHEME],
  ["javascript://example.com/%0Aalert(1)", SCHEME],
];

/** Names of public hosts, however unusual. */
const ALLOWED = [
  "https://example.com",
  "https://example.com/",
  "https://example.com./",
  "https://example.com。/",
  "HTTPS://EXAMPLE.COM/Path",
  "https://example.com:443/",
  "https://example.com:8443/hook?a=b#c",
  "https://a-b.c_d.example.co.uk/",
  "https://bücher.example.com/",
  "https://xn--bcher-kva.example.com/",
  "https://例え.jp/",
  "https://1.example.com/",
  "https://127.0.0.1.example.com/",
  "https://10.0.0.1.nip.io/",
  "https://0x7f.example.com/",
  "https://localhost.example.com/",
  "https://internal.example.com/",
  "https://mylocal.example/",
  "https://notlocalhost.com/",
  "https://example.homes/",
  "https://example.com/@user",
  "https://example.com/a%20b%5Cc",
  "https://example.com/?to=http://127.0.0.1:80/",
  "https://example.com?user@host",
  "https://example.com/می\u200Cشود",
  `https://${"a".repeat(63)}.example.com/`,
];

test.each(REFUSED)("refuses %j: %s", (url, reason) => {
  expect(urlProblem(url, WEBHOOK_POLICY, false)).toBe(reason);
  expect(urlProblem(url, CRAWLER_POLICY, false)).toBe(reason);
});

test.each(REFUSED_BY_POLICY)("refuses %j, naming what is allowed", (url, reason) => {
  expect(urlProblem(url, WEBHOOK_POLICY, false)).toBe(reason.webhook);
  expect(urlProblem(url, CRAWLER_POLICY, false)).toBe(reason.crawler);
});

test.each(ALLOWED)("allows %j", (url) => {
  expect(urlProblem(url, WEBHOOK_POLICY, false)).toBeUndefined();
  expect(urlProblem(url, CRAWLER_POLICY, false)).toBeUndefined();
});

test.each([
  ["http://example.com/", SCHEME.webhook],
  ["HTTP://example.com/", SCHEME.webhook],
  ["http://example.com:80/", SCHEME.webhook],
  ["http://example.com:8443/", SCHEME.webhook],
  ["https://example.com:80/", PORT.webhook],
])("allows %j to the crawler alone", (url, reason) => {
  expect(urlProblem(url, CRAWLER_POLICY, false)).toBeUndefined();
  expect(urlProblem(url, WEBHOOK_POLICY, false)).toBe(reason);
});

test.each([
  "http://localhost:9000/hook",
  "http://127.0.0.1:3000/",
  "http://[::1]:3000/",
  "https://[fe80::0:1]/",
  "http://receiver.test/",
  "https://a.b:1/",
])("allows %j to a receiver on a laptop", (url) => {
  expect(urlProblem(url, WEBHOOK_POLICY, true)).toBeUndefined();
});

test.each([
  ["http://user:secret@localhost/", USER],
  ["http://@localhost/", USER],
  ["http:localhost", INCOMPLETE],
  ["http:///localhost/", INCOMPLETE],
  ["http://localhost\\a", MENDED],
  ["http://local\thost/", MENDED],
  ["http://localhost:/", UNUSUAL],
  ["http://%6cocalhost/", UNUSUAL],
  ["ftp://localhost/", SCHEME.crawler],
])("refuses %j even there", (url, reason) => {
  expect(urlProblem(url, WEBHOOK_POLICY, true)).toBe(reason);
});
