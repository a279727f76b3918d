import { sha256Hex } from "../platform/crypto/hashes.ts";
import type { PinnedTool, StoredTool } from "../platform/db/columns.ts";
import { truncate } from "../platform/text.ts";

/*
 * When the team allows the tools of an MCP server, their descriptions are stored with a hash (they are pinned), because the server may
 * change a tool later. A changed tool is not called until the team allows it again.
 */

/** A tool as its server lists it. */
export interface ListedTool {
  name: string;
  description?: string | undefined;
  inputSchema: Record<string, unknown>;
  annotations?: { readOnlyHint?: boolean | undefined } | undefined;
}

/** The characters of a description that a model reads. */
const MAX_DESCRIPTION_LENGTH = 1_000;
/** The longest name that the schema of the protocol suggests. */
export const MAX_TOOL_NAME_LENGTH = 128;
/** The length that model servers accept for the name of a tool. */
const MAX_NAME_LENGTH = 64;
const UNSAFE_IN_NAME = /[^A-Za-z0-9_-]/g;

/** The name under which a model sees a tool of a server. */
export function modelName(server: string, tool: string): string {
  return `${server}_${tool}`.replaceAll(UNSAFE_IN_NAME, "_").slice(0, MAX_NAME_LENGTH);
}

/**
 * Pins the allowed tools of a server. If the server does not list some of them, their names are returned instead.
 * @param allowed the names of the allowed tools; null allows all.
 */
export async function pinAllowed(
  listed: readonly ListedTool[],
  allowed: readonly string[] | null,
): Promise<{ tools: PinnedTool[] } | { missing: string[] }> {
  const missing = (allowed ?? []).filter((name) => !listed.some((tool) => tool.name === name));
  if (missing.length > 0) return { missing };
  const wanted = listed.filter(({ name }) => allowed?.includes(name) ?? true);
  return { tools: await Promise.all(wanted.map(pin)) };
}

async function pin({ name, description = "", inputSchema, annotations = {} }: ListedTool): Promise<PinnedTool> {
  const hash = await sha256Hex(JSON.stringify(canonical({ name, description, inputSchema, annotations })));
  const shown = { name, description: truncate(description, MAX_DESCRIPTION_LENGTH), parameters: inputSchema };
  return { ...shown, isReadOnly: annotations.readOnlyHint === true, hash };
}

/** Describes the first change of a server's tools in a sentence for the team. Returns undefined if nothing has changed. */
export async function describeChange(pinned: readonly PinnedTool[], listed: readonly ListedTool[]): Promise<string | undefined> {
  for (const { name, hash } of pinned) {
    const now = listed.find((tool) => tool.name === name);
    if (!now) return `The server no longer has the tool ${name}. Save the agent's tools again to allow what it has now.`;
    if ((await pin(now)).hash === hash) continue;
    return `The server has changed its description of the tool ${name} since it was saved. Check what the tool does now, then save the agent's tools again.`;
  }
  return undefined;
}

/** The names, descriptions and parameters of an agent's tools as a model reads them. */
export function modelTools(tools: readonly StoredTool[]) {
  const named = tools.flatMap<{ name: string; description: string; parameters: object }>((tool) =>
    tool.type === "mcp" ? tool.tools.map((one) => ({ ...one, name: modelName(tool.name, one.name) })) : [tool],
  );
  return named.map(({ name, description, parameters }) => ({ name, description, parameters }));
}

/** Sorts the fields of all objects in a JSON value, so that equal values have the same text. */
export function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(fields.map(([name, one]) => [name, canonical(one)]));
}
