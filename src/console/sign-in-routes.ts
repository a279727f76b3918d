import { waitUntil } from "cloudflare:workers";
import { createRoute, z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { keepPending, newToken, takePending } from "../members/links.ts";
import { startSession } from "../members/members.ts";
import { memberOfAccount, memberOfAddress } from "../members/sign-in-lookup.ts";
import { mailSignInLink } from "../members/sign-in-by-mail.ts";
import { callbackUrl, clientSecretContext, DEFAULT_METHODS, supportedMethods } from "../members/sign-in-settings.ts";
import type { SignInRow } from "../members/sign-in-store.ts";
import type { MemberRow } from "../members/store.ts";
import type { Account, PendingSignIn } from "../members/provider.ts";
import { findSlug } from "../operator/store.ts";
import { accessApplication } from "../platform/config.ts";
import { decryptSecret } from "../platform/crypto/secrets.ts";
import type { ConsoleMethod } from "../platform/db/columns.ts";
import { directoryDb, newOperation } from "../platform/db/client.ts";
import type { AppContext } from "../platform/http/context.ts";
import { emailAddress } from "../platform/http/fields.ts";
import { createRouter } from "../platform/http/router.ts";
import { logProblem } from "../platform/telemetry/log.ts";
import { MINUTE_MS } from "../platform/time.ts";
import { clientAddress, requireAddressLimit } from "../workspaces/checks.ts";
import { findSignInSettings } from "../workspaces/store.ts";
import { ACCESS_COOKIE, type SignInProblem } from "./protocol.ts";
import { beginSession, cookieName, cookieOptions, isOwnNavigation, isOwnPage, notThisPage, SESSION_MS } from "./session.ts";

/*
 * Sign-in to the console with an account of the workspace's identity provider, through Cloudflare Access, or with a link in a mail.
 * Whatever fails ends on the sign-in page, which says the same of an unknown address as of a known one.
 */

export const signInPageRoutes = createRouter();

/** How long somebody may take at the provider. */
const PENDING_MS = 10 * MINUTE_MS;
const COOKIE = "console-oidc";
/** The length of a state that `newToken` made. */
const STATE = /^[\w-]{43}$/;
const SLUG = /^[a-z0-9-]{1,63}$/;

signInPageRoutes.get("/", async (c) => {
  requireAddressLimit(c);
  const found = await findSettings(c, c.req.query("workspace") ?? "");
  const supported = supportedMethods(c.env);
  const methods = (found?.settings?.methods as ConsoleMethod[] | undefined) ?? DEFAULT_METHODS;
  return c.json({ methods: methods.filter((method) => supported.includes(method)) });
});

const mailBody = z.strictObject({ workspace: z.string().max(63), email: emailAddress().max(320).toLowerCase() });

const mailRoute = createRoute({
  method: "post",
  path: "/mail",
  operationId: "mailSignInLink",
  hide: true,
  request: { body: { required: true, content: { "application/json": { schema: mailBody } } } },
  responses: { 204: { description: "A mail is sent if the address signs somebody in." } },
});

signInPageRoutes.openapi(mailRoute, (c) => {
  if (!isOwnPage(c)) throw notThisPage();
  requireAddressLimit(c);
  const { workspace: slug, email } = c.req.valid("json");
  // Everything happens after the response, which is the same for every address, and takes the same time.
  waitUntil(mailLink(c, slug, email).catch((error: unknown) => logProblem("sign_in_mail_failed", {}, error)));
  return c.body(null, 204);
});

async function mailLink(c: AppContext, slug: string, email: string): Promise<void> {
  const { workspaceId } = (await findSettings(c, slug)) ?? {};
  if (!workspaceId) return;
  await mailSignInLink(c.env, c.get("meter"), { workspaceId, email, client: clientAddress(c), requestUrl: c.req.url });
}

signInPageRoutes.get("/access", async (c) => {
  requireAddressLimit(c);
  const slug = c.req.query("workspace") ?? "";
  // The sign-in page sets the cookie before it leaves for this address: the login page of Access comes in between, so that the browser
  // does not say any more where it came from. A page of another site could otherwise sign somebody in to a workspace of its own.
  const isOwn = slug !== "" && getCookie(c, cookieName(c, ACCESS_COOKIE)) === slug;
  if (!isOwn) return toPage(c, slug);
  deleteCookie(c, cookieName(c, ACCESS_COOKIE), cookieOptions(c, "Lax"));
  const application = accessApplication(c.env);
  const { workspaceId, settings } = (await findSettings(c, slug)) ?? {};
  if (!application || !workspaceId || !settings?.methods.includes("access")) return toPage(c, slug, "off");
  const { readAccessToken } = await import("../members/access.ts");
  const email = await readAccessToken(c.env, application, c.req.header("Cf-Access-Jwt-Assertion") ?? "").catch((error: unknown) => {
    logProblem("sign_in_access_failed", { workspace_id: workspaceId }, error);
  });
  if (email === undefined) return toPage(c, slug, "access");
  const member = await memberOfAddress(c.env, c.get("meter"), { workspaceId, method: "access", email });
  return signIn(c, slug, member, { method: "access" });
});

signInPageRoutes.get("/oidc", async (c) => {
  requireAddressLimit(c);
  const slug = c.req.query("workspace") ?? "";
  // A page of another site could otherwise sign somebody in to a workspace of its own, unnoticed.
  if (!isOwnNavigation(c)) return toPage(c, slug);
  const { workspaceId, settings } = (await findSettings(c, slug)) ?? {};
  if (!workspaceId || !settings?.methods.includes("oidc") || settings.oidcIssuer === null) return toPage(c, slug, "off");
  const { authorizationUrl, discover } = await import("../members/provider.ts");
  const provider = await discover(c.env, settings.oidcIssuer).catch((error: unknown) => {
    logProblem("sign_in_provider_failed", { workspace_id: workspaceId }, error);
  });
  if (!provider) return toPage(c, slug, "provider");
  const clientId = settings.oidcClientId ?? "";
  const pending: PendingSignIn = { workspaceId, slug, clientId, provider, nonce: newToken(), verifier: newToken() };
  const state = newToken();
  await keepPending(c.env, state, pending, Date.now() + PENDING_MS);
  // Lax, since the provider's page sends the browser back.
  setCookie(c, cookieName(c, COOKIE), state, { ...cookieOptions(c, "Lax"), maxAge: PENDING_MS / 1000 });
  return leave(c, await authorizationUrl(pending, { state, redirectUrl: callbackUrl(c.req.url, workspaceId) }));
});

signInPageRoutes.get("/oidc/callback/:workspace_id", async (c) => {
  requireAddressLimit(c);
  const state = c.req.query("state") ?? "";
  // The cookie binds the state to the browser that began, and the object lets it be used once.
  const isOwn = STATE.test(state) && getCookie(c, cookieName(c, COOKIE)) === state;
  const pending = isOwn ? ((await takePending(c.env, state)) as PendingSignIn | undefined) : undefined;
  // At the address of another workspace, the code is from its provider, and must not reach the one of this sign-in.
  if (pending?.workspaceId !== c.req.param("workspace_id")) return toPage(c, "", "expired");
  const { workspaceId, slug } = pending;
  const account = await accountOf(c, pending, state);
  if (!account) return toPage(c, slug, "provider");
  const member = await memberOfAccount(c.env, c.get("meter"), workspaceId, account);
  deleteCookie(c, cookieName(c, COOKIE), cookieOptions(c, "Lax"));
  return signIn(c, slug, member, { method: "oidc", account });
});

/** Signs a member in, and opens the console. Without a member, it opens the sign-in page. */
async function signIn(
  c: AppContext,
  slug: string,
  member: MemberRow | undefined,
  by: { method: "oidc"; account: Account } | { method: "access" },
): Promise<Response> {
  const expiresAtMs = Date.now() + SESSION_MS;
  const how = { ...by, client: c.req.header("User-Agent"), expiresAtMs };
  const started = member && (await startSession(c.env, c.get("meter"), { workspaceId: member.workspaceId, memberId: member.id }, how));
  if (!started) return toPage(c, slug, "refused");
  // Every sign-in has a new session: the one that the browser came with stays what it is.
  await beginSession(c, started.token, started.member.name, expiresAtMs);
  return leave(c, "/console/");
}

/** The account that the provider vouches for; undefined if it vouches for none, or the settings have changed on the way. */
async function accountOf(c: AppContext, pending: PendingSignIn, state: string): Promise<Account | undefined> {
  const { env } = c;
  const { workspaceId, provider, clientId } = pending;
  const { db } = newOperation(env, c.get("meter"), workspaceId);
  const [[settings]] = await db.batch([findSignInSettings(db, workspaceId)]);
  if (!settings || settings.oidcIssuer !== provider.issuer || settings.oidcClientId !== clientId) return undefined;
  const { id, oidcClientSecret: stored } = settings;
  const { readAccount } = await import("../members/provider.ts");
  const parameters = new URL(c.req.url).searchParams;
  try {
    const clientSecret = stored === null ? null : await decryptSecret(env, stored, clientSecretContext(id));
    return await readAccount(env, { pending, parameters, state, clientSecret, redirectUrl: callbackUrl(c.req.url, workspaceId) });
  } catch (error) {
    logProblem("sign_in_provider_failed", { workspace_id: workspaceId }, error);
    return undefined;
  }
}

/** The settings of the workspace with a slug; undefined if there is no such workspace. */
async function findSettings(c: AppContext, slug: string): Promise<{ workspaceId: string; settings: SignInRow | undefined } | undefined> {
  if (!SLUG.test(slug)) return undefined;
  const directory = directoryDb(c.env, c.get("meter"));
  const [[found]] = await directory.batch([findSlug(directory, slug)]);
  if (!found) return undefined;
  const { db } = newOperation(c.env, c.get("meter"), found.workspaceId);
  const [[settings]] = await db.batch([findSignInSettings(db, found.workspaceId)]);
  return { workspaceId: found.workspaceId, settings };
}

/** Sends the browser to the sign-in page. */
function toPage(c: Context, slug: string, problem?: SignInProblem): Response {
  const query = SLUG.test(slug) ? `?workspace=${slug}` : "";
  return leave(c, `/console/${query}${problem ? `#problem=${problem}` : ""}`);
}

function leave(c: Context, url: string): Response {
  c.header("Cache-Control", "no-store");
  c.header("Referrer-Policy", "no-referrer");
  return c.redirect(url, 303);
}
