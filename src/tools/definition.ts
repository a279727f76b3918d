/** What a tool's request may be made by. */
export const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

export type Method = (typeof METHODS)[number];

/** The parameters of a tool as JSON Schema, in the subset of `parameters-wire.ts`. */
export interface ToolParameters {
  type: "object";
  properties: Record<string, { type?: string | string[] | undefined }>;
  required?: string[];
}

/** A tool of an agent as its row holds it, in `agents.tools`. */
export interface StoredTool {
  name: string;
  description: string;
  parameters: ToolParameters;
  method: Method;
  /** With a placeholder such as `{order}` for each parameter that stands in its path or query. */
  url: string;
  /** By name. The values are encrypted, each for its place alone: see `header-secrets.ts`. */
  headers: Record<string, string>;
  timeoutSeconds: number;
}

/** Whether a request by this method may change something, so that making it twice is not the same as making it once. */
export function isChanging(method: Method): boolean {
  return method !== "GET";
}

/** Whether parameters that are not in the URL go into a JSON body; else they go into the query. */
export function hasBody(method: Method): boolean {
  return method === "POST" || method === "PUT" || method === "PATCH";
}
