import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { guardedFetch, type OutgoingRequest } from "../../../src/platform/egress/guarded-fetch.ts";
import { CRAWLER_POLICY, WEBHOOK_POLICY } from "../../../src/platform/egress/url-rules.ts";
import { envWith } from "../../harness.ts";
import { behaveAt, newHost, receivedBy, RESOLVER, resolverBehaves, resolveTo } from "../../outbound.ts";

const KIB = 1024;
/** The timeout of exchanges that end by themselves, far longer than a busy machine needs. */
const AMPLE_MS = 20_000;
/** The timeout of exchanges that only the timeout ends. */
const SHORT_MS = 50;

function post(url: string, change: Partial<OutgoingRequest> = {}, scope: Env = env) {
  const request = { url, policy: WEBHOOK_POLICY, method: "POST", userAgent: "Test/1", body: "{}", timeoutMs: AMPLE_MS } as const;
  return guardedFetch(scope, { ...request, maxResponseBytes: 8 * KIB, ...change });
}

function get(url: string, change: Partial<OutgoingRequest> = {}, scope: Env = env) {
  const request = { url, policy: CRAWLER_POLICY, method: "GET", userAgent: "Test/1", timeoutMs: AMPLE_MS, maxRedirects: 5 } as const;
  return guardedFetch(scope, { ...request, maxResponseBytes: 8 * KIB, ...change });
}

const redirectTo = (location: string, status = 302) => ({ status, headers: { Location: location } });
const textOf = (exchange: object) => ("body" in exchange ? new TextDecoder().decode(exchange.body as Uint8Array) : undefined);

test("the request is sent as given and the response returned as received", async () => {
  const host = newHost();
  await behaveAt(host, { status: 422, headers: { "X-Reason": "full" }, body: "no room" });
  const answer = await post(`https://${host}/hook?a=b`, { headers: { "webhook-id": "evt_1" }, body: new Uint8Array([0, 255, 10]) });
  expect(answer).toMatchObject({
    outcome: "answered",
    status: 422,
    isTruncated: false,
    url: `https://${host}/hook?a=b`,
  });
  expect(textOf(answer)).toBe("no room");
  expect("headers" in answer && answer.headers.get("X-Reason")).toBe("full");
  expect(answer.durationMs).toBeGreaterThanOrEqual(0);
  const [received, ...more] = await receivedBy(host);
  expect(more).toEqual([]);
  expect(received).toMatchObject({ method: "POST", place: `${host}/hook?a=b`, headers: { "webhook-id": "evt_1", "user-agent": "Test/1" } });
  expect(received?.body).toEqual(new Uint8Array([0, 255, 10]));
});

test("a forbidden URL is not requested", async () => {
  expect(await post("https://127.0.0.1/")).toMatchObject({ outcome: "blocked_url", reason: "its host is an IP address" });
  expect(await post("http://example.com/")).toMatchObject({ outcome: "blocked_url", reason: "its scheme is not https" });
  expect(await get("not a url")).toMatchObject({ outcome: "blocked_url" });
});

test("a host is resolved before each request, which is sent only to public addresses", async () => {
  const host = newHost();
  const asking = envWith({ DNS_OVER_HTTPS_URL: RESOLVER });
  await behaveAt(host, { body: "ok" });
  await resolveTo(host, { A: ["93.184.215.14"] }, { A: ["10.0.0.1"] }, {});
  const url = `https://${host}/`;
  expect(await post(url, {}, asking)).toMatchObject({ outcome: "answered", status: 200 });
  expect(await post(url, {}, asking)).toMatchObject({ outcome: "blocked_url", reason: "its host leads to an address that is not public" });
  expect(await post(url, {}, asking)).toMatchObject({ outcome: "connection_failed", reason: "its host has no address" });
  await resolverBehaves(host, { status: 500 });
  expect(await post(url, {}, asking)).toMatchObject({ outcome: "connection_failed", reason: "its host could not be looked up just now" });
  await resolverBehaves(host, { fails: "silent" });
  expect(await post(url, { timeoutMs: SHORT_MS }, asking)).toMatchObject({ outcome: "timeout" });
  expect(await receivedBy(host)).toHaveLength(1);
});

test.each([200, 204, 205, 301, 304, 400, 410, 500, 503])("a %i without a body is a response", async (status) => {
  const host = newHost();
  await behaveAt(host, { status, headers: { "Retry-After": "7" } });
  const answer = await post(`https://${host}/`);
  expect(answer).toMatchObject({ outcome: "answered", status, body: new Uint8Array(), isTruncated: false });
  expect("headers" in answer && answer.headers.get("Retry-After")).toBe("7");
});

