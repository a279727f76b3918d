import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { ServiceOptions } from "./service-process.ts";

const PROCESS = fileURLToPath(new URL("service-process.ts", import.meta.url));
const CHECK_EVERY_MS = 20;
/** How long the processes of a killed group may take to end. */
const END_LIMIT_MS = 10_000;

/** A service that is killed and started again on the same storage. */
export class KillableService {
  private readonly options: ServiceOptions;
  private child: ChildProcess | undefined;
  /** Settles with the port when the running process serves. A process that is killed after that is replaced by another promise. */
  private serving = Promise.withResolvers<number>();
  private isServing = false;

  constructor(...options: ServiceOptions) {
    this.options = options;
  }

  /** The port, when the service runs. */
  get port(): Promise<number> {
    return this.serving.promise;
  }

  start(): void {
    const child = spawn(process.execPath, [PROCESS], { detached: true, stdio: ["ignore", "ignore", "inherit", "ipc"] });
    this.child = child;
    const { resolve, reject } = this.serving;
    child.once("message", (port) => {
      if (this.child !== child) return;
      this.isServing = true;
      resolve(port as number);
    });
    child.once("exit", () => this.child === child && reject(new Error("The service ended by itself.")));
    child.send(this.options);
  }

  /** Kills the whole process group, and returns when it has ended. */
  async kill(): Promise<void> {
    const { child } = this;
    if (child?.pid === undefined) return;
    this.child = undefined;
    // Callers that wait for a process that is killed while it starts wait for the next one.
    if (this.isServing) this.serving = Promise.withResolvers();
    this.isServing = false;
    const exited = once(child, "exit");
    signalGroup(child.pid, "SIGKILL");
    await exited;
    for (const deadlineMs = Date.now() + END_LIMIT_MS; signalGroup(child.pid, 0) && Date.now() < deadlineMs;) await sleep(CHECK_EVERY_MS);
  }
}

/** Sends a signal to a process group; returns false when it has ended. */
function signalGroup(pid: number, signal: "SIGKILL" | 0): boolean {
  try {
    return process.kill(-pid, signal);
  } catch {
    return false;
  }
}
