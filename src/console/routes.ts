import { createRoute, z } from "@hono/zod-openapi";
import { apiKeySecrets, hasLanguageModel } from "../platform/config.ts";
import { type AddressLink, createLink, type LinkTarget, linkUrl, type MemberLink, readLink, redeemLink } from "../members/links.ts";
import { endSession as endMemberSession, startSession } from "../members/members.ts";
import { findByAddress, memberOfAddress, type WorkspaceRow } from "../members/sign-in-lookup.ts";
import { findMember, type MemberRow, nameFromEmail } from "../members/store.ts";
import { newOperation } from "../platform/db/client.ts";
import { newId } from "../platform/db/ids.ts";
import { type AppContext, bearerToken } from "../platform/http/context.ts";
import { ApiError } from "../platform/http/errors.ts";
import { checking, requireUpgrade } from "../platform/http/checks.ts";
import { personName, toTimestamp } from "../platform/http/fields.ts";
import { createRouter } from "../platform/http/router.ts";
import { closeLive, liveChannelOf, VIEWER_HEADER, type Viewer } from "../events/live-channel.ts";
import { CHANGE_KINDS } from "../events/live-protocol.ts";
import { isOperatorToken, requireOperator } from "../operator/auth.ts";
import { HOUR_MS } from "../platform/time.ts";
import { isSessionToken, verifyApiKey } from "../workspaces/api-key.ts";
import { admitKey, operationOf, requireAddressLimit, requireConfig } from "../workspaces/checks.ts";
import { findWorkspace } from "../workspaces/store.ts";
import { consentRoutes } from "./consent-routes.ts";
import { signInPageRoutes } from "./sign-in-routes.ts";
import {
  beginSession,
  endSession,
  isOwnPage,
  notThisPage,
  requireAllowedMethod,
  requireSession,
  type Session,
  SESSION_MS,
} from "./session.ts";

/*
 * The console's own endpoints: sign-in, sign-out and the live channel. For everything else it uses /api/v1 and /operator/v1 with the
 * credential of the session (`useSession`).
 */

const MAX_SECRET_LENGTH = 500;
/** How long a link that signs in with a key works. */
const LINK_MS = HOUR_MS;

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

consoleRoutes.route("/sign-in", signInPageRoutes);
consoleRoutes.route("/consent", consentRoutes);

consoleRoutes.openapi(signIn, async (c) => {
  if (!isOwnPage(c)) throw notThisPage();
  const { secret, link, name } = c.req.valid("json");
  const expiresAtMs = Date.now() + SESSION_MS;
  const target = link === undefined ? { credential: secret!.trim() } : await openLink(c, link);
  if ("credential" in target) await authenticate(c, target.credential);
  // A link is used up only by a request that signs in. Of several at the same time, one does.
  if (link !== undefined && !(await redeemLink(c.env, link))) throw invalidLink();
  const credential = "credential" in target ? target.credential : await signInMember(c, target, { name, expiresAtMs });
  return c.json(sessionRecord(c, await beginSession(c, credential, name, expiresAtMs)), 200);
});

/** Signs in the member of a link that was used up. @returns the token of the session. */
async function signInMember(c: AppContext, link: MemberLink | AddressLink, { name, expiresAtMs }: { name: string; expiresAtMs: number }) {
  const { env } = c;
  const meter = c.get("meter");
  const isMailed = "email" in link;
  const { workspaceId } = link;
  const memberId = isMailed ? (await memberOfAddress(env, meter, { ...link, method: "mail" }))?.id : link.memberId;
  if (memberId === undefined) throw invalidLink();
  const method = isMailed ? ("mail" as const) : ("invitation" as const);
  const how = {
    method,
    client: c.req.header("User-Agent"),
    expiresAtMs,
    ...(name !== "" && { name }),
    ...(!isMailed && { updatedAt: link.updatedAt }),
  };
  const started = await startSession(env, meter, { workspaceId, memberId }, how);
  if (!started) throw invalidLink();
  await authenticate(c, started.token);
  return started.token;
}

consoleRoutes.get("/session", async (c) => {
  const session = await requireSession(c);
  await authenticate(c, session.credential);
  return c.json(sessionRecord(c, session));
});

consoleRoutes.delete("/session", async (c) => {
  if (!isOwnPage(c)) throw notThisPage();
  const session = await endSession(c);
  const claim = session && (await verifyApiKey(session.credential, apiKeySecrets(c.env)));
  if (!claim) return c.body(null, 204);
  closeLive(c.env, claim.workspaceId, session.id);
  if (isSessionToken(session.credential)) await signOutMember(c, session.credential);
  return c.body(null, 204);
});

/** Ends the session of a member, unless it has ended already. */
async function signOutMember(c: AppContext, token: string): Promise<void> {
  c.set("credential", token);
  try {
    await admitKey(c);
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return;
    throw error;
  }
  const { id, member } = c.get("caller").key;
  await endMemberSession(operationOf(c), member!.id, id);
}

