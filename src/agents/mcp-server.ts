import type { Client, CallToolResult } from "@modelcontextprotocol/client";
import { waitUntil } from "cloudflare:workers";
import type { PinnedTool } from "../platform/db/columns.ts";
import { type Exchange, guardedFetch } from "../platform/egress/guarded-fetch.ts";
import { WEBHOOK_POLICY } from "../platform/egress/url-rules.ts";
import { log } from "../platform/telemetry/log.ts";
import { redactBeginning } from "../redaction/redaction.ts";
import { canonical, describeChange, type ListedTool, MAX_TOOL_NAME_LENGTH } from "./mcp-pins.ts";
import { decryptHeaders, type UnlistedServer } from "./secrets.ts";
import { type CallResult, filledHeaders, MAX_TEXT_LENGTH, type Redact, USER_AGENT } from "./tool-call.ts";
import type { VariableValues } from "./tool-variables.ts";

/** Larger than for a call of a tool: a list of tools with many parameters is long. */
const MAX_RESPONSE_BYTES = 262_144;
const MAX_PAGES = 5;
/**
 * The requests of one use of a server. Discovery, all pages of the list and a call take ten. The client also answers each message by which
 * a server asks for something, such as a ping, and a response may hold thousands of these.
 */
const MAX_REQUESTS = 20;
/** Short, since a person waits for it while saving an agent. */
const MAX_LISTING_MS = 15_000;
const CLIENT = { name: "support-agent-service", version: "1.0.0" };
/** Switches off the MCP SDK's validation against JSON schemas. The results of tools are read as text. */
export const UNCHECKED = {
  getValidator: () => (data: unknown) => ({ valid: true as const, data: data as never, errorMessage: undefined }),
};
const CHANGED = "It is switched off, since its server has changed its description since the team allowed it. Nothing was done.";

/** A server, with the agent and the variables that its headers are filled from. */
interface ServerTarget {
  agentId: string;
  server: UnlistedServer;
  variables: VariableValues;
}

/** A failed exchange with a server. The message is a sentence. */
class ServerFault extends Error {
  /**
   * @param isAnswered whether the server responded: if it did not, a call may have taken effect or not.
   * @param protocolError the message of the server's JSON-RPC error, if it sent one.
   */
  constructor(
    message: string,
    readonly isAnswered: boolean,
    readonly protocolError?: string,
  ) {
    super(message);
  }
}

/** Lists the tools of a server. @returns the tools, or a sentence that says why they cannot be listed. */
export async function listTools(env: Env, target: ServerTarget): Promise<{ tools: ListedTool[] } | { problem: string }> {
  try {
    const timeoutMs = Math.min(target.server.timeoutSeconds * 1_000, MAX_LISTING_MS);
    const list = async (client: Client, timeout: number) => {
      const tools = await listedTools(client, timeout);
      // Parameters that are nested too deeply to be hashed and stored are a fault of the server.
      JSON.stringify(canonical(tools));
      return tools;
    };
    return { tools: await withClient(env, target, timeoutMs, list) };
  } catch (error) {
    if (error instanceof ServerFault) return { problem: error.message };
    throw error;
  }
}

interface PinnedCall {
  pinned: PinnedTool;
  input: Record<string, unknown>;
  /** Called instead of the tool when the server's tools have changed, with a sentence about the change. */
  onChange: (problem: string) => Promise<void>;
  logFields: Record<string, string>;
  redact: Redact;
}

/**
 * Calls a tool of a server once, if none of the server's pinned tools has changed.
 * @throws UnreadableSecretError when a header cannot be decrypted; nothing has been sent then.
 */
export async function callPinnedTool(
  env: Env,
  target: ServerTarget & { server: { tools: PinnedTool[] } },
  { onChange, logFields, ...made }: PinnedCall,
): Promise<CallResult> {
  const startedMs = Date.now();
  const { server } = target;
  const { change, result } = await call(env, target, made);
  log("tool_call", { ...logFields, tool: `${server.name}.${made.pinned.name}`, outcome: result.kind, duration_ms: Date.now() - startedMs });
  if (change !== undefined) await onChange(change);
  return result;
}

