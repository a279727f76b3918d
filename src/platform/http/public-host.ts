import { checkTarget, LOOKUP_RETRY_SECONDS } from "../egress/target.ts";
import { WEBHOOK_POLICY } from "../egress/url-rules.ts";
import type { AppContext } from "./context.ts";
import { invalid, unavailable } from "./errors.ts";
import { valueError } from "./validation.ts";

/** The texts of the errors. They are given a reason, which is a clause about the URL. */
interface Refusals {
  refused: (reason: string) => string;
  unchecked: (reason: string) => string;
}

/**
 * Requires that the host of a URL in the body has only public addresses. The schema has checked the syntax of the URL.
 * @param path where the URL is in the body.
 * @throws ApiError validation_error, or unavailable while the host cannot be looked up.
 */
export async function requirePublicHost(c: AppContext, url: string, path: string[], { refused, unchecked }: Refusals): Promise<void> {
  const checked = await checkTarget(c.env, url, WEBHOOK_POLICY);
  if (checked.verdict === "allowed") return;
  if (checked.verdict === "unavailable") throw unavailable(unchecked(checked.reason), LOOKUP_RETRY_SECONDS);
  throw invalid([{ loc: ["body", ...path], ...valueError(refused(checked.reason)), input: url }]);
}
