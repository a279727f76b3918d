import { waitUntil } from "cloudflare:workers";
import { logRarely } from "./telemetry/log.ts";

/** Lets a call of an object continue after the response. If it fails, only the log has it, under the name of this event. */
export function inBackground(call: PromiseLike<unknown>, failure: string): void {
  waitUntil(Promise.resolve(call).catch((error: unknown) => logRarely(failure, {}, error)));
}