async function call(
  env: Env,
  target: ServerTarget & { server: { tools: PinnedTool[] } },
  { pinned: { name }, input, redact }: Pick<PinnedCall, "pinned" | "input" | "redact">,
): Promise<{ change?: string; result: CallResult }> {
  let isSent = false;
  try {
    return await withClient(env, target, target.server.timeoutSeconds * 1_000, async (client, timeout) => {
      const change = await describeChange(target.server.tools, await listedTools(client, timeout));
      if (change !== undefined) return { change, result: { kind: "failed", problem: CHANGED, text: "" } };
      isSent = true;
      return { result: resultOf(await client.callTool({ name, arguments: input }, { timeout }), redact) };
    });
  } catch (error) {
    if (!(error instanceof ServerFault)) throw error;
    const { message: problem, isAnswered, protocolError } = error;
    if (isSent && protocolError !== undefined) {
      return { result: { kind: "answered", text: `Error. ${redactBeginning(protocolError, MAX_TEXT_LENGTH, redact)}` } };
    }
    return { result: isSent && !isAnswered ? { kind: "unknown", problem } : { kind: "failed", problem, text: "" } };
  }
}

/** Lists the tools of a server, except those with a name that is too long to be allowed. */
async function listedTools(client: Client, timeout: number): Promise<ListedTool[]> {
  const { tools } = await client.listTools(undefined, { timeout });
  return tools.filter(({ name }) => name.length <= MAX_TOOL_NAME_LENGTH);
}

function resultOf({ content, structuredContent, isError = false }: CallToolResult, redact: Redact): CallResult {
  const texts = content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const text = texts.length > 0 || structuredContent === undefined ? texts.join("\n") : JSON.stringify(structuredContent);
  const shown = redactBeginning(text, MAX_TEXT_LENGTH, redact);
  if (shown === "") return { kind: "failed", problem: "It answered without any text.", text: "" };
  return { kind: "answered", text: isError ? `Error. ${shown}` : shown };
}

/**
 * Connects to a server, in the newest revision of the protocol that both sides support, and closes the connection after `use`.
 * @throws ServerFault for every failure of the server.
 */
async function withClient<Result>(
  env: Env,
  { agentId, server, variables }: ServerTarget,
  timeoutMs: number,
  use: (client: Client, timeoutMs: number) => Promise<Result>,
): Promise<Result> {
  const headers = filledHeaders(await decryptHeaders(env, agentId, server), variables);
  const exchange = new Exchanges(env, headers, Date.now() + timeoutMs);
  // Imported here, since few agents have an MCP server.
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
    const protocolError = error instanceof ProtocolError ? error.message : undefined;
    const { message = MALFORMED, isAnswered = protocolError !== undefined } = exchange.fault ?? {};
    throw new ServerFault(message, isAnswered, protocolError);
  } finally {
    // The session ends in the background: the answer does not wait for it.
    const ended = transport.terminateSession().catch(() => undefined);
    waitUntil(ended.then(() => client.close()));
  }
}

/** The requests to one server, through the egress guard. */
class Exchanges {
  /** The failure of the last request, if it failed. While a request runs it is a timeout, which holds if the client gives up first. */
  fault: ServerFault | undefined;
  private requests = 0;

  constructor(
    private readonly env: Env,
    private readonly headers: Record<string, string>,
    private readonly deadlineMs: number,
  ) {}

  async fetch(url: string, { method = "GET", headers, body }: RequestInit = {}): Promise<Response> {
    // The client opens a GET stream for messages that the server sends by itself; the service uses none.
    if (method !== "POST" && method !== "DELETE") return new Response(null, { status: 405 });
    if (++this.requests > MAX_REQUESTS) throw (this.fault = new ServerFault("It asks for too many requests.", true));
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
    // An error status is returned, not thrown: the client reads from it which revisions a server supports.
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

const MALFORMED = "It does not follow the Model Context Protocol.";

const UNANSWERED = {
  blocked_url: "It may not be called.",
  timeout: "It did not answer in time.",
  connection_failed: "It could not be reached.",
  too_many_redirects: "It redirects, which is not followed.",
};
