import ipaddr from "ipaddr.js";
import { z } from "zod";
import { allowsPrivateTargets, dnsResolver } from "../config.ts";
import { Fault } from "../telemetry/errors.ts";
import { logProblem } from "../telemetry/log.ts";
import { readAtMost } from "./read-body.ts";
import { type UrlPolicy, urlProblem } from "./url-rules.ts";

/** A resolver answers in milliseconds; one that needs longer is down, and a request's own time should not go to waiting for it. */
const MAX_LOOKUP_MS = 3_000;
/** When to judge a URL again whose verdict is `unavailable`: a resolver that fails is back within seconds. */
export const LOOKUP_RETRY_SECONDS = 5;

/**
 * Whether a URL may be requested now. `blocked`: a rule forbids it. `unresolvable`: its name has no address at present.
 * `unavailable`: the resolver cannot say, which is never a yes. `reason` is a clause for a message.
 */
export type TargetVerdict = { verdict: "allowed" } | { verdict: "blocked" | "unresolvable" | "unavailable"; reason: string };

/**
 * Judges a URL by its text and, where names can be asked for, by every address that its host has now: for a URL that is
 * to be stored. `guardedFetch` judges again before each request.
 */
export async function checkTarget(env: Env, url: string, policy: UrlPolicy, signal?: AbortSignal): Promise<TargetVerdict> {
  const allowsPrivate = allowsPrivateTargets(env);
  const problem = urlProblem(url, policy, allowsPrivate);
  if (problem !== undefined) return { verdict: "blocked", reason: problem };
  const resolver = dnsResolver(env);
  if (allowsPrivate || resolver === undefined) return { verdict: "allowed" };
  const limit = AbortSignal.timeout(MAX_LOOKUP_MS);
  return judgeHost(resolver, new URL(url).hostname, signal ? AbortSignal.any([signal, limit]) : limit);
}

async function judgeHost(resolver: string, host: string, signal: AbortSignal): Promise<TargetVerdict> {
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
/** Response codes that are an answer, "there is no such name" included; every other is a resolver's failure. */
const NO_ERROR = 0;
const NAME_ERROR = 3;

/** Hundreds of addresses fit; a name has a handful. */
const MAX_ANSWER_BYTES = 65_536;

/** The JSON form of a DNS answer. A chain of aliases comes with the addresses that it ends in. */
const answerSchema = z.object({
  Status: z.literal([NO_ERROR, NAME_ERROR]),
  TC: z.literal(false).optional(),
  Answer: z.array(z.object({ type: z.int(), data: z.string() })).optional(),
});

/**
 * All addresses that a host name leads to, IPv4 and IPv6; none when there is no such name. Asked anew each time: what
 * is kept could have changed, and the resolver keeps what may be kept.
 * @throws when the resolver does not answer, or not to the point.
 */
async function addressesOf(resolver: string, host: string, signal: AbortSignal): Promise<string[]> {
  const found = await Promise.all([A, AAAA].map((type) => ask(resolver, host, type, signal)));
  return found.flat();
}

async function ask(resolver: string, host: string, type: number, signal: AbortSignal): Promise<string[]> {
  const url = new URL(resolver);
  url.searchParams.set("name", host);
  url.searchParams.set("type", String(type));
  const response = await fetch(url, { headers: { Accept: "application/dns-json" }, redirect: "manual", cache: "no-store", signal });
  const { body } = await readAtMost(response.body, MAX_ANSWER_BYTES);
  if (response.status !== 200) throw new Fault(`The resolver answered with status ${response.status}`);
  const { Answer = [] } = answerSchema.parse(JSON.parse(new TextDecoder().decode(body)));
  return Answer.filter((record) => record.type === A || record.type === AAAA).map((record) => record.data);
}

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
