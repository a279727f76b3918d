import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { ServiceOptions } from "./service-process.ts";

const PROCESS = fileURLToPath(new URL("service-process.ts", import.meta.url));
const CHECK_EVERY_MS = 20;
/** How long the processes of a killed group may take to disappear. */
const DEATH_DEADLINE_MS = 10_000;

/** A service that is killed and started again on the same storage. */
export class KillableService {
  private child: ChildProcess | undefined;
  /** Settles with the port once the running process serves. Replaced with each start. */
  private ready = Promise.withResolvers<number>();

  private isServing = false;
  private readonly options: ServiceOptions;

  constructor(options: ServiceOptions) {
    this.options = options;
  }

  /** The port, once the service runs. */
  get port(): Promise<number> {
    return this.ready.promise;
  }

  /** Starts the process; `port` tells when it serves. */
  start(): void {
    const child = spawn(process.execPath, [PROCESS], { detached: true, stdio: ["ignore", "ignore", "inherit", "ipc"] });
    this.child = child;
    const { resolve, reject } = this.ready;
    child.once("message", (message) => {
      if (this.child !== child) return;
      this.isServing = true;
      resolve((message as { port: number }).port);
    });
    child.once("exit", () => this.child === child && reject(new Error("The service ended by itself.")));
    child.send(this.options);
  }

  /** Kills the whole group, and returns when none of it is left. */
  async kill(): Promise<void> {
    const { child } = this;
    if (child?.pid === undefined) return;
    this.child = undefined;
    // Whoever waits for a process that is killed while it starts waits for the next one.
    if (this.isServing) this.ready = Promise.withResolvers();
    this.isServing = false;
    const exited = once(child, "exit");
    signalGroup(child.pid, "SIGKILL");
    await exited;
    for (const deadlineMs = Date.now() + DEATH_DEADLINE_MS; signalGroup(child.pid, 0) && Date.now() < deadlineMs;)
      await sleep(CHECK_EVERY_MS);
  }
}

/** Sends a signal to a group; false when none of it is left. */
function signalGroup(pid: number, signal: "SIGKILL" | 0): boolean {
  try {
    return process.kill(-pid, signal);
  } catch {
    return false;
  }
}
