import type { RefusedServer } from "../agents/mcp-saving.ts";
import type { GivenTool, MissingHeader } from "../agents/secrets.ts";
import { sampleUrl } from "../agents/tool-url.ts";
import { toolUrlRefusal } from "../agents/tool-wire.ts";
import { unusablePatterns } from "../grounded/tool-input.ts";
import { checkTarget, LOOKUP_RETRY_SECONDS } from "../platform/egress/target.ts";
import { WEBHOOK_POLICY } from "../platform/egress/url-rules.ts";
import { ApiError, invalid, notFound, unavailable, type ValidationItem } from "../platform/http/errors.ts";
import { valueError } from "../platform/http/validation.ts";
import { PATTERN_REFUSAL } from "../platform/linear-pattern.ts";
import type { AgentRefusal } from "./agents.ts";
import type { KeyAddition } from "./keys.ts";

/* The errors of changes of agents and keys that are refused, here and in the operator API. */

/** Returns the new key. @throws ApiError if it was not added. */
export function requireAdded(added: KeyAddition) {
  if (added.outcome === "done") return added;
  if (added.outcome === "too_many") {
    const message = "The workspace has as many API keys as its plan includes. Revoke one, or have the operator raise limits.api_keys.";
    throw new ApiError("plan_required", message);
  }
  throw new ApiError("insufficient_scope", "The key that grants the scopes has just been revoked. Use another one.");
}

/** Returns what was changed. @throws ApiError if it was not changed. */
export function requireChanged<Done extends { outcome: "done" }>(change: Done | AgentRefusal): Done {
  switch (change.outcome) {
    case "done":
      return change;
    case "not_found":
      throw notFound("agent");
    case "slug_taken":
      throw new ApiError("conflict", "Another agent of the workspace has this slug. Choose another one.");
    case "address_taken":
      throw new ApiError("conflict", "Another agent has this email_address. Choose another one.");
    case "mailbox_refused":
      throw invalid([fieldError(["email_address"], "the operator gives an agent its mailbox: ask them, or send null for none")]);
    case "header_missing":
      throw missingHeader(change.missing);
    case "server_refused":
      throw refusedServer(change.refused);
    case "too_many":
      throw new ApiError(
        "plan_required",
        "The workspace has as many agents as its plan includes. Delete one, or have the operator raise the plan or limits.agents.",
      );
  }
}

/**
 * Checks that the host of every tool's URL resolves to a public address, and that every pattern of its parameters can be matched. The
 * schema has checked everything else.
 * @throws ApiError 422, or 503 if a host cannot be looked up.
 */
export async function requireUsableTools(env: Env, tools: readonly GivenTool[] = []): Promise<void> {
  const check = async (tool: GivenTool) => (tool.type === "client" ? undefined : checkTarget(env, sampleUrl(tool.url), WEBHOOK_POLICY));
  const checked = await Promise.all(tools.map(check));
  if (checked.some((one) => one?.verdict === "unavailable")) {
    throw unavailable("The host of a tool's url could not be looked up. Try again.", LOOKUP_RETRY_SECONDS);
  }
  const refused = checked.flatMap((one, at) =>
    one && "reason" in one ? [fieldError(["tools", at, "url"], toolUrlRefusal(one.reason))] : [],
  );
  for (const [at, tool] of tools.entries()) {
    const unusable = tool.type === "mcp" ? [] : await unusablePatterns(tool.parameters);
    refused.push(...unusable.map((path) => fieldError(["tools", at, "parameters", ...path, "pattern"], PATTERN_REFUSAL)));
  }
  if (refused.length > 0) throw invalid(refused);
}

/** Returns the 422 error for a header that is sent without a value, and has no stored one. */
function missingHeader({ toolIndex, header }: MissingHeader): ApiError<"validation_error"> {
  const error = "no value is stored for this header of this tool at this host: send one";
  return invalid([fieldError(["tools", toolIndex, "headers", header], error)]);
}

/** Returns the 422 error for an MCP server that cannot be saved. */
function refusedServer({ toolIndex, field, problem }: RefusedServer): ApiError<"validation_error"> {
  return invalid([fieldError(["tools", toolIndex, field], problem)]);
}

function fieldError(path: (string | number)[], error: string): ValidationItem {
  return { loc: ["body", ...path], ...valueError(error) };
}
