import { createRoute, z } from "@hono/zod-openapi";
import { secretValues } from "../platform/config.ts";
import { newId } from "../platform/db/ids.ts";
import { type AppContext, bearerToken } from "../platform/http/context.ts";
import { ApiError } from "../platform/http/errors.ts";
import { checking } from "../platform/http/checks.ts";
import { personName } from "../platform/http/fields.ts";
import { createRouter } from "../platform/http/router.ts";
import { type Change, closeLive, liveChannelOf, VIEWER_HEADER, type Viewer } from "../events/live-channel.ts";
import { isOperatorToken, requireOperator } from "../operator/auth.ts";
import { verifyApiKey } from "../workspaces/api-key.ts";
import { admitKey, requireAddressLimit, requireConfig, unauthorized } from "../workspaces/checks.ts";
import { beginSession, createLink, endSession, isOwnPage, readLink, redeemLink, type Session, sessionOf } from "./session.ts";

/*
 * The console's own endpoints: sign-in, sign-out and the live channel. For everything else it uses /api/v1 and /operator/v1 with the
 * credential of the session (`useSession`).
 */

const MAX_SECRET_LENGTH = 500;

const signInBody = z
  .strictObject({
    secret: z.string().min(1).max(MAX_SECRET_LENGTH).optional(),
    link: z.string().min(1).max(MAX_SECRET_LENGTH).optional(),
    name: personName().default(""),
  })
  .refine(({ secret, link }) => (secret === undefined) !== (link === undefined), { message: "Send either secret or link." });

const linkBody = z.strictObject({ link: z.string().min(1).max(MAX_SECRET_LENGTH) });

const signIn = createRoute({
  method: "post",
  path: "/session",
  operationId: "signIn",
  hide: true,
  request: { body: { required: true, content: { "application/json": { schema: signInBody } } } },
  responses: { 200: { description: "Signed in." } },
});

export const consoleRoutes = createRouter();

consoleRoutes.use(checking(requireConfig));

consoleRoutes.openapi(signIn, async (c) => {
  if (!isOwnPage(c)) throw notThisPage();
  const { secret, link, name } = c.req.valid("json");
  const credential = secret ?? (await credentialOf(c, link!));
  await authenticate(c, credential.trim());
  // A link is used up only by a request that signs in. Of several at the same time, one does.
  if (link !== undefined && !(await redeemLink(c.env, link))) throw invalidLink();
  return c.json(sessionRecord(c, await beginSession(c, credential.trim(), name)), 200);
});

consoleRoutes.get("/session", async (c) => {
  const session = await requireSession(c);
  await authenticate(c, session.credential);
  return c.json(sessionRecord(c, session));
});

consoleRoutes.delete("/session", async (c) => {
  if (!isOwnPage(c)) throw notThisPage();
  const session = await endSession(c);
  const claim = session && (await verifyApiKey(session.credential, secretValues(c.env.KEY_SECRET)));
  if (claim) closeLive(c.env, claim.workspaceId, session.id);
  return c.body(null, 204);
});

/** Creates a link that signs in once with the request's key, for example the one that `npm run dev` prints. */
consoleRoutes.post("/links", async (c) => {
  await authenticate(c, bearerToken(c) ?? "");
  const { token, expiresAtMs } = await createLink(c.env, bearerToken(c)!);
  const url = new URL(`/console/#sign-in=${token}`, c.req.url).href;
  return c.json({ url, expires_at: new Date(expiresAtMs).toISOString() }, 201);
});

const readLinkRoute = createRoute({
  method: "post",
  path: "/links/read",
  operationId: "readSignInLink",
  hide: true,
  request: { body: { required: true, content: { "application/json": { schema: linkBody } } } },
  responses: { 200: { description: "Where the link signs in." } },
});

/** Says where a link signs in, without using it up: the console asks the person first. */
consoleRoutes.openapi(readLinkRoute, async (c) => {
  if (!isOwnPage(c)) throw notThisPage();
  await authenticate(c, await credentialOf(c, c.req.valid("json").link));
  return c.json(signInTarget(c), 200);
});

/** The scope that a key needs to be notified of each kind of change. */
const READ_SCOPES = {
  conversation: "conversations:read",
  lead: "leads:read",
  evaluation: "knowledge:read",
  source: "knowledge:read",
} as const;

consoleRoutes.get("/live", async (c) => {
  if (c.req.header("Upgrade")?.toLowerCase() !== "websocket") throw new ApiError("not_found", "Connect with a WebSocket.");
  const { id: sessionId, credential, name, expiresAtMs } = await requireSession(c);
  c.set("credential", credential);
  await admitKey(c);
  const { workspace, key } = c.get("caller");
  const kinds = (Object.keys(READ_SCOPES) as Change["kind"][]).filter((kind) => key.scopes.includes(READ_SCOPES[kind]));
  const viewer: Viewer = { id: newId(0, Date.now()), name, sessionId, keyId: key.id, kinds, expiresAtMs };
  const headers = new Headers(c.req.raw.headers);
  // Non-ASCII characters are escaped, since a header holds bytes.
  headers.set(VIEWER_HEADER, toAscii(JSON.stringify(viewer)));
  return liveChannelOf(c.env, workspace.id).fetch(new Request(c.req.raw, { headers }));
});

/** The credential of a sign-in link. The address is rate-limited first, since every guessed link would create an object. */
async function credentialOf(c: AppContext, link: string): Promise<string> {
  requireAddressLimit(c);
  const credential = await readLink(c.env, link);
  if (credential === undefined) throw invalidLink();
  return credential;
}

function invalidLink(): ApiError {
  return new ApiError("invalid_api_key", "This link has been used, or is older than an hour. Sign in with an API key.", {
    headers: { "WWW-Authenticate": "Bearer" },
  });
}

/** Checks a key at its gate, or the operator's token. */
async function authenticate(c: AppContext, credential: string): Promise<void> {
  c.set("credential", credential);
  if (await isOperatorToken(c.env, credential)) await requireOperator(c);
  else await admitKey(c);
}

async function requireSession(c: AppContext): Promise<Session> {
  const session = await sessionOf(c);
  if (!session) throw unauthorized(c, "missing_api_key", "You are not signed in, or your session has ended.");
  return session;
}

/** Who is signed in, and what the key may do. */
function sessionRecord(c: AppContext, { name, expiresAtMs }: Session) {
  return { ...signInTarget(c), name, expires_at: new Date(expiresAtMs).toISOString() };
}

/** Where an authenticated credential signs in, and what it may do there. */
function signInTarget(c: AppContext) {
  const { caller } = c.var as Partial<AppContext["var"]>;
  if (!caller) return { kind: "operator" as const };
  const { id, name, slug, plan } = caller.workspace;
  const { id: keyId, name: keyName, scopes } = caller.key;
  return { kind: "workspace" as const, workspace: { id, name, slug, plan }, key: { id: keyId, name: keyName, scopes } };
}

function notThisPage(): ApiError {
  return new ApiError("origin_not_allowed", "Only the console of this service may do this.");
}

function toAscii(json: string): string {
  return json.replaceAll(/[\u{80}-\u{10ffff}]/gu, (char) =>
    [...Array(char.length).keys()].map((at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""),
  );
}
