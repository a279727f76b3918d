import type { StoredMcpServer, StoredTool } from "../platform/db/columns.ts";
import { modelTools, pinAllowed } from "./mcp-pins.ts";
import { listTools } from "./mcp-server.ts";
import type { ReadyTool, UnlistedServer } from "./secrets.ts";
import { MAX_TOOLS } from "../models/limits.ts";
import { BUILT_IN_NAMES, MAX_TOTAL_LENGTH } from "./tool-wire.ts";

/** Why an MCP server cannot be saved among an agent's tools. */
export interface RefusedServer {
  toolIndex: number;
  field: "url" | "allowed_tools" | "name";
  /** A clause of the error message. */
  problem: string;
}

type Pinned = { tool: StoredTool } | { refused: RefusedServer };

/** The most tool names that an error message lists. */
const MAX_NAMES = 30;

/** Lists the tools of each MCP server among an agent's tools, and pins those that the team allows. */
export async function pinServers(
  env: Env,
  agentId: string,
  given: readonly ReadyTool[],
): Promise<{ tools: StoredTool[] } | { refused: RefusedServer }> {
  const pinned = await Promise.all(
    given.map(async (tool, toolIndex): Promise<Pinned> => (tool.type === "mcp" ? pinServer(env, agentId, tool, toolIndex) : { tool })),
  );
  const refused = pinned.find((one) => "refused" in one);
  if (refused) return refused;
  const tools = pinned.map((one) => (one as { tool: StoredTool }).tool);
  const last = tools.findLastIndex(({ type }) => type === "mcp");
  const problem = last === -1 ? undefined : combinedProblem(tools);
  return problem ? { refused: { ...problem, toolIndex: last } } : { tools };
}

async function pinServer(env: Env, agentId: string, server: UnlistedServer, toolIndex: number): Promise<Pinned> {
  // There is no visitor while an agent is saved, so variables in headers are empty.
  const listed = await listTools(env, { agentId, server, variables: {} });
  if ("problem" in listed) {
    return { refused: { toolIndex, field: "url", problem: `its tools could not be listed. ${listed.problem}` } };
  }
  const allowed = await pinAllowed(listed.tools, server.allowedTools);
  const names = listed.tools
    .map(({ name }) => name)
    .slice(0, MAX_NAMES)
    .join(", ");
  if ("missing" in allowed) {
    return {
      refused: { toolIndex, field: "allowed_tools", problem: `the server does not have ${allowed.missing.join(", ")}. It has: ${names}` },
    };
  }
  const { tools } = allowed;
  if (tools.length === 0) return { refused: { toolIndex, field: "url", problem: "the server has no tools" } };
  if (tools.length > MAX_TOOLS) {
    return { refused: { toolIndex, field: "allowed_tools", problem: `allow at most ${MAX_TOOLS} of: ${names}` } };
  }
  const requiresVerifiedVisitor = server.requiresVerifiedVisitor ?? tools.some(({ isReadOnly }) => !isReadOnly);
  return { tool: { ...server, requiresVerifiedVisitor, tools, problem: null } satisfies StoredMcpServer };
}

/** A problem of the tools taken together: two with the same name, or too much text; undefined if there is none. */
function combinedProblem(tools: readonly StoredTool[]): Omit<RefusedServer, "toolIndex"> | undefined {
  const shown = modelTools(tools);
  const names = [...BUILT_IN_NAMES, ...shown.map(({ name }) => name)];
  const duplicate = names.find((name, at) => names.indexOf(name) < at);
  if (duplicate !== undefined) return { field: "name", problem: `two tools would be called ${duplicate}: choose another name` };
  if (JSON.stringify(shown).length <= MAX_TOTAL_LENGTH) return undefined;
  return {
    field: "allowed_tools",
    problem: `allow fewer: names, descriptions and parameters of all tools hold at most ${MAX_TOTAL_LENGTH} characters together`,
  };
}
