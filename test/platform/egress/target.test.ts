import { expect, test } from "vitest";
import { allowsPrivateTargets, configProblems } from "../../../src/platform/config.ts";
import { checkTarget } from "../../../src/platform/egress/target.ts";
import { WEBHOOK_POLICY } from "../../../src/platform/egress/url-rules.ts";
import { envWith } from "../../harness.ts";
import { newHost, receivedBy, type Records, RESOLVER, resolverBehaves, resolveTo } from "../../outbound.ts";

const asking = envWith({ DNS_OVER_HTTPS_URL: RESOLVER });
const judge = (host: string, signal?: AbortSignal) => checkTarget(asking, `https://${host}/`, WEBHOOK_POLICY, signal);

const ALLOWED = { verdict: "allowed" };
const PRIVATE = { verdict: "blocked", reason: "its host leads to an address that is not public" };
const UNRESOLVABLE = { verdict: "unresolvable", reason: "its host has no address" };
const UNAVAILABLE = { verdict: "unavailable", reason: "its host could not be looked up just now" };

const ANSWERS: [what: string, records: Records, verdict: object][] = [
  ["a public address", { A: ["93.184.215.14"] }, ALLOWED],
  ["a public address of IPv6 alone", { AAAA: ["2606:4700:4700::1111"] }, ALLOWED],
  ["several public addresses of both kinds", { A: ["1.1.1.1", "8.8.8.8"], AAAA: ["2001:4860:4860::8888"] }, ALLOWED],
  ["public addresses behind an alias", { CNAME: ["edge.example.net."], A: ["93.184.215.14"] }, ALLOWED],
  ["a private address", { A: ["10.0.0.1"] }, PRIVATE],
  ["loopback", { A: ["127.0.0.1"] }, PRIVATE],
  ["the metadata service", { A: ["169.254.169.254"] }, PRIVATE],
  ["public and private addresses", { A: ["93.184.215.14", "192.168.1.1"] }, PRIVATE],
  ["a public IPv4 and a private IPv6 address", { A: ["93.184.215.14"], AAAA: ["fd00::1"] }, PRIVATE],
  ["a private IPv4 and a public IPv6 address", { A: ["10.0.0.1"], AAAA: ["2606:4700:4700::1111"] }, PRIVATE],
  ["a private address behind an alias", { CNAME: ["db.internal."], A: ["10.1.2.3"] }, PRIVATE],
  ["a mapped address", { AAAA: ["::ffff:10.0.0.1"] }, PRIVATE],
  ["what is no address", { A: ["localhost"] }, PRIVATE],
  ["an alias that leads nowhere", { CNAME: ["gone.example.net."] }, UNRESOLVABLE],
  ["no such name", {}, UNRESOLVABLE],
];

test.each(ANSWERS)("a host that resolves to %s", async (_what, records, verdict) => {
  const host = newHost();
  await resolveTo(host, records);
  expect(await judge(host)).toEqual(verdict);
});

test("a host name that contains a private address is checked by what it resolves to", async () => {
  const host = `10.0.0.1.${crypto.randomUUID()}.nip.io`;
  await resolveTo(host, { A: ["10.0.0.1"] });
  expect(await judge(host)).toEqual(PRIVATE);
});

test("a changed DNS answer counts from the next check on", async () => {
  const host = newHost();
  await resolveTo(host, { A: ["93.184.215.14"] }, { A: ["127.0.0.1"] }, { A: ["93.184.215.14"] });
  expect(await judge(host)).toEqual(ALLOWED);
  expect(await judge(host)).toEqual(PRIVATE);
  expect(await judge(host)).toEqual(ALLOWED);
});

test.each([
  ["answers 500", { status: 500, body: "oops" }],
  ["answers with a page", { body: "<html>" }],
  ["answers with other JSON", { body: '{"Status":"0"}' }],
  ["answers with null", { body: "null" }],
  ["answers with nothing", {}],
  ["fails to ask (SERVFAIL)", { body: '{"Status":2}' }],
  ["refuses to ask (REFUSED)", { body: '{"Status":5}' }],
  ["answers in part", { body: '{"Status":0,"TC":true,"Answer":[{"type":1,"data":"93.184.215.14"}]}' }],
  ["answers without end", { body: " ".repeat(10_000), times: 1_000_000_000 }],
  ["redirects", { status: 302, headers: { Location: "https://elsewhere.example.com/" } }],
  ["breaks off", { fails: "reset" }],
  ["breaks off in its answer", { body: '{"Status":0,', fails: "reset_in_body" }],
] as const)("a resolver that %s has not said yes", async (_what, behaviour) => {
  const host = newHost();
  await resolverBehaves(host, behaviour);
  expect(await judge(host)).toEqual(UNAVAILABLE);
});

test("an incomplete DNS answer is a failure", async () => {
  const host = newHost();
  await resolveTo(host, { A: ["93.184.215.14"] });
  await resolverBehaves(host, { status: 502 }, ["AAAA"]);
  expect(await judge(host)).toEqual(UNAVAILABLE);
});

test("a resolver that does not respond is a failure after a timeout", async () => {
  const host = newHost();
  await resolverBehaves(host, { fails: "silent" });
  expect(await judge(host, AbortSignal.timeout(30))).toEqual(UNAVAILABLE);
});

test("the resolver is queried for A and AAAA records in JSON, and only for host names", async () => {
  const host = `bücher-${crypto.randomUUID()}.example.com`;
  const { hostname } = new URL(`https://${host}/`);
  await resolveTo(hostname, { A: ["93.184.215.14"] });
  expect(await judge(`${host}:8443`)).toEqual(ALLOWED);
  const asked = (await receivedBy(new URL(RESOLVER).host)).filter(({ place }) => place.includes(`name=${hostname}&`));
  expect(asked.map(({ place }) => place.split("type=")[1]).sort()).toEqual(["1", "28"]);
  expect(asked[0]?.headers.accept).toBe("application/dns-json");
});

test("a URL that is refused by its text is not resolved", async () => {
  const host = `${newHost()}.internal`;
  expect(await judge(host)).toEqual({ verdict: "blocked", reason: "its host ends in .internal, which is not public" });
  expect((await receivedBy(new URL(RESOLVER).host)).filter(({ place }) => place.includes(host))).toEqual([]);
});

test("without a resolver only the URL's text is checked", async () => {
  expect(await checkTarget(envWith({ DNS_OVER_HTTPS_URL: "" }), `https://${newHost()}/`, WEBHOOK_POLICY)).toEqual(ALLOWED);
});

test("private targets are not resolved, and production allows none", async () => {
  const laptop = envWith({ DNS_OVER_HTTPS_URL: RESOLVER, ALLOW_PRIVATE_TARGETS: "true" });
  expect(await checkTarget(laptop, "http://localhost:9000/", WEBHOOK_POLICY)).toEqual(ALLOWED);
  const production = { ...laptop, ENVIRONMENT: "production" } as Env;
  expect(configProblems(production).join()).toContain("ALLOW_PRIVATE_TARGETS");
  expect(allowsPrivateTargets(production)).toBe(false);
  expect(await checkTarget(production, "http://localhost:9000/", WEBHOOK_POLICY)).toMatchObject({ verdict: "blocked" });
});
