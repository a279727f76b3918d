import type { Tool, ToolOutcome } from "../models/model.ts";
import { sha256Hex } from "../platform/crypto/hashes.ts";
import type { StoredTool } from "../platform/db/columns.ts";
import { type CallResult, callTool, isChanging } from "./tool-call.ts";
import type { CallJournal } from "./tool-journal.ts";

/** For decrypting the headers and resolving the host, besides the request itself. */
const GRACE_MS = 2_000;

/** The turn in which the tools are called. */
export interface AgentToolContext {
  env: Env;
  workspaceId: string;
  conversationId: string;
  /** The answer's id. */
  turnId: string;
  journal: CallJournal;
}

/** The tools that the operator gave an agent, for one turn. Only language models call tools, the extractive engine does not. */
export function agentTools(context: AgentToolContext, agent: { id: string; tools: StoredTool[] }): Tool[] {
  return agent.tools.map((tool) => ({
    name: tool.name,
    description: tool.description,
    // Undeclared parameters are not sent, so the model must not invent any.
    parameters: { ...tool.parameters, additionalProperties: false } as Tool["parameters"],
    timeoutMs: tool.timeoutSeconds * 1_000 + GRACE_MS,
    run: (input) => runTool(context, agent.id, tool, input),
  }));
}

async function runTool(context: AgentToolContext, agentId: string, tool: StoredTool, input: Record<string, unknown>): Promise<ToolOutcome> {
  const { env, workspaceId, conversationId, turnId, journal } = context;
  const idempotencyKey = await sha256Hex(JSON.stringify([turnId, tool.name, canonical(input)]));
  const logFields = { workspace_id: workspaceId, conversation_id: conversationId };
  const make = () => callTool(env, { tool, agentId, input, idempotencyKey, logFields });
  if (!isChanging(tool.method)) return outcomeOf(await make());
  const journaled = await journal.once(idempotencyKey, make);
  // Only a human can find out whether the call took effect.
  return journaled.isKnown ? outcomeOf(journaled.result) : { kind: "handed_off", reason: "tool_failure" };
}

function outcomeOf(result: CallResult): ToolOutcome {
  switch (result.kind) {
    case "answered":
      return { kind: "data", text: result.text };
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
