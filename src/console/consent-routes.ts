import { createRoute, z } from "@hono/zod-openapi";
import { type AppContext } from "../platform/http/context.ts";
import { ApiError } from "../platform/http/errors.ts";
import { createRouter } from "../platform/http/router.ts";
import { admitKey } from "../workspaces/checks.ts";
import { type Scope, SCOPES } from "../workspaces/scopes.ts";
import { isOwnPage, notThisPage, requireSession } from "./session.ts";

/*
 * The consent of a member to an application that asks for access to /mcp. Both requests come from the console's own page and send what
 * the application asked for, which is checked each time: nothing is stored before the member agrees.
 */

export const consentRoutes = createRouter();

const MAX_REQUEST_LENGTH = 4_000;
const asked = z.string().max(MAX_REQUEST_LENGTH);

const readConsent = createRoute({
  method: "post",
  path: "/read",
  operationId: "readConsent",
  hide: true,
  request: { body: { required: true, content: { "application/json": { schema: z.strictObject({ request: asked }) } } } },
  responses: { 200: { description: "What the application asks for." } },
});

consentRoutes.openapi(readConsent, async (c) => {
  const { scopes: own } = await requireMember(c);
  const found = await readRequest(c, c.req.valid("json").request);
  if ("problem" in found) return c.json({ problem: found.problem }, 200);
  if ("redirectUrl" in found) return c.json({ redirect_url: found.redirectUrl }, 200);
  const { name, host, domain, isLocal, scopes } = found.applicant;
  const application = { name, host, domain: domain ?? null, is_local: isLocal };
  return c.json({ application, scopes: scopes.filter((scope) => own.includes(scope)) }, 200);
});

const giveConsent = createRoute({
  method: "post",
  path: "/",
  operationId: "giveConsent",
  hide: true,
  request: {
    body: {
      required: true,
      content: { "application/json": { schema: z.strictObject({ request: asked, scopes: z.array(z.enum(SCOPES)).max(SCOPES.length) }) } },
    },
  },
  responses: { 200: { description: "Where the browser goes next." } },
});

/** Connects the application, or declines if no scopes are given. */
consentRoutes.openapi(giveConsent, async (c) => {
  const { id: memberId, scopes: own } = await requireMember(c);
  const { request, scopes: given } = c.req.valid("json");
  const found = await readRequest(c, request);
  if ("problem" in found) throw new ApiError("conflict", found.problem);
  if ("redirectUrl" in found) return c.json({ redirect_url: found.redirectUrl }, 200);
  const { connect, declinedUrl } = await import("../applications/authorization-server.ts");
  if (given.length === 0) return c.json({ redirect_url: declinedUrl(found.request) }, 200);
  const scopes = found.applicant.scopes.filter((scope) => given.includes(scope) && own.includes(scope));
  if (scopes.length === 0) throw new ApiError("insufficient_scope", "You have none of these permissions. Ask an owner of the workspace.");
  const workspaceId = c.get("caller").workspace.id;
  const redirectUrl = await connect(contextOf(c), found, { workspaceId, memberId, scopes });
  return c.json({ redirect_url: redirectUrl }, 200);
});

/** The member who is signed in, on a page of the console. An API key connects nothing: a token needs somebody whom it ends with. */
async function requireMember(c: AppContext): Promise<{ id: string; scopes: Scope[] }> {
  if (!isOwnPage(c)) throw notThisPage();
  const { credential } = await requireSession(c);
  c.set("credential", credential);
  await admitKey(c);
  const { member, scopes } = c.get("caller").key;
  if (!member) throw new ApiError("insufficient_scope", "Applications are connected by members of the team. Sign in as a member.");
  return { id: member.id, scopes };
}

async function readRequest(c: AppContext, query: string) {
  const server = await import("../applications/authorization-server.ts");
  return server.readRequest(contextOf(c), new URL(c.req.url).origin, query);
}

function contextOf(c: AppContext) {
  return { env: c.env, meter: c.get("meter") };
}
