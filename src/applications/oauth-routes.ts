import { type Context, Hono } from "hono";
import { checking } from "../platform/http/checks.ts";
import type { AppContext, AppEnv } from "../platform/http/context.ts";
import { payloadTooLarge } from "../platform/http/body.ts";
import { ApiError } from "../platform/http/errors.ts";
import { readAtMost } from "../platform/read-stream.ts";
import { requireAddressLimit, requireConfig } from "../workspaces/checks.ts";
import { canConnectAt, CONSENT_FRAGMENT, ENDPOINTS, resourceMetadata, RESOURCE_METADATA_PATH, SERVER_METADATA_PATH } from "./metadata.ts";

/*
 * The endpoints of OAuth, at the addresses of `ENDPOINTS` and of the metadata. Whoever calls them has no key, so that each request
 * counts against its address. The person decides in the console: see console/consent-routes.ts.
 */

/** A registration with ten long redirect addresses takes a few kilobytes, and a signed assertion of a client some. */
const MAX_BODY_BYTES = 32_768;
const MAX_QUERY_LENGTH = 4_000;

const checked = checking(requireConfig, requireAddressLimit, (c) => {
  if (!canConnectAt(new URL(c.req.url))) throw new ApiError("not_found", "Applications are connected over HTTPS. Use the https address.");
});

export const wellKnownRoutes = new Hono<AppEnv>();

for (const path of [RESOURCE_METADATA_PATH, `${RESOURCE_METADATA_PATH}/mcp`]) {
  wellKnownRoutes.get(withoutRoot(path), checked, (c) => {
    c.header("Access-Control-Allow-Origin", "*");
    return c.json(resourceMetadata(new URL(c.req.url).origin));
  });
}

wellKnownRoutes.on(["GET", "OPTIONS"], [withoutRoot(SERVER_METADATA_PATH)], checked, (c) => answer(c));

export const oauthRoutes = new Hono<AppEnv>();

oauthRoutes.on(["POST", "OPTIONS"], [withoutRoot(ENDPOINTS.register)], checked, async (c) => answer(c, await readBody(c)));

oauthRoutes.on(["POST", "OPTIONS"], [withoutRoot(ENDPOINTS.token)], checked, async (c) => {
  if (c.req.method === "OPTIONS") return answer(c);
  const form = await readBody(c);
  const { answerTokenRequest } = await import("./authorization-server.ts");
  return answerTokenRequest(c.req.raw, form ?? "", contextOf(c));
});

/** Hands the request to the console, in the part of the address that neither logs nor other sites get. */
oauthRoutes.get(withoutRoot(ENDPOINTS.authorize), checked, (c) => {
  const query = new URL(c.req.url).search.slice(1);
  if (query.length > MAX_QUERY_LENGTH) throw new ApiError("payload_too_large", `The query has more than ${MAX_QUERY_LENGTH} characters.`);
  c.header("Cache-Control", "no-store");
  c.header("Referrer-Policy", "no-referrer");
  return c.redirect(`/console/#${CONSENT_FRAGMENT}=${encodeURIComponent(query)}`, 303);
});

function withoutRoot(path: string): string {
  return path.slice(path.indexOf("/", 1));
}

async function answer(c: Context<AppEnv>, body?: string): Promise<Response> {
  const { answerByLibrary } = await import("./authorization-server.ts");
  return answerByLibrary(body === undefined ? c.req.raw : new Request(c.req.raw, { method: "POST", body }), contextOf(c));
}

/** Reads the body of a request; undefined if it has none. */
async function readBody(c: AppContext): Promise<string | undefined> {
  if (c.req.raw.body === null) return undefined;
  const { body, isTruncated } = await readAtMost(c.req.raw.body, MAX_BODY_BYTES, { preventCancel: true });
  if (isTruncated) throw payloadTooLarge(MAX_BODY_BYTES);
  return new TextDecoder().decode(body);
}

function contextOf(c: AppContext) {
  return { env: c.env, meter: c.get("meter"), execution: c.executionCtx as ExecutionContext };
}
