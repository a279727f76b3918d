import { createHmac, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError, type Client, type WebhookEvent } from "../index.ts";
import { signWebhook } from "../webhook.ts";
import { defineCommand } from "./command.ts";
import { apiKeyOf, connect } from "./environment.ts";
import { explain, networkReason, UsageError } from "./errors.ts";
import { note, print, printRecord, timeText } from "./terminal.ts";

export const listenToEvents = defineCommand({
  name: "events listen",
  about: "Shows a workspace's events as they happen, and forwards them to a webhook handler on this machine, signed.",
  parameters: "",
  options: {
    "forward-to": { type: "string", value: "URL", about: "Sends each event to this address, as a webhook." },
    types: { type: "string", value: "TYPES", about: "Only these types, separated by commas." },
    secret: {
      type: "string",
      value: "whsec_…",
      about: "Signs with this secret. Default: a secret that is derived from the API key.",
    },
    "print-secret": { type: "boolean", about: "Prints the signing secret, and does nothing else." },
  },
  examples: [
    "support-agent events listen",
    "support-agent events listen --forward-to http://localhost:3000/hook --types handoff.created,lead.created",
    "export WEBHOOK_SECRET=$(support-agent events listen --print-secret)",
  ],
  run: async ({ options }) => {
    const secret = secretOf(options.secret);
    if (options["print-secret"]) return print(secret);
    const target = options["forward-to"] === undefined ? undefined : targetOf(options["forward-to"]);
    const client = connect();
    const types = options.types?.replaceAll(" ", "");
    const { next_cursor } = await client.listEvents({ cursor: "latest", types });
    note(`Listening to ${types ?? "all events"}. Ctrl-C ends it.`);
    if (target) note(`Forwarding to ${target}, signed with ${secret}`);
    for await (const event of follow(client, next_cursor, types)) {
      const outcome = target ? await forward(event, target, secret) : "";
      if (options.json) printRecord(event);
      else print([timeText(event.created_at), event.type, event.id, outcome].filter(Boolean).join("  "));
      if (options.json && outcome) note(`${event.type}  ${event.id}  ${outcome}`);
    }
  },
});

/** Returns the secret that events are signed with. By default it is a hash of the API key, which does not reveal the key. */
function secretOf(given: string | undefined): string {
  const secret = given ?? `whsec_${createHmac("sha256", apiKeyOf()).update("events listen").digest("base64")}`;
  if (!/^whsec_[A-Za-z0-9+/]+=*$/.test(secret)) throw new UsageError("--secret begins with whsec_, followed by base64.");
  return secret;
}

function targetOf(given: string): string {
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol))
    throw new UsageError(`--forward-to ${given} is not a URL such as http://localhost:3000/hook.`);
  return given;
}

const PAGE = 100;
/** The pause after an event, since more are likely to follow. */
const SHORTEST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 5_000;
const GROWTH = 1.5;

/** Yields every event after the cursor, without end. While the service cannot be reached it keeps trying. */
async function* follow(client: Client, from: string, types: string | undefined): AsyncGenerator<WebhookEvent, void> {
  let cursor = from;
  for (let pauseMs = SHORTEST_PAUSE_MS; ;) {
    await sleep(pauseMs);
    try {
      const page = await client.listEvents({ cursor, limit: PAGE, types });
      yield* page.data;
      cursor = page.next_cursor;
      const longerMs = Math.min(Math.max(pauseMs, SHORTEST_PAUSE_MS) * GROWTH, LONGEST_PAUSE_MS);
      pauseMs = page.has_more ? 0 : page.data.length > 0 ? SHORTEST_PAUSE_MS : longerMs;
    } catch (error) {
      if (error instanceof ApiError && error.status < 500 && error.status !== 429) throw error;
      note(`${explain(error)} Trying again.`);
      pauseMs = Math.max(LONGEST_PAUSE_MS, (error instanceof ApiError ? (error.retryAfter ?? 0) : 0) * 1000);
    }
  }
}

/** The time that the service gives an endpoint. */
const TIMEOUT_MS = 15_000;

/** Sends an event as the service sends it to endpoints, and returns a description of the outcome. */
async function forward(event: WebhookEvent, target: string, secret: string): Promise<string> {
  const body = JSON.stringify(event);
  const startedMs = Date.now();
  try {
    const response = await fetch(target, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Delivery-Id": randomUUID(), ...(await signWebhook(event.id, body, secret)) },
      body,
      redirect: "manual",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    await response.body?.cancel();
    return `${response.status} in ${Date.now() - startedMs} ms`;
  } catch (error) {
    return `not delivered: ${networkReason(error)}`;
  }
}
