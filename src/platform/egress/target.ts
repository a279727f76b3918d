import ipaddr from "ipaddr.js";
import { z } from "zod";
import { allowsPrivateTargets, dnsResolver, isProduction } from "../config.ts";
import { readAtMost } from "../read-stream.ts";
import { Fault } from "../telemetry/errors.ts";
import { logProblem } from "../telemetry/log.ts";
import { isAllowedWhenPrivate, type UrlPolicy, urlProblem } from "./url-rules.ts";

/** A resolver that has not answered by then is down. */
const MAX_LOOKUP_MS = 3_000;
/** When to check a URL again whose verdict is `unavailable`: a resolver recovers within seconds. */
export const LOOKUP_RETRY_SECONDS = 5;

/**
 * Whether a URL may be requested. `blocked`: a rule forbids it. `unresolvable`: its host has no address now. `unavailable`:
 * the resolver failed, so the URL must not be requested. `reason` is a clause about the URL for a message.
 */
export type TargetVerdict = { verdict: "allowed" } | { verdict: "blocked" | "unresolvable" | "unavailable"; reason: string };

/**
 * Checks a URL by its text and, if a resolver is configured, by every address that its host has now. A URL is checked before it
 * is stored; `guardedFetch` checks it again before each request.
 */
export async function checkTarget(env: Env, url: string, policy: UrlPolicy, signal?: AbortSignal): Promise<TargetVerdict> {
  const allowsPrivate = allowsPrivateTargets(env);
  const problem = urlProblem(url, policy, allowsPrivate);
  if (problem !== undefined) return { verdict: "blocked", reason: problem };
  const resolver = dnsResolver(env);
  if (allowsPrivate || resolver === undefined) return { verdict: "allowed" };
  const limit = AbortSignal.timeout(MAX_LOOKUP_MS);
  return checkHost(resolver, new URL(url).hostname, signal ? AbortSignal.any([signal, limit]) : limit);
}

/**
 * Why this deployment may not request a URL, as a clause for a message, by its text alone; on a developer's machine with what
 * would allow it.
 */
export function targetProblem(env: Env, url: string, policy: UrlPolicy): string | undefined {
  const problem = urlProblem(url, policy, allowsPrivateTargets(env));
  if (problem === undefined || isProduction(env) || !isAllowedWhenPrivate(url, policy)) return problem;
  return `${problem}; to reach your own machine, run: npm run dev -- --var ALLOW_PRIVATE_TARGETS:true`;
}

async function checkHost(resolver: string, host: string, signal: AbortSignal): Promise<TargetVerdict> {
  let addresses: string[];
  try {
    addresses = await addressesOf(resolver, host, signal);
  } catch (error) {
    logProblem("name_lookup_failed", {}, error);
    return { verdict: "unavailable", reason: "its host could not be looked up just now" };
  }
  if (addresses.length === 0) return { verdict: "unresolvable", reason: "its host has no address" };
  if (!addresses.every(isPublicAddress)) return { verdict: "blocked", reason: "its host leads to an address that is not public" };
  return { verdict: "allowed" };
}

/** Record types, as the DNS numbers them. */
const A = 1;
const AAAA = 28;
/** The response codes of an answer; every other is a failure of the resolver. */
const NO_ERROR = 0;
const NAME_ERROR = 3;

/** Room for hundreds of addresses. */
const MAX_ANSWER_BYTES = 65_536;

/** A DNS answer in JSON. With a chain of aliases come the addresses that it ends in. */
const answerSchema = z.object({
  Status: z.literal([NO_ERROR, NAME_ERROR]),
  TC: z.literal(false).optional(),
  Answer: z.array(z.object({ type: z.int(), data: z.string() })).optional(),
});

/**
 * All addresses of a host name, IPv4 and IPv6. Nothing is cached here, since the resolver caches what may be cached.
 * @throws when the resolver gives no valid answer.
 */
async function addressesOf(resolver: string, host: string, signal: AbortSignal): Promise<string[]> {
  const found = await Promise.all([A, AAAA].map((type) => resolve(resolver, host, type, signal)));
  return found.flat();
}

async function resolve(resolver: string, host: string, type: number, signal: AbortSignal): Promise<string[]> {
  const url = new URL(resolver);
  url.searchParams.set("name", host);
  url.searchParams.set("type", String(type));
  const response = await fetch(url, { headers: { Accept: "application/dns-json" }, redirect: "manual", cache: "no-store", signal });
  const { body } = await readAtMost(response.body, MAX_ANSWER_BYTES);
  if (response.status !== 200) throw new Fault(`The DNS resolver responded with status ${response.status}`);
  const { Answer = [] } = answerSchema.parse(JSON.parse(new TextDecoder().decode(body)));
  return Answer.filter((record) => record.type === A || record.type === AAAA).map((record) => record.data);
}

/** The only block of IPv6 that IANA assigns to the public Internet. */
const GLOBAL_UNICAST_V6 = ipaddr.IPv6.parseCIDR("2000::/3");

/**
 * Whether an IP address, as DNS answers spell it, is public. An IPv6 address that embeds an IPv4 address (mapped, NAT64, 6to4,
 * Teredo) is not: a public host does not need one.
 */
export function isPublicAddress(text: string): boolean {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text).range() === "unicast";
  if (!ipaddr.IPv6.isValid(text)) return false;
  const address = ipaddr.IPv6.parse(text);
  return address.zoneId === undefined && address.match(GLOBAL_UNICAST_V6) && address.range() === "unicast";
}
