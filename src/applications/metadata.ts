import type { Scope } from "../workspaces/scopes.ts";

/** The scopes that applications can have: those of the tools of /mcp. */
export const APPLICATION_SCOPES = [
  "agents:read",
  "chat:write",
  "conversations:read",
  "conversations:write",
  "knowledge:read",
  "knowledge:write",
  "leads:read",
  "analytics:read",
] as const satisfies readonly Scope[];

/** The name in the console's fragment of a request to connect an application: see web/console/session.ts. */
export const CONSENT_FRAGMENT = "authorize";

/** The paths of the authorization server. */
export const ENDPOINTS = { authorize: "/oauth/authorize", token: "/oauth/token", register: "/oauth/register" } as const;

const RESOURCE_PATH = "/mcp";
export const RESOURCE_METADATA_PATH = "/.well-known/oauth-protected-resource";
export const SERVER_METADATA_PATH = "/.well-known/oauth-authorization-server";
/** The host names under which a service on the same machine is reached. */
export const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** The resource that tokens are for (RFC 8707). */
export function resourceOf(origin: string): string {
  return `${origin}${RESOURCE_PATH}`;
}

/** Whether applications can be connected at this address. OAuth needs HTTPS, but on the same machine. */
export function canConnectAt({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || LOOPBACK.has(hostname);
}

/** The protected-resource metadata (RFC 9728). */
export function resourceMetadata(origin: string) {
  return {
    resource: resourceOf(origin),
    authorization_servers: [origin],
    scopes_supported: APPLICATION_SCOPES,
    bearer_methods_supported: ["header"],
    resource_name: "Support Agent Service",
  };
}

/** The challenge of a 401 response of /mcp, by which a client finds the authorization server. */
export function challengeOf(requestUrl: string, isWrong: boolean): string {
  const url = new URL(requestUrl);
  if (!canConnectAt(url)) return "Bearer";
  const error = isWrong ? `error="invalid_token", ` : "";
  return `Bearer ${error}resource_metadata="${url.origin}${RESOURCE_METADATA_PATH}${RESOURCE_PATH}"`;
}
