import ipaddr from "ipaddr.js";
import { allowsPrivateTargets, dnsResolver, isProduction } from "../config.ts";
import { logProblem } from "../telemetry/log.ts";
import { addressesOf } from "./dns.ts";
import { isAllowedWhenPrivate, type UrlPolicy, urlProblem } from "./url-rules.ts";

/** A resolver that takes longer counts as unavailable. */
const MAX_LOOKUP_MS = 3_000;
/** When to check a URL with the verdict `unavailable` again. Resolvers recover within seconds. */
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
 * Returns why this deployment may not request a URL, judged only by the URL's text, as a clause for a message; undefined if it may. On a
 * developer's machine the clause also says how to allow it.
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

/** The only block of IPv6 that IANA assigns to the public Internet. */
const GLOBAL_UNICAST_V6 = ipaddr.IPv6.parseCIDR("2000::/3");

/**
 * Returns whether an IP address, as DNS answers write it, is public. An IPv6 address that embeds an IPv4 address (mapped, NAT64, 6to4,
 * Teredo) is not: a public host does not need one.
 */
export function isPublicAddress(text: string): boolean {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text).range() === "unicast";
  if (!ipaddr.IPv6.isValid(text)) return false;
  const address = ipaddr.IPv6.parse(text);
  return address.zoneId === undefined && address.match(GLOBAL_UNICAST_V6) && address.range() === "unicast";
}
