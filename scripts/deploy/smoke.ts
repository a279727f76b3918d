import { setTimeout as sleep } from "node:timers/promises";
import { PlainError } from "../dev/flags.ts";
import { reasonOf } from "../dev/service.ts";
import type { Step } from "./deployment.ts";

const REQUEST_MS = 10_000;
const PAUSE_MS = 2_000;

/** What a service that works answers without a key: it runs, and its configuration is right, or keys could not be asked for. */
const EXPECTED = { "/healthz": 200, "/api/v1/me": 401 };

/** Whether the service answers. */
export const smoke: Step = {
  title: "Smoke test",
  next: "The Worker is deployed. `npx wrangler tail --env production` shows its log, which names what is wrong.",
  run: async ({ options, url: deployed, say }) => {
    const url = options.url ?? deployed;
    if (options.dryRun) return say(url ?? "the service's URL", `would ask ${Object.keys(EXPECTED).join(" and ")}`);
    if (url === undefined) throw new PlainError("wrangler did not say where the Worker answers. Say it with `-- --url https://…`.");
    const deadlineMs = Date.now() + options.waitSeconds * 1000;
    for (const [path, status] of Object.entries(EXPECTED)) {
      await waitFor(new URL(path, url), status, deadlineMs);
      say(`${url}${path}`, `answers ${status}`);
    }
  },
};

/** @throws PlainError with the last answer when the one that is hoped for has not come by then. */
async function waitFor(url: URL, hopedFor: number, deadlineMs: number): Promise<void> {
  for (;;) {
    const answer = await ask(url);
    if (answer === String(hopedFor)) return;
    if (Date.now() + PAUSE_MS > deadlineMs) throw new PlainError(`${url.href} should answer ${hopedFor}, but: ${answer}.`);
    await sleep(PAUSE_MS);
  }
}

async function ask(url: URL): Promise<string> {
  try {
    const response = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(REQUEST_MS) });
    await response.body?.cancel();
    return String(response.status);
  } catch (error) {
    return `no answer (${reasonOf(error)})`;
  }
}
