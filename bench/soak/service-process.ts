import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { type Build, startWorker } from "../service.ts";

// A service in a process of its own, which leads its process group, so that a kill of the group ends all of it at once.

/** What the process is told to serve. */
export interface ServiceOptions {
  build: Build;
  bindings: Record<string, string>;
  /** The folder that holds its storage. */
  state: string;
}

/** More often than the platform's minute, since few of these processes live that long. */
const SWEEP_EVERY_MS = 5_000;

process.once("disconnect", () => process.kill(0, "SIGKILL"));
const [{ build, bindings, state }] = (await once(process, "message")) as [ServiceOptions];
const served = await startWorker(build, bindings, state);
process.send?.({ port: served.port });
for (;;) {
  await sleep(SWEEP_EVERY_MS);
  await served.sweep().catch((error: unknown) => console.error(`The sweep failed: ${String(error)}`));
}
