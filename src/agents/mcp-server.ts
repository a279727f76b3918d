import type { Client, CallToolResult } from "@modelcontextprotocol/client";
import { waitUntil } from "cloudflare:workers";
import type { PinnedTool } from "../platform/db/columns.ts";
import { type Exchange, guardedFetch } from "../platform/egress/guarded-fetch.ts";
import { WEBHOOK_POLICY } from "../platform/egress/url-rules.ts";
import { log } from "../platform/telemetry/log.ts";
import { truncate } from "../platform/text.ts";
import { changeOf, type ListedTool } from "./mcp-pins.ts";
import { decryptHeaders, type UnlistedServer } from "./secrets.ts";
import { type CallResult, filledHeaders, MAX_TEXT_LENGTH, USER_AGENT } from "./tool-call.ts";
import type { VariableValues } from "./tool-variables.ts";

/** A list of tools is long where they have many parameters. */
const MAX_RESPONSE_BYTES = 262_144;
const MAX_PAGES = 5;
/** Somebody waits for it who saves an agent. */
const MAX_LISTING_MS = 15_000;
const CLIENT = { name: "support-agent-service", version: "1.0.0" };
/** Results are read as text whatever schema they should have. */
const UNCHECKED = { getValidator: () => (data: unknown) => ({ valid: true as const, data: data as never, errorMessage: undefined }) };
const CHANGED = "It is switched off, since its server describes it otherwise than when it was allowed. Nothing was done.";

/** A server with what its headers need. */
export interface ServerTarget {
  agentId: string;
  server: UnlistedServer;
  variables: VariableValues;
}

/** What keeps a server from being used, as a sentence. */
class ServerFault extends Error {
  /**
   * @param isAnswered whether there was a response, so that it is known that a call was made.
   * @param said the server's own words, where it refused a call by the protocol.
   */
  constructor(
    message: string,
    readonly isAnswered: boolean,
    readonly said?: string,
  ) {
    super(message);
  }
}

/** The tools of a server, or why they cannot be listed. */
export async function listTools(env: Env, target: ServerTarget): Promise<{ tools: ListedTool[] } | { problem: string }> {
  try {
    const timeoutMs = Math.min(target.server.timeoutSeconds * 1_000, MAX_LISTING_MS);
    return { tools: await withClient(env, target, timeoutMs, listed) };
  } catch (error) {
    if (error instanceof ServerFault) return { problem: error.message };
    throw error;
  }
}

export interface PinnedCall {
  pinned: PinnedTool;
  input: Record<string, unknown>;
  /** Is told what has changed of the server's tools; none is called then. */
  onChange: (problem: string) => Promise<void>;
  logFields: Record<string, string>;
}

/**
 * Calls a tool of a server once, if all that was allowed of it is as it was.
 * @throws UnreadableSecretError when a header cannot be decrypted; nothing was sent then.
 */
export async function callPinnedTool(
  env: Env,
  target: ServerTarget & { server: { tools: PinnedTool[] } },
  { pinned, input, onChange, logFields }: PinnedCall,
): Promise<CallResult> {
  const startedMs = Date.now();
  const { change, result } = await call(env, target, pinned, input);
  const { server } = target;
  log("tool_call", { ...logFields, tool: `${server.name}.${pinned.name}`, outcome: result.kind, duration_ms: Date.now() - startedMs });
  if (change !== undefined) await onChange(change);
  return result;
}

async function call(
  env: Env,
  target: ServerTarget & { server: { tools: PinnedTool[] } },
  { name }: PinnedTool,
  input: Record<string, unknown>,
): Promise<{ change?: string; result: CallResult }> {
  let isSent = false;
  try {
    return await withClient(env, target, target.server.timeoutSeconds * 1_000, async (client, timeout) => {
      const change = await changeOf(target.server.tools, await listed(client, timeout));
      if (change !== undefined) return { change, result: { kind: "failed", problem: CHANGED, text: "" } };
      isSent = true;
      return { result: resultOf(await client.callTool({ name, arguments: input }, { timeout })) };
    });
  } catch (error) {
    if (!(error instanceof ServerFault)) throw error;
    const { message: problem, said } = error;
    if (isSent && said !== undefined) return { result: { kind: "answered", text: `Error. ${truncate(said, MAX_TEXT_LENGTH)}` } };
    const isUnknown = isSent && !error.isAnswered;
    return { result: isUnknown ? { kind: "unknown", problem } : { kind: "failed", problem, text: "" } };
  }
}

