import {
  allowInsecureRequests,
  type AuthorizationServer,
  authorizationCodeGrantRequest,
  calculatePKCECodeChallenge,
  type Client,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  customFetch,
  type CustomFetchOptions,
  discoveryRequest,
  getValidatedIdTokenClaims,
  type JsonValue,
  None,
  processAuthorizationCodeResponse,
  processDiscoveryResponse,
  processUserInfoResponse,
  userInfoRequest,
  validateApplicationLevelSignature,
  validateAuthResponse,
} from "oauth4webapi";
import { allowsPrivateTargets } from "../platform/config.ts";
import { guardedFetch } from "../platform/egress/guarded-fetch.ts";
import { WEBHOOK_POLICY } from "../platform/egress/url-rules.ts";
import { Fault } from "../platform/telemetry/errors.ts";

/*
 * OpenID Connect, as the client of a workspace's provider: the authorization code flow with PKCE, state and nonce. oauth4webapi checks
 * what the provider says; every request to the provider is checked as those to other hosts that a tenant names.
 */

const USER_AGENT = "Support-Agent-Sign-In/1.0";
/** A discovery document takes a few kilobytes, and a key set with certificates some tens. */
const MAX_RESPONSE_BYTES = 262_144;
const REQUEST_TIMEOUT_MS = 10_000;
const SCOPE = "openid email profile";
/** The issuers of Microsoft for one organization, which state no `email_verified`: the organization alone gives its addresses. */
const ONE_ORGANIZATION = /^https:\/\/login\.microsoftonline\.(?:com|us)\/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\/v2\.0$/;

/** What the service remembers of a sign-in while the person is at the provider. */
export interface PendingSignIn {
  workspaceId: string;
  slug: string;
  clientId: string;
  /** The provider as it described itself at the start: its endpoints do not change on the way. */
  provider: AuthorizationServer;
  nonce: string;
  verifier: string;
}

/** A person, as described by an identity provider. */
export interface Account {
  issuer: string;
  subject: string;
  /** In lower case; undefined if the provider states none, or says that it is not verified. */
  email: string | undefined;
  /** Whether the provider vouches for the address, so that its domain may admit the person. */
  isVerified: boolean;
  name: string | undefined;
}

/** Loads the discovery document of a provider. @throws if there is none that is valid, or it is of another issuer. */
export async function discover(env: Env, issuer: string): Promise<AuthorizationServer> {
  const url = new URL(issuer);
  const response = await discoveryRequest(url, { algorithm: "oidc", ...requestOptions(env) });
  const document = await processDiscoveryResponse(url, response);
  // The comparison of the library ignores how the issuer is written, but a token has to state it exactly.
  if (document.issuer !== issuer) throw new Fault("The provider calls itself by another issuer");
  const { issuer: name, authorization_endpoint, token_endpoint, jwks_uri, userinfo_endpoint } = document;
  const { token_endpoint_auth_methods_supported, id_token_signing_alg_values_supported } = document;
  const { authorization_response_iss_parameter_supported } = document;
  if (!authorization_endpoint || !token_endpoint || !jwks_uri) throw new Fault("The provider lacks an endpoint");
  return withoutUndefined({
    issuer: name,
    authorization_endpoint,
    token_endpoint,
    jwks_uri,
    userinfo_endpoint,
    token_endpoint_auth_methods_supported,
    id_token_signing_alg_values_supported,
    authorization_response_iss_parameter_supported,
  });
}

function withoutUndefined(fields: { [Name in keyof AuthorizationServer]: AuthorizationServer[Name] | undefined }): AuthorizationServer {
  return Object.fromEntries(Object.entries(fields).filter(([, field]) => field !== undefined)) as unknown as AuthorizationServer;
}