/** Creates a link that signs in once with the request's key, for example the one that `npm run dev` prints. */
consoleRoutes.post("/links", async (c) => {
  await authenticate(c, bearerToken(c) ?? "");
  const expiresAtMs = Date.now() + LINK_MS;
  const token = await createLink(c.env, { credential: bearerToken(c)! }, expiresAtMs);
  return c.json({ url: linkUrl(c.req.url, token), expires_at: toTimestamp(expiresAtMs) }, 201);
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
  const target = await openLink(c, c.req.valid("json").link);
  if ("memberId" in target) return c.json(await memberTarget(c, target), 200);
  if ("email" in target) return c.json(await addressTarget(c, target), 200);
  await authenticate(c, target.credential);
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
  requireUpgrade(c);
  const { id: sessionId, credential, name, expiresAtMs } = await requireSession(c);
  c.set("credential", credential);
  await admitKey(c);
  requireAllowedMethod(c);
  const { workspace, key } = c.get("caller");
  const kinds = CHANGE_KINDS.filter((kind) => key.scopes.includes(READ_SCOPES[kind]));
  const closesWith = [sessionId, key.id, ...(key.member ? [key.member.id] : [])];
  const viewer: Viewer = { id: newId(0, Date.now()), name: key.member?.name ?? name, closesWith, kinds, expiresAtMs };
  const headers = new Headers(c.req.raw.headers);
  // Non-ASCII characters are escaped, since a header holds bytes.
  headers.set(VIEWER_HEADER, toAscii(JSON.stringify(viewer)));
  return liveChannelOf(c.env, workspace.id).fetch(new Request(c.req.raw, { headers }));
});

/** Returns what a sign-in link signs in with. The address is rate-limited first, since every guessed link would create an object. */
async function openLink(c: AppContext, link: string): Promise<LinkTarget> {
  requireAddressLimit(c);
  const target = await readLink(c.env, link);
  if (target === undefined) throw invalidLink();
  return target;
}

/** Where a member's link signs in. */
async function memberTarget(c: AppContext, { workspaceId, memberId, updatedAt }: MemberLink) {
  const { db } = newOperation(c.env, c.get("meter"), workspaceId);
  const [[workspace], [member]] = await db.batch([findWorkspace(db, workspaceId), findMember(db, workspaceId, memberId)]);
  if (!workspace || member?.updatedAt !== updatedAt || member.status === "removed") throw invalidLink();
  return targetRecord(workspace, member, "invitation");
}

/** Returns where a mailed link signs in. A person who joins with it has no id yet. @throws ApiError if it signs nobody in any more. */
async function addressTarget(c: AppContext, { workspaceId, email }: AddressLink) {
  const found = await findByAddress(newOperation(c.env, c.get("meter"), workspaceId), "mail", email);
  if (!found) throw invalidLink();
  if ("member" in found) return targetRecord(found.workspace, found.member, "mail");
  return targetRecord(found.workspace, { ...found.joiner, id: null, name: nameFromEmail(email), status: "invited" }, "mail");
}

type SignedIn = Pick<MemberRow, "email" | "name" | "role" | "status"> & { id: string | null };

function targetRecord(workspace: Pick<WorkspaceRow, "id" | "name" | "slug" | "plan">, member: SignedIn, method: "invitation" | "mail") {
  const { id, name, slug, plan } = workspace;
  const { id: memberId, name: memberName, email, role, status } = member;
  const record = { id: memberId, name: memberName, email, role, is_new: status === "invited" };
  return { kind: "workspace" as const, workspace: { id, name, slug, plan }, member: record, method };
}

function invalidLink(): ApiError {
  return new ApiError("invalid_api_key", "This link has been used or has expired. Ask for a new one, or sign in in another way.", {
    headers: { "WWW-Authenticate": "Bearer" },
  });
}

/** Checks a key at its gate, or the operator's token. */
async function authenticate(c: AppContext, credential: string): Promise<void> {
  c.set("credential", credential);
  if (await isOperatorToken(c.env, credential)) await requireOperator(c);
  else {
    await admitKey(c);
    requireAllowedMethod(c);
  }
}

/** Who is signed in, and what the key or the member may do. */
function sessionRecord(c: AppContext, { name, expiresAtMs }: Session) {
  const target = signInTarget(c);
  const member = target.kind === "workspace" ? target.member : null;
  return { ...target, name: member?.name ?? name, expires_at: toTimestamp(expiresAtMs) };
}

/** Where an authenticated credential signs in, and what it may do there. */
function signInTarget(c: AppContext) {
  const { caller } = c.var as Partial<AppContext["var"]>;
  if (!caller) return { kind: "operator" as const };
  const { id, name, slug, plan } = caller.workspace;
  const { id: keyId, name: keyName, scopes, isOwner, member = null } = caller.key;
  return {
    kind: "workspace" as const,
    workspace: { id, name, slug, plan },
    key: { id: keyId, name: keyName, scopes, is_owner: isOwner },
    member,
    has_language_model: hasLanguageModel(c.env),
  };
}

function toAscii(json: string): string {
  return json.replaceAll(/[\u{80}-\u{10ffff}]/gu, (char) =>
    [...Array(char.length).keys()].map((at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""),
  );
}
