import type { Method, StoredTool } from "../platform/db/columns.ts";
import { type Exchange, guardedFetch } from "../platform/egress/guarded-fetch.ts";
import { WEBHOOK_POLICY } from "../platform/egress/url-rules.ts";
import { log } from "../platform/telemetry/log.ts";
import { truncate } from "../platform/text.ts";
import { openHeaders } from "./secrets.ts";
import { expandUrl, placeholdersOf, withQuery } from "./tool-url.ts";

const USER_AGENT = "Support-Agent-Tools/1.0";
const ACCEPT = "application/json, text/*;q=0.9, application/xml;q=0.8";
/** An answer that is longer than this is meant for a program. */
const MAX_RESPONSE_BYTES = 65_536;
/** What is kept of it; a model reads its beginning. */
const MAX_TEXT_LENGTH = 8_000;
const MAX_FAILURE_LENGTH = 1_000;

/** Statuses that say something about what was asked for, such as that there is no such order: an answer like any other. */
const SPEAKING_REFUSALS = new Set([400, 404, 409, 410, 422]);

/** What came of a call. */
export type CallResult =
  | { kind: "answered"; text: string }
  /** The arguments cannot be sent: nothing was done. */
  | { kind: "refused"; problem: string }
  /** It did not work; `problem` is a sentence of ours, `text` the beginning of what the other side said. */
  | { kind: "failed"; problem: string; text: string }
  /** No answer came: whether anything was done nobody knows. */
  | { kind: "unknown"; problem: string };

/** Whose tool is called, for what. */
export interface Call {
  tool: StoredTool;
  agentId: string;
  /** Only what the tool declares of it is sent. */
  input: Record<string, unknown>;
  /** The same for a call that is made again, so that the other side can tell. */
  idempotencyKey: string;
  /** Who is named in the log. */
  logFields: Record<string, string>;
}

/**
 * Calls an agent's tool through the guard, once.
 * @throws UnreadableSecretError when a header's value cannot be read: nothing was sent, and a human takes over.
 */
export async function callTool(env: Env, { tool, agentId, input, idempotencyKey, logFields }: Call): Promise<CallResult> {
  const { method } = tool;
  const expanded = expandUrl(tool.url, input);
  if ("problem" in expanded) return { kind: "refused", problem: `${expanded.problem} Nothing was done.` };
  const rest = beside(tool, input);
  const exchange = await guardedFetch(env, {
    url: hasBody(method) ? expanded.url : withQuery(expanded.url, rest),
    policy: WEBHOOK_POLICY,
    method,
    userAgent: USER_AGENT,
    headers: {
      Accept: ACCEPT,
      ...(await openHeaders(env, agentId, tool)),
      ...(hasBody(method) && { "Content-Type": "application/json" }),
      ...(isChanging(method) && { "Idempotency-Key": idempotencyKey }),
    },
    ...(hasBody(method) && { body: JSON.stringify(rest) }),
    timeoutMs: tool.timeoutSeconds * 1_000,
    maxResponseBytes: MAX_RESPONSE_BYTES,
  });
  const { outcome, durationMs } = exchange;
  const status = exchange.outcome === "answered" ? { status: exchange.status } : {};
  log("tool_call", { ...logFields, tool: tool.name, outcome, ...status, duration_ms: durationMs });
  return resultOf(exchange);
}

/** What the tool declares and the URL has no place for. */
function beside({ url, parameters }: StoredTool, input: Record<string, unknown>): Record<string, unknown> {
  const inUrl = new Set(placeholdersOf(url));
  const names = Object.keys(parameters.properties).filter((name) => !inUrl.has(name) && Object.hasOwn(input, name));
  return Object.fromEntries(names.map((name) => [name, input[name]]));
}

function resultOf(exchange: Exchange): CallResult {
  if (exchange.outcome === "blocked_url") return { kind: "failed", problem: "It may not be called.", text: "" };
  if (exchange.outcome === "timeout") return { kind: "unknown", problem: "It did not answer in time." };
  if (exchange.outcome !== "answered") return { kind: "unknown", problem: "It could not be reached." };
  const { status, headers, body } = exchange;
  const text = textOfBody(headers.get("Content-Type"), body);
  const isRefusal = SPEAKING_REFUSALS.has(status);
  if (status >= 300 && !isRefusal)
    return { kind: "failed", problem: `It answered with status ${status}.`, text: truncate(text ?? "", MAX_FAILURE_LENGTH) };
  if (text === undefined && !isRefusal)
    return { kind: "failed", problem: `It answered with status ${status}, and with something that is no text.`, text: "" };
  const said = truncate(text ?? "", MAX_TEXT_LENGTH);
  return { kind: "answered", text: isRefusal || said === "" ? `Status ${status}. ${said}`.trimEnd() : said };
}

const TEXT_TYPE = /^(?:text\/[\w.+-]+|application\/(?:[\w.+-]+\+)?(?:json|xml))$/i;
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json$/i;
const CHARSET = /;\s*charset="?([\w-]+)/i;
/** A JSON text's strings, kept as they are, and the blanks between its parts. */
const STRING_OR_BLANKS = /("(?:[^"\\]|\\.)*")|\s+/g;

/**
 * What an answer says, as text: JSON, XML, HTML and plain text as sent, JSON without its layout. Undefined for anything
 * else, and for what only claims to be text.
 */
export function textOfBody(contentType: string | null, body: Uint8Array): string | undefined {
  const type = contentType?.split(";")[0]?.trim() ?? "text/plain";
  if (body.length === 0) return "";
  if (!TEXT_TYPE.test(type)) return undefined;
  const text = decoded(body, CHARSET.exec(contentType ?? "")?.[1] ?? "utf-8")?.trim();
  if (text === undefined || text.includes("\0")) return undefined;
  // Not parsed and written anew: that would change long numbers.
  return JSON_TYPE.test(type) && isJson(text) ? text.replaceAll(STRING_OR_BLANKS, (_, string?: string) => string ?? "") : text;
}

function decoded(body: Uint8Array, charset: string): string | undefined {
  try {
    // What was cut may end within a character.
    return new TextDecoder(charset).decode(body, { stream: true });
  } catch {
    return undefined;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Whether a request by this method may change something, so that making it twice is not the same as making it once. */
export function isChanging(method: Method): boolean {
  return method !== "GET";
}

/** Whether parameters that are not in the URL go into a JSON body; else they go into the query. */
function hasBody(method: Method): boolean {
  return method === "POST" || method === "PUT" || method === "PATCH";
}
