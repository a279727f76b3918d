import type { Tool, ToolOutcome } from "../models/model.ts";
import { sha256Hex } from "../platform/crypto/hashes.ts";
import type { Operation } from "../platform/db/client.ts";
import type { ClientSurface, PinnedTool, StoredClientTool, StoredHttpTool, StoredMcpServer } from "../platform/db/columns.ts";
import { logProblem } from "../platform/telemetry/log.ts";
import { canonical, modelName } from "./mcp-pins.ts";
import { callPinnedTool } from "./mcp-server.ts";
import { replaceTools } from "./store.ts";
import { type CallResult, callTool, isChanging, type Redact } from "./tool-call.ts";
import type { CallJournal } from "./tool-journal.ts";
import { expandUrl, placeholdersOf } from "./tool-url.ts";
import { type Variable, variablesIn, type VariableValues } from "./tool-variables.ts";
import type { AgentRow } from "./wire.ts";

/** The time for decrypting the headers and resolving the host, in addition to the request itself. */
const GRACE_MS = 2_000;

/** The client tools that a caller runs: all that run in its surface, or of these the named ones. */
export interface ClientTools {
  runsIn: ClientSurface;
  names: readonly string[] | null;
}

/** The turn in which the tools are called. */
interface AgentToolContext {
  op: Operation;
  conversationId: string;
  /** The answer's id. */
  turnId: string;
  journal: Pick<CallJournal, "once">;
  redact: Redact;
  /** Null if neither an API key nor a signature confirms who the visitor is. */
  visitor: VerifiedVisitor | null;
  /** Whether tools that may change something are left out. */
  readsOnly?: boolean;
  /** The client tools that the caller runs; undefined if it runs none. */
  clientTools?: ClientTools | undefined;
  /** Whether the team can be asked to approve a call. */
  asksTeam?: boolean;
}

type AgentWithTools = Pick<AgentRow, "id" | "tools" | "updatedAt" | "version">;

/** A visitor whose identity an API key or a signature confirms. The email is null if it is not confirmed. */
export interface VerifiedVisitor {
  externalId: string | null;
  email: string | null;
}

/**
 * Returns the agent's own tools for one turn. A tool is left out if it requires a verified visitor and there is none, if it uses a
 * variable without a value, or if it is a client tool that the caller does not run. Only language models call tools; the extractive engine does not.
 */
export function agentTools(context: AgentToolContext, agent: AgentWithTools): Tool[] {
  const variables = variablesOf(context);
  return agent.tools.flatMap((tool) => {
    if (tool.type === "client") return isRunBy(tool, context.clientTools) ? clientTool(tool) : [];
    if ((tool.requiresVerifiedVisitor && !context.visitor) || !canFill(tool, variables)) return [];
    if (tool.type === "mcp") return mcpTools(context, agent, tool, variables);
    const mayChange = isChanging(tool.method) || tool.requiresApproval;
    return context.readsOnly && mayChange ? [] : httpTool(context, agent, tool, variables);
  });
}

function isRunBy({ name, runsIn }: StoredClientTool, caller: ClientTools | undefined): boolean {
  return caller?.runsIn === runsIn && (caller.names?.includes(name) ?? true);
}

/** A call that a case of an evaluation answers in place of a tool. */
export interface StubbedCall {
  name: string;
  /** Whether the team has to approve the call. */
  requiresApproval: boolean;
}

/** Returns all tools of an agent as stubs, for a case of several turns: they call nothing, and `answer` gives what they return. */
export function stubbedTools(agent: Pick<AgentRow, "tools">, answer: (call: StubbedCall) => ToolOutcome): Tool[] {
  return toolShapes(agent).map(({ requiresApproval, ...shape }) => {
    return { ...shape, run: async () => answer({ name: shape.name, requiresApproval }) };
  });
}

/** The fields by which a model knows a tool. */
type ToolShape = Pick<Tool, "name" | "description" | "parameters" | "checksInput">;

/** Returns all tools of an agent that are on, whether or not a conversation offers them, by the names that models use. */
export function toolShapes({ tools }: Pick<AgentRow, "tools">): (ToolShape & { requiresApproval: boolean })[] {
  return tools.flatMap((tool) => {
    if (tool.type === "client") return [{ ...shapeOf(tool), requiresApproval: false }];
    const requiresApproval = tool.requiresApproval === true;
    if (tool.type !== "mcp") return [{ ...shapeOf(tool), requiresApproval }];
    if (tool.problem !== null) return [];
    return tool.tools.map((pinned) => ({ ...pinnedShape(tool, pinned), requiresApproval: requiresApproval && !pinned.isReadOnly }));
  });
}

/** Undeclared parameters are not sent, so the model must not invent any. */
function shapeOf({ name, description, parameters }: StoredHttpTool | StoredClientTool): ToolShape {
  return { name, description, parameters: { ...parameters, additionalProperties: false } };
}

function pinnedShape(server: StoredMcpServer, { name, description, parameters }: PinnedTool): ToolShape {
  return { name: modelName(server.name, name), description, parameters, checksInput: true };
}

function clientTool(tool: StoredClientTool): Tool {
  return {
    ...shapeOf(tool),
    run: async () => ({ kind: "awaited", from: "caller" }),
  };
}