test.each([
  { name: "of exactly the limit", behaviour: { body: "x".repeat(8 * KIB) }, length: 8 * KIB, isTruncated: false },
  { name: "of a byte more", behaviour: { body: "x".repeat(8 * KIB + 1) }, length: 8 * KIB, isTruncated: true },
  { name: "of 12 MB", behaviour: { body: "x".repeat(12 * KIB), times: 1000 }, length: 8 * KIB, isTruncated: true },
  { name: "without end", behaviour: { body: "x".repeat(100), times: 1_000_000_000 }, length: 8 * KIB, isTruncated: true },
  {
    name: "that unpacks to 100 MB",
    behaviour: { body: "x".repeat(100 * KIB), times: 1000, gzip: true },
    length: 8 * KIB,
    isTruncated: true,
  },
  { name: "packed", behaviour: { body: "x".repeat(KIB), gzip: true }, length: KIB, isTruncated: false },
  {
    name: "that is not packed as it says",
    behaviour: { body: "x", headers: { "Content-Encoding": "br, unknown" } },
    length: 1,
    isTruncated: false,
  },
])("an answer $name", async ({ behaviour, length, isTruncated }) => {
  const host = newHost();
  await behaveAt(host, behaviour);
  const answer = await post(`https://${host}/`);
  expect(answer).toMatchObject({ outcome: "answered", status: 200, isTruncated });
  expect(textOf(answer)).toBe("x".repeat(length));
});

test("a large response is truncated at the limit", async () => {
  const host = newHost();
  const [part, times] = ["0123456789".repeat(1000), 300];
  await behaveAt(host, { body: part, times });
  const url = `https://${host}/`;
  for (const maxResponseBytes of [1_234_567, 3_000_000, 4_000_000]) {
    const answer = await get(url, { maxResponseBytes });
    expect(answer).toMatchObject({ outcome: "answered", isTruncated: maxResponseBytes < part.length * times });
    expect(textOf(answer) === part.repeat(times).slice(0, maxResponseBytes)).toBe(true);
  }
});

test("a response in the smallest chunks is read whole", async () => {
  const host = newHost();
  await behaveAt(host, { body: "x", times: 2000 });
  expect(textOf(await get(`https://${host}/`))).toBe("x".repeat(2000));
});

test("bytes that are not UTF-8 are returned unchanged", async () => {
  const host = newHost();
  const bytes = new Uint8Array([0xff, 0xfe, 0x00, 0xc3, 0x28, 0xed, 0xa0, 0x80]);
  await behaveAt(host, { bytes: bytes.toBase64(), headers: { "Content-Type": "text/plain; charset=utf-8" } });
  expect(await post(`https://${host}/`)).toMatchObject({ outcome: "answered", body: bytes });
});

test.each([
  ["is silent", { fails: "silent" }],
  ["trickles", { body: "x", times: 1_000_000, everyMs: 1 }],
] as const)("a host that %s is left at the deadline, and what it said is dropped", async (_what, behaviour) => {
  const host = newHost();
  await behaveAt(host, behaviour);
  const exchange = await post(`https://${host}/`, { timeoutMs: SHORT_MS, maxResponseBytes: 1_000_000 });
  expect(exchange).toMatchObject({ outcome: "timeout", reason: "it did not answer completely in time" });
  expect(exchange).not.toHaveProperty("body");
});

test.each([
  ["at once", { fails: "reset" }],
  ["in the body", { body: "half", fails: "reset_in_body" }],
  ["short of its length", { body: "half", headers: { "Content-Length": "8" }, fails: "reset_in_body" }],
  ["with a body that cannot be unpacked", { body: "not packed", headers: { "Content-Encoding": "gzip" } }],
] as const)("a connection that breaks off %s has failed", async (_what, behaviour) => {
  const host = newHost();
  await behaveAt(host, behaviour);
  const exchange = await post(`https://${host}/`);
  expect(exchange).toMatchObject({ outcome: "connection_failed", reason: "the connection could not be made, or broke off" });
  expect(exchange).not.toHaveProperty("body");
});

test("a header that cannot be sent is the caller's error", async () => {
  await expect(post("https://example.com/", { headers: { "X-Split": "a\r\nb" } })).rejects.toThrow(TypeError);
});

test("a redirect is returned unless it is to be followed; for a POST always", async () => {
  const [host, other] = [newHost(), newHost()];
  await behaveAt(host, { ...redirectTo(`https://${other}/`), body: "moved" });
  const unfollowed = [get(`https://${host}/`, { maxRedirects: 0 }), post(`https://${host}/`, { maxRedirects: 5 })];
  for (const answer of await Promise.all(unfollowed)) {
    expect(answer).toMatchObject({ outcome: "answered", status: 302 });
    expect(textOf(answer)).toBe("moved");
  }
  expect(await receivedBy(other)).toEqual([]);
});

