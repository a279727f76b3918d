import { DurableObject, exports } from "cloudflare:workers";
import type { Region } from "../db/regions.ts";
import { objectIn, regionOf } from "../objects.ts";
import type { Check } from "./checks.ts";
import type { AppContext } from "./context.ts";

/**
 * An object without state in a region, which forwards requests to the Worker there. Each becomes an invocation of its own,
 * since the requests of one object share its connections and limits.
 */
export class RegionalEntry extends DurableObject<Env> {
  override fetch(request: Request): Promise<Response> {
    return exports.RegionalWorker.fetch(request);
  }
}

/** The number of entries in a region: enough that none is too busy, and few enough that those in use stay loaded. */
const ENTRIES = 32;

/** The number of the entry that this isolate uses. */
let entry: number | undefined;

/** The requests that came through a region's entry. */
const forwarded = new WeakSet<Request>();

/** Marks a request as forwarded by its region's entry, so that it is answered here. */
export function markForwarded(request: Request): Request {
  forwarded.add(request);
  return request;
}

/** Returns whether a request came through its region's entry. */
export function isForwarded(c: AppContext): boolean {
  return forwarded.has(c.req.raw);
}

/**
 * Forwards the request to the region of the workspace or record with this id, which has its gate, its database and its objects.
 * However many calls the request needs, it crosses the distance once.
 * @returns the region's response; undefined if the request is to be answered here.
 */
export async function answerInRegion(c: AppContext, id: string): Promise<Response | undefined> {
  const region = regionOf(c.env, id);
  if (region === undefined || isForwarded(c)) return undefined;
  c.set("forwarding", "begun");
  const response = await callEntry(c.env, region, requestOf(c));
  c.set("forwarding", "done");
  return response;
}

/** Answers requests in the region of the id in their path. */
export function inRegionOf(parameter: string): Check {
  return (c) => answerInRegion(c, c.req.param(parameter) ?? "");
}

/** The header of forwarded requests of a session. Anybody may send it, since a session may do nothing that its credential may not. */
const SESSION_HEADER = "X-Support-Agent-Session";

/** Returns whether a session of the console sent the request, here or at the edge that forwarded it. */
export function isOfSession(c: AppContext): boolean {
  return c.get("credential") !== undefined || c.req.header(SESSION_HEADER) !== undefined;
}

/** The request to forward. A session of the console is checked at the edge, so its credential replaces its cookie. */
function requestOf(c: AppContext): Request {
  const credential = c.get("credential");
  if (credential === undefined) return c.req.raw;
  const headers = new Headers(c.req.raw.headers);
  headers.delete("Cookie");
  headers.set("Authorization", `Bearer ${credential}`);
  headers.set(SESSION_HEADER, "1");
  return new Request(c.req.raw, { headers });
}

/** Calls the isolate's entry. An entry fails during a deployment and when its machine fails; a GET is then sent again, to another entry. */
async function callEntry(env: Env, region: Region, request: Request): Promise<Response> {
  try {
    return await entryOf(env, region).fetch(request);
  } catch (error) {
    entry = undefined;
    if (request.method !== "GET") throw error;
  }
  return entryOf(env, region).fetch(request);
}

/**
 * A region's entry. An isolate uses one, so that a quiet deployment uses few, which stay warm, and a busy one spreads its
 * requests over many.
 */
function entryOf(env: Env, region: Region): DurableObjectStub {
  entry ??= Math.floor(Math.random() * ENTRIES);
  return objectIn(env, region, env.ENTRY, `${region}/${entry}`);
}
