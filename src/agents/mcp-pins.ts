import { sha256Hex } from "../platform/crypto/hashes.ts";
import type { PinnedTool, StoredHttpTool, StoredMcpServer } from "../platform/db/columns.ts";
import { truncate } from "../platform/text.ts";

/* The tools of a server of the Model Context Protocol as they were when somebody allowed them: a server may change them later. */

/** A tool as its server lists it. */
export interface ListedTool {
  name: string;
  description?: string | undefined;
  inputSchema: Record<string, unknown>;
  annotations?: { readOnlyHint?: boolean | undefined } | undefined;
}

/** A model reads the beginning of a description. */
const MAX_DESCRIPTION_LENGTH = 1_000;
/** What servers of models take as the name of a tool. */
const MAX_NAME_LENGTH = 64;
const UNSAFE_IN_NAME = /[^A-Za-z0-9_-]/g;

/** What the model calls a tool of a server. */
export function modelName(server: string, tool: string): string {
  return `${server}_${tool}`.replaceAll(UNSAFE_IN_NAME, "_").slice(0, MAX_NAME_LENGTH);
}

/** The tools of a server that are allowed, as they are now; or the names of those that it does not have. */
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

/** What has changed of a server's tools, as a sentence for the team; undefined where nothing has. */
export async function changeOf(pinned: readonly PinnedTool[], listed: readonly ListedTool[]): Promise<string | undefined> {
  for (const { name, hash } of pinned) {
    const now = listed.find((tool) => tool.name === name);
    if (!now) return `The server has no tool ${name} any more. Save the agent's tools again to allow what it has now.`;
    if ((await pin(now)).hash === hash) continue;
    return `The server describes its tool ${name} otherwise than when it was saved. Look at what it does now, then save the agent's tools again.`;
  }
  return undefined;
}

/** Names, descriptions and parameters as a model reads them. */
export function modelTools(tools: readonly (StoredHttpTool | StoredMcpServer)[]) {
  return tools.flatMap((tool) =>
    tool.type === "mcp" ? tool.tools.map((one) => modelTool(one, modelName(tool.name, one.name))) : [modelTool(tool)],
  );
}

function modelTool({ name: own, description, parameters }: Pick<PinnedTool, "name" | "description"> & { parameters: object }, name = own) {
  return { name, description, parameters };
}

/** The value with the fields of its objects sorted. */
export function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(fields.map(([name, one]) => [name, canonical(one)]));
}
