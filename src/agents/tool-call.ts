import type { Method, StoredHttpTool } from "../platform/db/columns.ts";
import { type Exchange, guardedFetch } from "../platform/egress/guarded-fetch.ts";
import { WEBHOOK_POLICY } from "../platform/egress/url-rules.ts";
import { log } from "../platform/telemetry/log.ts";
import { redactBeginning } from "../redaction/redaction.ts";
import { decryptHeaders } from "./secrets.ts";
import { expandUrl, placeholdersOf, withQuery } from "./tool-url.ts";
import { fillHeader, fillJson, type VariableValues } from "./tool-variables.ts";
import { parsedJson } from "../platform/json.ts";

export const USER_AGENT = "Support-Agent-Tools/1.0";
const ACCEPT = "application/json, text/*;q=0.9, application/xml;q=0.8";
const MAX_RESPONSE_BYTES = 65_536;
/** The characters of a response that a model reads. */
export const MAX_TEXT_LENGTH = 8_000;
const MAX_FAILURE_LENGTH = 1_000;

/** Error statuses that say something about the request, for example that an order does not exist. A model may answer from them. */
const MEANINGFUL_ERRORS = new Set([400, 404, 409, 410, 422]);

/** The result of a call, in the form in which `CallJournal` stores it. */
export type CallResult =
  | { kind: "answered"; text: string; status?: number }
  /** The arguments cannot be sent. Nothing has been sent. */
  | { kind: "refused"; problem: string }
  /** `problem` is a sentence of the service, `text` the beginning of the response. */
  | { kind: "failed"; problem: string; text: string }
  /** There was no response, and it is unknown whether the call took effect. */
  | { kind: "unknown"; problem: string };

interface ToolCall {
  tool: StoredHttpTool;
  agentId: string;
  /** The model's arguments. Only declared parameters are sent. */
  input: Record<string, unknown>;
  /** Holds a value for every variable that the tool's URL, headers and body name. */
  variables: VariableValues;
  idempotencyKey: string;
  logFields: Record<string, string>;
  redact: Redact;
}

/** Masks a result; undefined if the workspace has nothing masked. */
export type Redact = ((text: string) => string) | undefined;

/**
 * Calls an agent's tool once.
 * @throws UnreadableSecretError if a header cannot be decrypted. In this case nothing has been sent.
 */
export async function callTool(
  env: Env,
  { tool, agentId, input, variables, idempotencyKey, logFields, redact }: ToolCall,
): Promise<CallResult> {
  const { method } = tool;
  const expanded = expandUrl(tool.url, { ...input, ...variables });
  if ("problem" in expanded) return { kind: "refused", problem: `${expanded.problem} Nothing was done.` };
  const rest = parametersOutsideUrl(tool, input);
  const exchange = await guardedFetch(env, {
    url: hasBody(method) ? expanded.url : withQuery(expanded.url, rest),
    policy: WEBHOOK_POLICY,
    method,
    userAgent: USER_AGENT,
    headers: {
      ...(!Object.keys(tool.headers).some((name) => name.toLowerCase() === "accept") && { Accept: ACCEPT }),
      ...filledHeaders(await decryptHeaders(env, agentId, tool), variables),
      ...(hasBody(method) && { "Content-Type": "application/json" }),
      ...(isChanging(method) && { "Idempotency-Key": idempotencyKey }),
    },
    ...(hasBody(method) && { body: JSON.stringify({ ...rest, ...(fillJson(tool.body, variables) as object) }) }),
    timeoutMs: tool.timeoutSeconds * 1_000,
    maxResponseBytes: MAX_RESPONSE_BYTES,
  });
  const { outcome, durationMs } = exchange;
  const status = exchange.outcome === "answered" ? { status: exchange.status } : {};
  log("tool_call", { ...logFields, tool: tool.name, outcome, ...status, duration_ms: durationMs });
  return resultOf(exchange, redact);
}

function parametersOutsideUrl({ url, parameters }: StoredHttpTool, input: Record<string, unknown>): Record<string, unknown> {
  const inUrl = new Set(placeholdersOf(url));
  const names = Object.keys(parameters.properties).filter((name) => !inUrl.has(name) && Object.hasOwn(input, name));
  return Object.fromEntries(names.map((name) => [name, input[name]]));
}

/** Fills the variables into a tool's headers. */
export function filledHeaders(headers: Record<string, string>, variables: VariableValues): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, fillHeader(value, variables)]));
}

function resultOf(exchange: Exchange, redact: Redact): CallResult {
  if (exchange.outcome === "blocked_url") return { kind: "failed", problem: "It may not be called.", text: "" };
  if (exchange.outcome === "timeout") return { kind: "unknown", problem: "It did not answer in time." };
  if (exchange.outcome !== "answered") return { kind: "unknown", problem: "It could not be reached." };
  const { status, headers, body } = exchange;
  const text = textOfBody(headers.get("Content-Type"), body);
  const isMeaningfulError = MEANINGFUL_ERRORS.has(status);
  if (status >= 300 && !isMeaningfulError)
    return { kind: "failed", problem: `It answered with status ${status}.`, text: redactBeginning(text ?? "", MAX_FAILURE_LENGTH, redact) };
  if (text === undefined && !isMeaningfulError)
    return { kind: "failed", problem: `It answered with status ${status}, and with a body that is not text.`, text: "" };
  const shown = redactBeginning(text ?? "", MAX_TEXT_LENGTH, redact);
  return { kind: "answered", text: isMeaningfulError || shown === "" ? `Status ${status}. ${shown}`.trimEnd() : shown, status };
}

const TEXT_TYPE = /^(?:text\/[\w.+-]+|application\/(?:[\w.+-]+\+)?(?:json|xml))$/i;
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json$/i;
const CHARSET = /;\s*charset="?([\w-]+)/i;
/** A string in a JSON text, or whitespace outside of strings. */
const STRING_OR_BLANKS = /("(?:[^"\\]|\\.)*")|\s+/g;

/** Returns the text of a JSON, XML, HTML or plain text response, or undefined for other types. Whitespace in JSON is removed. */
export function textOfBody(contentType: string | null, body: Uint8Array): string | undefined {
  const type = contentType?.split(";")[0]?.trim() ?? "text/plain";
  if (body.length === 0) return "";
  if (!TEXT_TYPE.test(type)) return undefined;
  const text = decoded(body, CHARSET.exec(contentType ?? "")?.[1] ?? "utf-8")?.trim();
  if (text === undefined || text.includes("\0")) return undefined;
  // Whitespace is removed from the text, since parsing and serializing it would change long numbers.
  return JSON_TYPE.test(type) && parsedJson(text) !== undefined
    ? text.replaceAll(STRING_OR_BLANKS, (_, string?: string) => string ?? "")
    : text;
}

function decoded(body: Uint8Array, charset: string): string | undefined {
  try {
    // A truncated body may end within a character.
    return new TextDecoder(charset).decode(body, { stream: true });
  } catch {
    return undefined;
  }
}

/** Whether a request with this method may change something, so that it must not be made twice. */
export function isChanging(method: Method): boolean {
  return method !== "GET";
}

/** Whether a request with this method has a JSON body. If so, the body holds the parameters that are not in the URL; otherwise the
 * query does. */
export function hasBody(method: Method): boolean {
  return method === "POST" || method === "PUT" || method === "PATCH";
}