function httpTool(context: AgentToolContext, agent: AgentWithTools, tool: StoredHttpTool, variables: VariableValues): Tool {
  const logFields = logFieldsOf(context);
  return {
    ...shapeOf(tool),
    timeoutMs: tool.timeoutSeconds * 1_000 + GRACE_MS,
    ...withApproval(context, tool.requiresApproval, async (input) => {
      const idempotencyKey = await callKey(context, tool.name, input);
      const make = () =>
        callTool(context.op.env, { tool, agentId: agent.id, input, variables, idempotencyKey, logFields, redact: context.redact });
      return runOnce(context, isChanging(tool.method) ? idempotencyKey : null, make);
    }),
  };
}

const NOBODY_ASKED = "A colleague has to approve this call, and nobody can be asked here. Nothing was done.";

/** Returns the functions of a tool, which asks the team before a call that needs an approval. */
function withApproval(
  { asksTeam }: AgentToolContext,
  isRequired: boolean | undefined,
  run: Tool["run"],
): Pick<Tool, "run" | "runApproved"> {
  if (!isRequired) return { run };
  const ask = async () => (asksTeam ? ({ kind: "awaited", from: "team" } as const) : ({ kind: "note", text: NOBODY_ASKED } as const));
  return { run: ask, runApproved: (input) => run(input, NEVER) };
}

const NEVER = new AbortController().signal;

/** Returns the tools of an MCP server. There are none after the server has changed one of them. */
function mcpTools(context: AgentToolContext, agent: AgentWithTools, server: StoredMcpServer, variables: VariableValues): Tool[] {
  if (server.problem !== null) return [];
  const target = { agentId: agent.id, server, variables };
  const onChange = (problem: string) => disableServer(context.op, agent, server, problem);
  const tools = context.readsOnly ? server.tools.filter(({ isReadOnly }) => isReadOnly) : server.tools;
  return tools.map((pinned) => ({
    ...pinnedShape(server, pinned),
    timeoutMs: server.timeoutSeconds * 1_000 + GRACE_MS,
    ...withApproval(context, server.requiresApproval && !pinned.isReadOnly, async (input) => {
      const key = pinned.isReadOnly ? null : await callKey(context, modelName(server.name, pinned.name), input);
      return runOnce(context, key, () =>
        callPinnedTool(context.op.env, target, { pinned, input, onChange, logFields: logFieldsOf(context), redact: context.redact }),
      );
    }),
  }));
}

/** Disables a server's tools and stores the reason for the team, unless somebody has saved the agent in the meantime. */
async function disableServer({ db, workspaceId }: Operation, agent: AgentWithTools, server: StoredMcpServer, problem: string) {
  logProblem("mcp_tool_changed", { workspace_id: workspaceId, agent_id: agent.id, tool: server.name });
  const tools = agent.tools.map((tool) => (tool === server ? { ...server, problem } : tool));
  await db.batch([replaceTools(db, workspaceId, agent.id, { tools, savedAtMs: agent.updatedAt, version: agent.version })]);
}

function logFieldsOf({ op: { workspaceId }, conversationId }: AgentToolContext): Record<string, string> {
  return { workspace_id: workspaceId, conversation_id: conversationId };
}

function variablesOf({ conversationId, visitor }: AgentToolContext): VariableValues {
  const values: Record<Variable, string | null | undefined> = {
    "visitor.external_id": visitor?.externalId,
    "visitor.email": visitor?.email,
    "conversation.id": conversationId,
  };
  return Object.fromEntries(Object.entries(values).filter(([, value]) => (value ?? "") !== ""));
}

/** Whether every variable in a tool's URL, headers and body has a value, and the URL can hold the values. */
function canFill(tool: StoredHttpTool | StoredMcpServer, variables: VariableValues): boolean {
  const isKnown = (name: string) => Object.hasOwn(variables, name);
  if (!Object.values(tool.headerVariables).flat().every(isKnown)) return false;
  if (tool.type === "mcp") return true;
  const { url, body } = tool;
  const parameters = Object.fromEntries(placeholdersOf(url).map((name) => [name, "x"]));
  const isFilled = [...variablesIn(url), ...variablesIn(JSON.stringify(body))].every(isKnown);
  return isFilled && "url" in expandUrl(url, { ...parameters, ...variables });
}

/** Returns a key that identifies a call in its turn, so that a tool is called only once with the same arguments. */
function callKey({ turnId }: AgentToolContext, name: string, input: Record<string, unknown>): Promise<string> {
  return sha256Hex(JSON.stringify([turnId, name, canonical(input)]));
}

/** Makes a call. @param key identifies a call that may change something; null for a call that may be repeated. */
async function runOnce({ journal }: AgentToolContext, key: string | null, make: () => Promise<CallResult>): Promise<ToolOutcome> {
  if (key === null) return outcomeOf(await make());
  const journaled = await journal.once(key, make);
  // Only a human can find out whether the call took effect.
  return journaled.isKnown ? outcomeOf(journaled.result) : { kind: "handed_off", reason: "tool_failure" };
}

function outcomeOf(result: CallResult): ToolOutcome {
  switch (result.kind) {
    case "answered":
      return { kind: "data", text: result.text, status: result.status };
    case "refused":
      return { kind: "note", text: result.problem };
    case "failed":
      return { kind: "failed", note: result.problem, text: result.text };
    case "unknown":
      return { kind: "failed", note: result.problem, text: "" };
  }
}
