import { z } from "zod";
import { guardedFetch } from "../platform/egress/guarded-fetch.ts";
import { WEBHOOK_POLICY } from "../platform/egress/url-rules.ts";
import { parsedJson } from "../platform/json.ts";

/** https://developers.cloudflare.com/turnstile/get-started/server-side-validation/ */
const SITEVERIFY = "https://challenges.cloudflare.com/turnstile/v0/siteverify";
const USER_AGENT = "Support-Agent-Turnstile/1.0";
/** The limit is short, because a visitor waits for the response. */
const TIMEOUT_MS = 3_000;
const MAX_RESPONSE_BYTES = 16_384;

/** The action that a page gives its Turnstile widget. A token of another action was solved for something else. */
const ACTION = "support-agent";

const verdictSchema = z.object({
  success: z.boolean(),
  hostname: z.string().default(""),
  action: z.string().default(""),
  "error-codes": z.array(z.string()).default([]),
});

/**
 * Verifies a Turnstile token of an agent's page with siteverify. A token that cannot be verified counts as wrong.
 * @param isAllowedHost whether the token may have been solved on a page of this host.
 * @returns a code for the log that says what is wrong; undefined if the token is valid.
 */
export async function turnstileProblem(env: Env, secret: string, token: string, isAllowedHost: (hostname: string) => boolean) {
  const exchange = await guardedFetch(env, {
    url: SITEVERIFY,
    policy: WEBHOOK_POLICY,
    method: "POST",
    userAgent: USER_AGENT,
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ secret, response: token }),
    timeoutMs: TIMEOUT_MS,
    maxResponseBytes: MAX_RESPONSE_BYTES,
  });
  if (exchange.outcome !== "answered") return exchange.outcome;
  const { data: verdict } = verdictSchema.safeParse(parsedJson(new TextDecoder().decode(exchange.body)));
  if (!verdict) return `status_${exchange.status}`;
  if (!verdict.success) return verdict["error-codes"].join(" ") || "not_solved";
  if (verdict.action !== "" && verdict.action !== ACTION) return "other_action";
  return isAllowedHost(verdict.hostname) ? undefined : "other_hostname";
}
