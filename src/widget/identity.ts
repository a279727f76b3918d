import { z } from "@hono/zod-openapi";
import type * as Jose from "jose";
import { importHmacKey } from "../platform/crypto/hashes.ts";
import { emailAddress } from "../platform/http/fields.ts";
import { toSingleLine } from "../platform/text.ts";

const CLOCK_TOLERANCE_SECONDS = 30;
/** A leaked token is valid for at most this time. */
const MAX_LIFE_SECONDS = 24 * 60 * 60;

/** An identity that is proven by a signature. */
export interface Identity {
  externalId: string;
  name: string | null;
  email: string | null;
  /** Whether the signature covers name and email too. */
  isProfileSigned: boolean;
}

/** The identity, or a sentence for the caller that says what is wrong with its proof. */
type IdentityResult = { identity: Identity } | { problem: string };

const claimsSchema = z.object({
  sub: z.string().min(1).max(128),
  name: z
    .string()
    .max(120)
    .overwrite((name) => toSingleLine(name, name.length))
    .nullable()
    .default(null),
  email: emailAddress().max(320).nullable().default(null),
});

/** Verifies an identity token: a JWT, HS256, `{sub, email?, name?, exp}`, signed with one of the agent's secrets. */
export async function readIdentityToken(token: string, secrets: readonly string[], nowMs: number): Promise<IdentityResult> {
  // The library is loaded with the first token.
  const jose = await import("jose");
  let problem = NO_SECRET;
  for (const secret of secrets) {
    try {
      return toIdentity(await verifiedClaims(jose, token, secret, nowMs), nowMs);
    } catch (error) {
      if (!(error instanceof jose.errors.JOSEError)) throw error;
      problem = problemOf(jose, error);
    }
    if (problem !== FORGED) break;
  }
  return { problem };
}

/** Verifies a user hash: the hex HMAC-SHA256 of the user's id, made with one of the agent's secrets. It proves the id alone. */
export async function readUserHash(
  hash: string,
  user: { id: string; name?: string | null | undefined; email?: string | null | undefined },
  secrets: readonly string[],
): Promise<IdentityResult> {
  if (secrets.length === 0) return { problem: NO_SECRET };
  const refused = {
    problem: "The user_hash does not match user.id: send the hex HMAC-SHA256 of the id, made with this agent's identity secret.",
  };
  if (!/^[0-9a-f]{64}$/i.test(hash)) return refused;
  const id = new TextEncoder().encode(user.id);
  for (const secret of secrets) {
    if (await crypto.subtle.verify("HMAC", await importHmacKey(secret), Uint8Array.fromHex(hash), id)) {
      return { identity: { externalId: user.id, name: user.name || null, email: user.email ?? null, isProfileSigned: false } };
    }
  }
  return refused;
}

async function verifiedClaims({ jwtVerify }: typeof Jose, token: string, secret: string, nowMs: number): Promise<Jose.JWTPayload> {
  const { payload } = await jwtVerify(token, new TextEncoder().encode(secret), {
    // The algorithm is fixed and never taken from the token.
    algorithms: ["HS256"],
    requiredClaims: ["sub", "exp"],
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    currentDate: new Date(nowMs),
  });
  return payload;
}

function toIdentity(claims: Jose.JWTPayload, nowMs: number): IdentityResult {
  const nowSeconds = nowMs / 1000;
  const lifeSeconds = claims.exp! - Math.min(claims.iat ?? nowSeconds, nowSeconds);
  if (lifeSeconds > MAX_LIFE_SECONDS + CLOCK_TOLERANCE_SECONDS) return { problem: LONG_LIVED };
  const read = claimsSchema.safeParse(claims);
  if (!read.success) {
    const names = [...new Set(read.error.issues.map(({ path }) => String(path[0])))].join(", ");
    return { problem: `The identity_token's ${names} is not valid: sub takes 1 to 128 characters, name up to 120, email an address.` };
  }
  const { sub, name, email } = read.data;
  return { identity: { externalId: sub, name: name || null, email, isProfileSigned: true } };
}

const NO_SECRET = "This agent accepts no identities, since it has no identity secret yet. Leave identity_token and user_hash out.";
const LONG_LIVED =
  "The identity_token lives longer than 24 hours. Have your server sign one with an exp of at most 24 hours from now, each time it is needed.";
const FORGED = "The identity_token is not signed with this agent's identity secret.";

function problemOf({ errors }: typeof Jose, error: Jose.errors.JOSEError): string {
  if (error instanceof errors.JWSSignatureVerificationFailed) return FORGED;
  if (error instanceof errors.JWTExpired) return "The identity_token has expired. Have your server sign a new one.";
  if (error instanceof errors.JOSEAlgNotAllowed) return "The identity_token is not signed with HS256, the only algorithm that is accepted.";
  if (error instanceof errors.JWTClaimValidationFailed && error.reason === "missing") {
    return `The identity_token lacks the claim ${error.claim}, which it must have.`;
  }
  if (error instanceof errors.JWTClaimValidationFailed) return `The identity_token's claim ${error.claim} is not valid now.`;
  return "The identity_token is not a JWT.";
}
