import { allowsPrivateTargets, dnsResolver } from "../config.ts";
import { logProblem } from "../telemetry/log.ts";
import { isPublicAddress } from "./address-rules.ts";
import { addressesOf } from "./dns.ts";
import { urlProblem, type UrlPolicy } from "./url-rules.ts";

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
export async function judgeTarget(env: Env, url: string, policy: UrlPolicy, signal?: AbortSignal): Promise<TargetVerdict> {
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
