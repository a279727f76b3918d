import {
  type AuthRequest,
  AuthorizationError,
  authorizationErrorRedirect,
  CimdFetchError,
  OAuthAuthorizationServer,
} from "@cloudflare/workers-oauth-provider";
import { apiKeySecrets, secretValues } from "../platform/config.ts";
import { BASE64URL } from "../platform/crypto/base64url.ts";
import { directoryDb, newOperation } from "../platform/db/client.ts";
import { checkTarget } from "../platform/egress/target.ts";
import { WEBHOOK_POLICY } from "../platform/egress/url-rules.ts";
import { LruCache } from "../platform/lru-cache.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import { isSessionToken, mintSessionToken, verifyApiKey } from "../workspaces/api-key.ts";
import { reloadGate } from "../workspaces/gate.ts";
import type { Scope } from "../workspaces/scopes.ts";
import { disconnect } from "./disconnect.ts";
import { APPLICATION_SCOPES, ENDPOINTS, resourceOf } from "./metadata.ts";
import { OAuthStorage, parseGrant, type Shown, userIdOf } from "./storage.ts";
import { addToken, findByToken, keepRecord } from "./store.ts";

/*
 * The OAuth 2.1 authorization server for /mcp: the library checks requests, clients, redirect addresses, PKCE and codes, and rotates
 * refresh tokens. Access tokens are the service's own, so that the gate admits them as it admits a member's session.
 */

const ACCESS_TOKEN_SECONDS = 60 * 60;
/** How long an application stays connected that is not used. */
const IDLE_SECONDS = 30 * 24 * 60 * 60;
/** How long an application that registered itself is known after its last use, roughly. */
const CLIENT_SECONDS = 90 * 24 * 60 * 60;
/** The most that a consent page shows of a name. */
const MAX_NAME_LENGTH = 80;

interface Bindings {
  OAUTH_KV: OAuthStorage;
}

const servers = new LruCache<string, OAuthAuthorizationServer<Bindings>>(20);

function serverAt(origin: string): OAuthAuthorizationServer<Bindings> {
  const known = servers.get(origin);
  if (known) return known;
  const server = new OAuthAuthorizationServer<Bindings>({
    issuer: origin,
    resources: [resourceOf(origin)],
    authorizeEndpoint: ENDPOINTS.authorize,
    tokenEndpoint: ENDPOINTS.token,
    clientRegistrationEndpoint: ENDPOINTS.register,
    scopesSupported: [...APPLICATION_SCOPES],
    accessTokenTTL: ACCESS_TOKEN_SECONDS,
    refreshTokenTTL: IDLE_SECONDS,
    refreshTokenIdleTTL: IDLE_SECONDS,
    clientRegistrationTTL: CLIENT_SECONDS,
    clientIdMetadataDocumentEnabled: true,
    // The request log has the status; the library would write a line of its own for each refused request.
    onError: () => undefined,
  });
  servers.set(origin, server);
  return server;
}

/** What a request to the authorization server needs. */
interface Context {
  env: Env;
  meter: Meter;
  execution: ExecutionContext;
}

/** Answers a request for the metadata or for a registration. */
export async function answerByLibrary(request: Request, { env, meter, execution }: Context): Promise<Response> {
  return serverAt(new URL(request.url).origin).fetch(request, { OAUTH_KV: new OAuthStorage(env, meter) }, execution);
}

/**
 * Answers a request for a token, or for the revocation of one.
 * @param form the body of the request.
 */
export async function answerTokenRequest(request: Request, form: string, context: Context): Promise<Response> {
  const { env, meter } = context;
  const parameters = new URLSearchParams(form);
  const names = [...parameters.keys()].filter((name) => name !== "resource");
  // RFC 6749, 3.2. The library reads the next value of a parameter when the first one is empty.
  if (new Set(names).size < names.length) return oauthError("invalid_request", "A parameter must not be repeated.", 400);
  const clientId = clientIdOf(request, parameters);
  if (clientId === undefined) return oauthError("invalid_client", "The client's credentials cannot be read.", 401);
  const isSigned = parameters.has("client_assertion");
  if (!(await mayBeFetched(env, clientId)) || (isSigned && !(await mayBeFetched(env, await keysAddressOf(request, clientId, context)))))
    return oauthError("invalid_client", "The client may not be fetched.", 401);
  const response = await answerByLibrary(new Request(request, { method: "POST", body: form }), context);
  const revoked = parameters.get("token");
  // The library answers the same whether it knows the token or not; an error means that it does not know the client.
  if (response.ok && !parameters.has("grant_type") && revoked !== null && isSessionToken(revoked))
    await revokeAccessToken(env, meter, revoked, clientId);
  return response.ok && parameters.has("grant_type") ? withOwnToken(response, env, meter) : response;
}

interface Tokens {
  access_token: string;
  expires_in: number;
  scope: string;
}

/** Replaces the library's access token by one that the gate admits. */
async function withOwnToken(response: Response, env: Env, meter: Meter): Promise<Response> {
  const tokens = await response.json<Tokens>();
  const grant = parseGrant(tokens.access_token)!;
  const op = newOperation(env, meter, grant.workspaceId);
  const minted = await mintSessionToken(grant.workspaceId, secretValues(env.KEY_SECRET)[0]);
  const scopes = tokens.scope.split(" ").filter((scope) => scope !== "");
  const token = { hash: minted.hash, scopes, expiresAt: op.nowMs + tokens.expires_in * 1000 };
  const [[added]] = await op.db.batch([addToken(op.db, grant, token)]);
  if (!added) return oauthError("invalid_grant", "The application was disconnected, or the member has left the workspace.", 400);
  await reloadGate(op);
  return Response.json({ ...tokens, access_token: minted.key }, { headers: response.headers });
}

