import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { startWorker } from "../service.ts";

// A service in a process of its own, which leads its process group, so that killing the group ends all of it at once.

/** The arguments of `startWorker`, which the process receives as a message. */
export type ServiceOptions = Parameters<typeof startWorker>;

/** More often than the platform's minute, because few of these processes live that long. */
const SWEEP_EVERY_MS = 5_000;

process.once("disconnect", () => process.kill(0, "SIGKILL"));
const [options] = (await once(process, "message")) as [ServiceOptions];
const served = await startWorker(...options);
process.send?.(served.port);
for (;;) {
  await sleep(SWEEP_EVERY_MS);
  await served.sweep().catch((error: unknown) => console.error(`The sweep failed: ${String(error)}`));
}