async function listed(client: Client, timeout: number): Promise<ListedTool[]> {
  const { tools } = await client.listTools(undefined, { timeout });
  return tools;
}

function resultOf({ content, structuredContent, isError = false }: CallToolResult): CallResult {
  const texts = content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const text = texts.length > 0 || structuredContent === undefined ? texts.join("\n") : JSON.stringify(structuredContent);
  const said = truncate(text, MAX_TEXT_LENGTH);
  if (said === "") return { kind: "failed", problem: "It answered with nothing that is text.", text: "" };
  return { kind: "answered", text: isError ? `Error. ${said}` : said };
}

/**
 * Connects with a server, in the newest revision of the protocol that it speaks.
 * @throws ServerFault for whatever the server does.
 */
async function withClient<Result>(
  env: Env,
  { agentId, server, variables }: ServerTarget,
  timeoutMs: number,
  use: (client: Client, timeoutMs: number) => Promise<Result>,
): Promise<Result> {
  const headers = filledHeaders(server, await decryptHeaders(env, agentId, server), variables);
  const exchange = new Exchanges(env, headers, Date.now() + timeoutMs);
  // Few agents have a server.
  const { Client, ProtocolError, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const options = { versionNegotiation: { mode: "auto" as const }, listMaxPages: MAX_PAGES, jsonSchemaValidator: UNCHECKED };
  const client = new Client(CLIENT, { ...options, inputRequired: { autoFulfill: false } });
  const transport = new StreamableHTTPClientTransport(new URL(server.url), {
    fetch: (url, init) => exchange.fetch(String(url), init),
    reconnectionOptions: { maxRetries: 0, initialReconnectionDelay: 1, maxReconnectionDelay: 1, reconnectionDelayGrowFactor: 1 },
  });
  try {
    await client.connect(transport, { timeout: timeoutMs });
    return await use(client, timeoutMs);
  } catch (error) {
    const said = error instanceof ProtocolError ? error.message : undefined;
    const { message = MALFORMED, isAnswered = said !== undefined } = exchange.fault ?? {};
    throw new ServerFault(message, isAnswered, said);
  } finally {
    // Nobody waits for the end of a session.
    const ended = transport.terminateSession().catch(() => undefined);
    waitUntil(ended.then(() => client.close()));
  }
}

/** The requests to one server, through the egress guard. */
class Exchanges {
  /** What went wrong with the last one. One that has not ended when the client gives up did not answer in time. */
  fault: ServerFault | undefined;

  constructor(
    private readonly env: Env,
    private readonly headers: Record<string, string>,
    private readonly deadlineMs: number,
  ) {}

  async fetch(url: string, { method = "GET", headers, body }: RequestInit = {}): Promise<Response> {
    // What a server sends without being asked is not listened for.
    if (method !== "POST" && method !== "DELETE") return new Response(null, { status: 405 });
    this.fault = new ServerFault(UNANSWERED.timeout, false);
    const exchange = await guardedFetch(this.env, {
      url,
      policy: WEBHOOK_POLICY,
      method,
      userAgent: USER_AGENT,
      headers: { ...Object.fromEntries(new Headers(headers)), ...this.headers },
      ...(typeof body === "string" && { body }),
      timeoutMs: Math.max(1, this.deadlineMs - Date.now()),
      maxResponseBytes: MAX_RESPONSE_BYTES,
    });
    this.fault = faultOf(exchange);
    // A status is for the client to read: by it, it finds out which revisions a server speaks.
    if (exchange.outcome !== "answered" || exchange.isTruncated) throw this.fault!;
    const shown = [...exchange.headers].filter(([name]) => ["content-type", "mcp-session-id"].includes(name));
    return new Response(exchange.body.length > 0 ? exchange.body : null, { status: exchange.status, headers: shown });
  }
}

function faultOf(exchange: Exchange): ServerFault | undefined {
  if (exchange.outcome !== "answered") return new ServerFault(UNANSWERED[exchange.outcome], false);
  const { status, isTruncated } = exchange;
  if (isTruncated) return new ServerFault(`It answered with more than ${MAX_RESPONSE_BYTES.toLocaleString("en")} bytes.`, true);
  return status >= 300 ? new ServerFault(`It answered with status ${status}.`, true) : undefined;
}

const MALFORMED = "It does not speak the Model Context Protocol as it should.";

const UNANSWERED = {
  blocked_url: "It may not be called.",
  timeout: "It did not answer in time.",
  connection_failed: "It could not be reached.",
  too_many_redirects: "It redirects, which is not followed.",
};