/** Returns the address at the provider that a browser is sent to. */
export async function authorizationUrl(pending: PendingSignIn, { state, redirectUrl }: { state: string; redirectUrl: string }) {
  const url = new URL(pending.provider.authorization_endpoint!);
  const parameters = {
    client_id: pending.clientId,
    redirect_uri: redirectUrl,
    response_type: "code",
    scope: SCOPE,
    state,
    nonce: pending.nonce,
    code_challenge: await calculatePKCECodeChallenge(pending.verifier),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

/** What the callback of a sign-in has. */
interface Callback {
  pending: PendingSignIn;
  /** The parameters of the request, whose state the caller has matched with the browser. */
  parameters: URLSearchParams;
  state: string;
  clientSecret: string | null;
  redirectUrl: string;
}

/**
 * Exchanges the code of a callback for the account of the person who signed in at the provider.
 * @throws if anything of the provider's answers is not as it must be.
 */
export async function readAccount(env: Env, { pending, parameters, state, clientSecret, redirectUrl }: Callback): Promise<Account> {
  const { provider, nonce, verifier } = pending;
  const client: Client = { client_id: pending.clientId };
  const options = requestOptions(env);
  const code = validateAuthResponse(provider, client, parameters, state);
  const authentication = authenticationOf(provider, clientSecret);
  const response = await authorizationCodeGrantRequest(provider, client, authentication, code, redirectUrl, verifier, options);
  const tokens = await processAuthorizationCodeResponse(provider, client, response, { expectedNonce: nonce, requireIdToken: true });
  await validateApplicationLevelSignature(provider, response, options);
  const claims = getValidatedIdTokenClaims(tokens)!;
  // Providers may leave the address out of the ID token when there is an endpoint that states it.
  const asksForMore = claims["email"] === undefined && provider.userinfo_endpoint !== undefined;
  const more = asksForMore ? await readUserInfo(env, { provider, client, token: tokens.access_token, subject: claims.sub }) : {};
  return toAccount(provider.issuer, claims.sub, { ...more, ...claims });
}

async function readUserInfo(env: Env, of: { provider: AuthorizationServer; client: Client; token: string; subject: string }) {
  const response = await userInfoRequest(of.provider, of.client, of.token, requestOptions(env));
  return processUserInfoResponse(of.provider, of.client, of.subject, response);
}

function toAccount(issuer: string, subject: string, claims: Record<string, JsonValue | undefined>): Account {
  const { email, email_verified: verified, name } = claims;
  const isDenied = verified !== undefined && verified !== true && verified !== "true";
  const address = typeof email === "string" && !isDenied ? email.toLowerCase() : undefined;
  const isVerified = address !== undefined && (verified !== undefined || ONE_ORGANIZATION.test(issuer));
  return { issuer, subject, email: address, isVerified, name: typeof name === "string" ? name : undefined };
}

function authenticationOf({ token_endpoint_auth_methods_supported: supported }: AuthorizationServer, secret: string | null): ClientAuth {
  if (secret === null) return None();
  const takesBasic = !supported || supported.includes("client_secret_basic");
  return takesBasic ? ClientSecretBasic(secret) : ClientSecretPost(secret);
}

type Sent = Pick<CustomFetchOptions<"GET" | "POST", URLSearchParams | undefined>, "method" | "headers"> & { body?: unknown };

function requestOptions(env: Env) {
  return {
    [customFetch]: (url: string, { method, headers, body }: Sent) => fetchFromProvider(env, url, { method, headers, body }),
    // The guard below decides which schemes and hosts may be requested.
    [allowInsecureRequests]: allowsPrivateTargets(env),
  };
}

/** Requests something of a provider, whose address is checked first. @throws if it does not answer, or with too much. */
export async function fetchFromProvider(env: Env, url: string, { method, headers, body }: Sent): Promise<Response> {
  const exchange = await guardedFetch(env, {
    url,
    policy: WEBHOOK_POLICY,
    method,
    userAgent: USER_AGENT,
    headers: Object.fromEntries(new Headers(headers)),
    ...(body instanceof URLSearchParams && { body: body.toString() }),
    timeoutMs: REQUEST_TIMEOUT_MS,
    maxResponseBytes: MAX_RESPONSE_BYTES,
  });
  if (exchange.outcome !== "answered") throw new Fault(`A request to the provider failed: ${exchange.reason}`);
  if (exchange.isTruncated) throw new Fault("The provider answered with too much");
  const type = exchange.headers.get("Content-Type");
  return new Response(exchange.body.length > 0 ? exchange.body : null, {
    status: exchange.status,
    headers: type === null ? {} : { "Content-Type": type },
  });
}
