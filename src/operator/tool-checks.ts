import { judgeTarget, LOOKUP_RETRY_SECONDS } from "../egress/target.ts";
import { WEBHOOK_POLICY } from "../egress/url-rules.ts";
import { type ApiError, invalid, unavailable, type ValidationItem } from "../http/errors.ts";
import type { GivenTool, MissingHeader } from "../tools/header-secrets.ts";
import { sampleOf } from "../tools/url-template.ts";
import { toolUrlRefusal } from "../tools/wire.ts";

/**
 * That every tool's URL leads to a public host now; the schema has judged their text.
 * @throws ApiError 422, or 503 while a host cannot be looked up.
 */
export async function requireToolTargets(env: Env, tools: readonly GivenTool[] = []): Promise<void> {
  const judged = await Promise.all(tools.map(({ url }) => judgeTarget(env, sampleOf(url), WEBHOOK_POLICY)));
  if (judged.some(({ verdict }) => verdict === "unavailable")) {
    throw unavailable("The host of a tool's url could not be looked up. Try again.", LOOKUP_RETRY_SECONDS);
  }
  const refused = judged.flatMap((one, at) => ("reason" in one ? [valueError(["tools", at, "url"], toolUrlRefusal(one.reason))] : []));
  if (refused.length > 0) throw invalid(refused);
}

/** 422: a header's value should be kept, and there is none. */
export function missingHeader({ toolIndex, header }: MissingHeader): ApiError<"validation_error"> {
  const error = "no value is stored for this header of this tool at this host: send one";
  return invalid([valueError(["tools", toolIndex, "headers", header], error)]);
}

function valueError(path: (string | number)[], error: string): ValidationItem {
  return { loc: ["body", ...path], msg: `Value error, ${error}`, type: "value_error", ctx: { error } };
}