test.each([301, 302, 303, 307, 308])("a %i is followed step by step", async (status) => {
  const [host, other] = [newHost(), newHost()];
  await behaveAt(`${host}/a`, redirectTo("b?c=d", status));
  await behaveAt(`${host}/b`, redirectTo(`//${other}/c`, status));
  await behaveAt(other, { body: "page" });
  const answer = await get(`http://${host}/a`);
  expect(answer).toMatchObject({ status: 200, url: `http://${other}/c` });
  expect(textOf(answer)).toBe("page");
});

test.each([
  ["http://127.0.0.1/", "its host is an IP address"],
  ["http://2130706433/", "its host is an IP address"],
  ["http://[::ffff:7f00:1]/", "its host is an IP address"],
  ["//169.254.169.254/latest/meta-data", "its host is an IP address"],
  ["https://localhost/", "its host is a single name"],
  ["https://a.internal/", "its host ends in .internal, which is not public"],
  ["https://user:secret@example.com/", "it carries a user name or password"],
  ["https://example.com:6379/", "its port is not one of 80, 443, 8443"],
  ["ftp://example.com/", "its scheme is not https or http"],
  ["file:///etc/passwd", "it is not a complete URL such as https://www.example.com/"],
  ["javascript:alert(1)", "it is not a complete URL such as https://www.example.com/"],
  ["data:text/html,hello", "it is not a complete URL such as https://www.example.com/"],
  ["/\\127.0.0.1/", "its host is an IP address"],
])("a redirect to %s is refused", async (location, reason) => {
  const host = newHost();
  await behaveAt(host, redirectTo(location));
  expect(await get(`https://${host}/`)).toMatchObject({ outcome: "blocked_url", reason });
});

test("a redirect to a host with a private address is refused", async () => {
  const [host, inside] = [newHost(), newHost()];
  await behaveAt(host, redirectTo(`https://${inside}/`));
  await resolveTo(host, { A: ["93.184.215.14"] });
  await resolveTo(inside, { A: ["192.168.0.1"] });
  expect(await get(`https://${host}/`, {}, envWith({ DNS_OVER_HTTPS_URL: RESOLVER }))).toMatchObject({
    outcome: "blocked_url",
    reason: "its host leads to an address that is not public",
    url: `https://${inside}/`,
  });
  expect(await receivedBy(inside)).toEqual([]);
});

test.each(["", "https://", "http://[::1"])("a redirect to %j is not followed", async (location) => {
  const host = newHost();
  await behaveAt(host, { status: 302, headers: location === "" ? {} : { Location: location }, body: "lost" });
  expect(await get(`https://${host}/`)).toMatchObject({ outcome: "answered", status: 302 });
});

test("redirect loops and long chains end", async () => {
  const host = newHost();
  await behaveAt(`${host}/a`, redirectTo("/b"));
  await behaveAt(`${host}/b`, redirectTo("/a"));
  for (let hop = 1; hop <= 6; hop++) await behaveAt(`${host}/${hop}`, redirectTo(`/${hop + 1}`));
  await behaveAt(`${host}/7`, { body: "far" });
  expect(await get(`https://${host}/a`)).toMatchObject({ outcome: "too_many_redirects", reason: "it redirects in a circle" });
  expect(await receivedBy(host)).toHaveLength(2);
  expect(await get(`https://${host}/1`)).toMatchObject({ outcome: "too_many_redirects", reason: "it redirects too often" });
  expect(await get(`https://${host}/2`)).toMatchObject({ outcome: "answered", status: 200 });
});

test("the deadline spans all redirects", async () => {
  const host = newHost();
  await behaveAt(`${host}/a`, redirectTo("/b"));
  await behaveAt(`${host}/b`, { fails: "silent" });
  expect(await get(`https://${host}/a`, { timeoutMs: SHORT_MS })).toMatchObject({ outcome: "timeout", url: `https://${host}/b` });
});

test("a redirect to another origin drops credentials", async () => {
  const [host, other] = [newHost(), newHost()];
  await behaveAt(`${host}/a`, redirectTo("/b"));
  await behaveAt(`${host}/b`, redirectTo(`https://${other}/`));
  await behaveAt(other, { body: "page" });
  const headers = {
    Authorization: "Bearer secret",
    Cookie: "a=b",
    "webhook-signature": "v1,abc",
    "X-Key": "secret",
    "If-None-Match": '"1"',
  };
  await get(`https://${host}/a`, { headers });
  const [, sameOrigin] = await receivedBy(host);
  const [elsewhere] = await receivedBy(other);
  const lowerCase = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  expect(sameOrigin?.headers).toMatchObject(lowerCase);
  expect(elsewhere?.headers).toMatchObject({ "if-none-match": '"1"', "user-agent": "Test/1" });
  for (const name of ["authorization", "cookie", "webhook-signature", "x-key"]) expect(elsewhere?.headers).not.toHaveProperty(name);
});
