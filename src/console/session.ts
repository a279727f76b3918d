import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { newToken } from "../members/links.ts";
import { decryptSecret, encryptSecret, UnreadableSecretError } from "../platform/crypto/secrets.ts";
import { type Check, isUpgrade } from "../platform/http/checks.ts";
import type { AppContext } from "../platform/http/context.ts";
import { ApiError } from "../platform/http/errors.ts";
import { isOfSession } from "../platform/http/region.ts";
import { HOUR_MS } from "../platform/time.ts";
import { unauthorized } from "../workspaces/checks.ts";
import { CONSOLE_HEADER } from "./protocol.ts";

/** Who is signed in to the console. */
export interface Session {
  /** The id of its `SignIn` object. */
  id: string;
  /** An API key, the token of a member's session, or the operator's token. It is checked again with each request. */
  credential: string;
  /** The name of the person, which the team sees and which is the author of replies. */
  name: string;
  /** Unix milliseconds. */
  expiresAtMs: number;
}

export const SESSION_MS = 12 * HOUR_MS;
const SESSION_CONTEXT = "console/session";

/** Signs a person in and sets the cookie of the session, which lasts at most `SESSION_MS`. */
export async function beginSession(c: AppContext, credential: string, name: string, expiresAtMs: number): Promise<Session> {
  const session = { id: newToken(), credential, name, expiresAtMs };
  await signIn(c.env, session.id).begin(session.expiresAtMs);
  const sealed = await encryptSecret(c.env, JSON.stringify(session), SESSION_CONTEXT);
  setCookie(c, cookieName(c), sealed, { ...cookieOptions(c, "Strict"), maxAge: SESSION_MS / 1000 });
  return session;
}

/** Signs out: the cookie and its copies become invalid. @returns the session, if there was one. */
export async function endSession(c: AppContext): Promise<Session | undefined> {
  const session = await readCookie(c);
  if (session) await signIn(c.env, session.id).end();
  deleteCookie(c, cookieName(c), cookieOptions(c, "Strict"));
  return session;
}

/**
 * The session of a request from a page of the console: it has the cookie and the header, and comes from this origin. A request that
 * another site caused has no session.
 */
async function sessionOf(c: AppContext): Promise<Session | undefined> {
  if (c.req.header("Cookie") === undefined || !isOwnPage(c)) return undefined;
  const session = await readCookie(c);
  if (!session || Date.now() >= session.expiresAtMs) return undefined;
  return (await signIn(c.env, session.id).isActive()) ? session : undefined;
}

/** Returns the session of a request, see `sessionOf`. @throws ApiError missing_api_key if it has none. */
export async function requireSession(c: AppContext): Promise<Session> {
  const session = await sessionOf(c);
  if (!session) throw unauthorized(c, "missing_api_key", "You are not signed in, or your session has ended.");
  return session;
}

/** Lets a page of the console use the API with the credential of its session, unless the request has an Authorization header. */
export const useSession: Check = async (c) => {
  if (c.req.header("Authorization") === undefined) c.set("credential", (await sessionOf(c))?.credential);
};

/** Refuses the session of an API key if the workspace allows no sign-in with keys any more. API keys themselves are not affected. */
export const requireAllowedSession: Check = (c) => {
  if (isOfSession(c)) requireAllowedMethod(c);
};

/** Checks that the credential of the caller may sign in to the console of its workspace. @throws ApiError invalid_api_key. */
export function requireAllowedMethod(c: AppContext): void {
  const { workspace, key } = c.get("caller");
  if (key.member || !workspace.refusesKeySignIn) return;
  throw unauthorized(c, "invalid_api_key", "Keys do not sign in to the console of this workspace. Sign in as a member of the team.");
}

/** Whether a page of this service sent the request. On an upgrade to a WebSocket, a page cannot send headers of its own. */
export function isOwnPage(c: AppContext): boolean {
  const site = c.req.header("Sec-Fetch-Site");
  const origin = c.req.header("Origin");
  if (site !== undefined && site !== "same-origin") return false;
  if (origin !== undefined && origin !== new URL(c.req.url).origin) return false;
  if (isUpgrade(c)) return origin !== undefined;
  const isSafe = c.req.method === "GET" || c.req.method === "HEAD";
  return c.req.header(CONSOLE_HEADER) !== undefined && (isSafe || site !== undefined || origin !== undefined);
}

/** The error for a request that no page of this service sent. */
export function notThisPage(): ApiError {
  return new ApiError("origin_not_allowed", "Only the console of this service may do this.");
}

async function readCookie(c: AppContext): Promise<Session | undefined> {
  const sealed = getCookie(c, cookieName(c));
  if (sealed === undefined) return undefined;
  try {
    return JSON.parse(await decryptSecret(c.env, sealed, SESSION_CONTEXT)) as Session;
  } catch (error) {
    // The cookie was tampered with, or was encrypted with a key that has been retired.
    if (error instanceof UnreadableSecretError) return undefined;
    throw error;
  }
}

/** Whether the console of this service, or the address bar, opened the address. Browsers say so on every secure page. */
export function isOwnNavigation(c: AppContext): boolean {
  const site = c.req.header("Sec-Fetch-Site");
  return site === undefined ? !isSecure(c) : site === "same-origin" || site === "none";
}

/** The name of a cookie. Browsers accept the prefix `__Host-` only from a secure origin, and send such a cookie to this host only. */
export function cookieName(c: AppContext, name = "console"): string {
  return isSecure(c) ? `__Host-${name}` : name;
}

function isSecure(c: AppContext): boolean {
  return new URL(c.req.url).protocol === "https:";
}

/** The options of a cookie. With `Lax`, the browser also sends it when a page of another site leads here. */
export function cookieOptions(c: AppContext, sameSite: "Strict" | "Lax") {
  return { path: "/", httpOnly: true, secure: isSecure(c), sameSite } as const;
}

/** The object of a sign-in. It is created near the person, since the edge asks it before it knows the workspace. */
function signIn(env: Env, sessionId: string) {
  return env.SIGN_IN.getByName(`session/${sessionId}`);
}