/** Disconnects the application of an access token, if this client has it. The library revokes refresh tokens. */
async function revokeAccessToken(env: Env, meter: Meter, token: string, clientId: string): Promise<void> {
  const claim = await verifyApiKey(token, apiKeySecrets(env));
  if (!claim) return;
  const op = newOperation(env, meter, claim.workspaceId);
  const [[application]] = await op.db.batch([findByToken(op.db, { ...claim, clientId })]);
  if (application) await disconnect({ ...op, actor: `member/${application.memberId}` }, application);
}

/**
 * Returns the id of the client that a request for a token names, before anything of the request is checked.
 * @returns an empty text if the request names no client, and undefined if the id is in a form that only the library can read.
 */
function clientIdOf(request: Request, parameters: URLSearchParams): string | undefined {
  const named = parameters.get("client_id");
  if (named) return named;
  const [, basic] = /^basic[ \t](.*)$/is.exec(request.headers.get("Authorization") ?? "") ?? [];
  const assertion = parameters.get("client_assertion");
  try {
    if (basic !== undefined) return decodeURIComponent(atob(basic.trim()).split(":", 1)[0]!.replaceAll("+", " "));
    if (!assertion) return "";
    const decoded = new TextDecoder().decode(BASE64URL.decode(assertion.split(".")[1] ?? ""));
    const { iss } = JSON.parse(decoded) as { iss?: unknown };
    return typeof iss === "string" ? iss : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Whether a text is no address, or one that may be requested. The library fetches the metadata of a client whose id is an address, and
 * from the address in the metadata the keys with which the client signs.
 */
async function mayBeFetched(env: Env, text: string): Promise<boolean> {
  if (!URL.canParse(text)) return true;
  return (await checkTarget(env, text, WEBHOOK_POLICY)).verdict === "allowed";
}

/** The address of the keys with which a client signs; empty if it has none, or its metadata cannot be read. */
async function keysAddressOf(request: Request, clientId: string, { env, meter }: Context): Promise<string> {
  const helpers = serverAt(new URL(request.url).origin).getOAuthApi({ OAUTH_KV: new OAuthStorage(env, meter) });
  const client = await helpers.lookupClient(clientId).catch(() => null);
  return client?.jwksUri ?? "";
}

/** Why an application cannot be connected, in a sentence for the person, or the address that tells the application. */
export type Unconnectable = { problem: string } | { redirectUrl: string };

/** An application that asks to be connected. */
export interface Applicant extends Shown {
  /** The domain that vouches for the name; undefined if the application registered itself. */
  domain: string | undefined;
  /** Whether the tokens go to a program on the person's computer. */
  isLocal: boolean;
  /** What it asks for, of what applications may have. */
  scopes: Scope[];
}

/** Checks a request to connect an application. @param query the parameters that the application sent to `/oauth/authorize`. */
export async function readRequest(
  { env, meter }: Pick<Context, "env" | "meter">,
  origin: string,
  query: string,
): Promise<{ applicant: Applicant; request: AuthRequest } | Unconnectable> {
  const helpers = serverAt(origin).getOAuthApi({ OAUTH_KV: new OAuthStorage(env, meter) });
  const parameters = new URLSearchParams(query);
  if (!(await mayBeFetched(env, parameters.get("client_id") ?? ""))) return { problem: "Its address may not be requested." };
  try {
    const request = await helpers.parseAuthRequest(new Request(`${origin}${ENDPOINTS.authorize}?${parameters.toString()}`));
    const refused = (code: "invalid_request" | "invalid_scope", why: string) => ({
      redirectUrl: authorizationErrorRedirect(request, code, why),
    });
    if (!request.codeChallenge) return refused("invalid_request", "Send a code_challenge with the method S256.");
    const scopes = APPLICATION_SCOPES.filter((scope) => request.scope.length === 0 || request.scope.includes(scope));
    if (scopes.length === 0) return refused("invalid_scope", "None of these scopes exists.");
    const { clientName, clientDomain, redirectHost, redirectIsLoopback } = await helpers.describeConsent(request);
    const shown = { name: clientName.slice(0, MAX_NAME_LENGTH), host: redirectHost.slice(0, 253) };
    return { applicant: { ...shown, domain: clientDomain, isLocal: redirectIsLoopback, scopes }, request };
  } catch (error) {
    if (error instanceof CimdFetchError) return { problem: "Its description could not be read at its address." };
    if (!(error instanceof AuthorizationError)) throw error;
    return error.redirectTo === undefined ? { problem: `${error.description}.` } : { redirectUrl: error.redirectTo };
  }
}

/** Connects an application for a member. @returns the address that gives the application its code. */
export async function connect(
  { env, meter }: Pick<Context, "env" | "meter">,
  { applicant, request }: { applicant: Applicant; request: AuthRequest },
  { workspaceId, memberId, scopes }: { workspaceId: string; memberId: string; scopes: Scope[] },
): Promise<string> {
  const storage = new OAuthStorage(env, meter, applicant);
  const { redirectTo } = await serverAt(request.issuer!)
    .getOAuthApi({ OAUTH_KV: storage })
    .completeAuthorization({ request, userId: userIdOf(workspaceId, memberId), metadata: {}, scope: scopes, props: {} });
  const directory = directoryDb(env, meter);
  await directory.batch([keepRecord(directory, `client:${request.clientId}`, Date.now() + CLIENT_SECONDS * 1000)]);
  return redirectTo;
}

/** The address that tells an application that the person declined. */
export function declinedUrl(request: AuthRequest): string {
  return authorizationErrorRedirect(request, "access_denied");
}

function oauthError(error: string, description: string, status: number): Response {
  return Response.json({ error, error_description: description }, { status, headers: { "Cache-Control": "no-store" } });
}
