import type { Tool, ToolOutcome } from "../models/model.ts";
import { sha256Hex } from "../platform/crypto/hashes.ts";
import type { StoredTool } from "../platform/db/columns.ts";
import { type CallResult, callTool, isChanging, type ToolCall } from "./tool-call.ts";
import type { CallJournal } from "./tool-journal.ts";
import { expandUrl, placeholdersOf } from "./tool-url.ts";
import { type Variable, variablesIn, type VariableValues } from "./tool-variables.ts";

/** For decrypting the headers and resolving the host, besides the request itself. */
const GRACE_MS = 2_000;

/** The turn in which the tools are called. */
export interface AgentToolContext {
  env: Env;
  workspaceId: string;
  conversationId: string;
  /** The answer's id. */
  turnId: string;
  journal: Pick<CallJournal, "once">;
  /** Null where nothing vouches for who the visitor is. */
  visitor: VouchedVisitor | null;
}

/** A visitor whose identifier an API key or a signature proves, and their email where that is proven too. */
export interface VouchedVisitor {
  externalId: string | null;
  email: string | null;
}

/**
 * The tools that the operator gave an agent, for one turn. Those that need to know the visitor are left out where nothing
 * vouches for them. Only language models call tools, the extractive engine does not.
 */
export function agentTools(context: AgentToolContext, agent: { id: string; tools: StoredTool[] }): Tool[] {
  const variables = variablesOf(context);
  const offered = agent.tools.filter((tool) => (context.visitor || !tool.requiresVerifiedVisitor) && canFill(tool, variables));
  return offered.map((tool) => ({
    name: tool.name,
    description: tool.description,
    // Undeclared parameters are not sent, so the model must not invent any.
    parameters: { ...tool.parameters, additionalProperties: false } as Tool["parameters"],
    timeoutMs: tool.timeoutSeconds * 1_000 + GRACE_MS,
    run: (input) => runTool(context, { agentId: agent.id, tool, variables }, input),
  }));
}

function variablesOf({ conversationId, visitor }: AgentToolContext): VariableValues {
  const values: Record<Variable, string | null | undefined> = {
    "visitor.external_id": visitor?.externalId,
    "visitor.email": visitor?.email,
    "conversation.id": conversationId,
  };
  return Object.fromEntries(Object.entries(values).filter(([, value]) => (value ?? "") !== ""));
}

/** Whether all that a tool names is known, and can stand in its URL. */
function canFill({ url, headerVariables = {}, body = {} }: StoredTool, variables: VariableValues): boolean {
  const named = [...variablesIn(url), ...Object.values(headerVariables).flat(), ...variablesIn(JSON.stringify(body))];
  const parameters = Object.fromEntries(placeholdersOf(url).map((name) => [name, "x"]));
  return named.every((name) => Object.hasOwn(variables, name)) && "url" in expandUrl(url, { ...parameters, ...variables });
}

async function runTool(
  context: AgentToolContext,
  bound: Pick<ToolCall, "agentId" | "tool" | "variables">,
  input: Record<string, unknown>,
): Promise<ToolOutcome> {
  const { env, workspaceId, conversationId, turnId, journal } = context;
  const { tool } = bound;
  const idempotencyKey = await sha256Hex(JSON.stringify([turnId, tool.name, canonical(input)]));
  const logFields = { workspace_id: workspaceId, conversation_id: conversationId };
  const make = () => callTool(env, { ...bound, input, idempotencyKey, logFields });
  if (!isChanging(tool.method)) return outcomeOf(await make());
  const journaled = await journal.once(idempotencyKey, make);
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

/** The value with the fields of its objects sorted. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(fields.map(([name, one]) => [name, canonical(one)]));
}
