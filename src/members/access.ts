import { createRemoteJWKSet, customFetch, jwtVerify } from "jose";
import type { AccessApplication } from "../platform/config.ts";
import { Fault } from "../platform/telemetry/errors.ts";
import { fetchFromProvider } from "./provider.ts";

/*
 * Cloudflare Access in front of the sign-in. It adds a token to each request that it lets through. The token is verified, since a
 * request may also reach the service past Access.
 */

const CLOCK_TOLERANCE_SECONDS = 30;
/** The least pause between two requests for the keys, so that tokens of unknown keys cause few. */
const KEYS_PAUSE_MS = 10_000;

/** Verifies a token of Cloudflare Access. @returns the address of the person, in lower case. @throws if the token is not valid, or of a service. */
export async function readAccessToken(env: Env, { teamDomain, audience }: AccessApplication, token: string): Promise<string> {
  const issuer = `https://${teamDomain}`;
  const { payload } = await jwtVerify(token, keysOf(env, issuer), {
    issuer,
    audience,
    algorithms: ["RS256"],
    requiredClaims: ["exp", "email"],
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
  });
  const { email } = payload;
  if (typeof email !== "string" || email === "") throw new Fault("The token names no address");
  return email.toLowerCase();
}

const keySets = new Map<string, ReturnType<typeof createRemoteJWKSet>>();

/** The keys of a team, which are loaded again when a token names another one. */
function keysOf(env: Env, issuer: string): ReturnType<typeof createRemoteJWKSet> {
  let keys = keySets.get(issuer);
  if (!keys) {
    keys = createRemoteJWKSet(new URL(`${issuer}/cdn-cgi/access/certs`), {
      cooldownDuration: KEYS_PAUSE_MS,
      [customFetch]: (url, { method, headers }) => fetchFromProvider(env, url, { method, headers: Object.fromEntries(headers) }),
    });
    keySets.set(issuer, keys);
  }
  return keys;
}
