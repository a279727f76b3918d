import { setTimeout as sleep } from "node:timers/promises";
import { reasonOf } from "./service.ts";

const MINUTE_MS = 60_000;
const ANSWER_MS = 55_000;
/** wrangler's stand-in for the platform's clock, which does not run locally. */
const TRIGGER_PATH = "/cdn-cgi/local/scheduled?cron=*+*+*+*+*";

/** Fires the cron handler on every full minute, as the platform does, for as long as this process lives. */
export async function tickEachMinute(url: string): Promise<never> {
  for (;;) {
    await sleep(MINUTE_MS - (Date.now() % MINUTE_MS));
    void fire(url);
  }
}

/** A failure is told in one line; the next minute tries again. */
async function fire(url: string): Promise<void> {
  try {
    const response = await fetch(url + TRIGGER_PATH, { signal: AbortSignal.timeout(ANSWER_MS) });
    const outcome = (await response.text()).trim();
    if (!response.ok) console.error(`cron: the handler answered ${response.status} ${outcome.slice(0, 200)}`);
  } catch (error) {
    console.error(`cron: the handler was not reached: ${reasonOf(error)}`);
  }
}
