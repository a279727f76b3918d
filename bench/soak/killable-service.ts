import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Addresses, Order, ProcessSample, ServiceOptions } from "./service-process.ts";

const PROCESS = fileURLToPath(new URL("service-process.ts", import.meta.url));
const CHECK_EVERY_MS = 20;
/** How long the processes of a killed group may take to end. */
const END_LIMIT_MS = 10_000;
const SAMPLE_LIMIT_MS = 60_000;
/** A start takes seconds, or longer on a busy machine. */
const START_LIMIT_MS = 180_000;

/** A service that is killed and started again on the same storage. */
export class KillableService {
  private readonly args: ServiceOptions["args"];
  private child: ChildProcess | undefined;
  /** Settles when the running process serves. A process that is killed after that is replaced by another promise. */
  private serving = Promise.withResolvers<Addresses>();
  private isServing = false;
  private aheadMs = 0;
  private samples = 0;
  private readonly sweepEveryMs: number;

  constructor(sweepEveryMs: number, ...args: ServiceOptions["args"]) {
    this.args = args;
    this.sweepEveryMs = sweepEveryMs;
  }

  /** The addresses, when the service runs. */
  get addresses(): Promise<Addresses> {
    return this.serving.promise;
  }

  /** The port, when the service runs. */
  get port(): Promise<number> {
    return this.addresses.then(({ port }) => port);
  }

  /** The time by the service's clock. */
  get nowMs(): number {
    return Date.now() + this.aheadMs;
  }

  start(): void {
    const child = spawn(process.execPath, [PROCESS], { detached: true, stdio: ["ignore", "ignore", "inherit", "ipc"] });
    this.child = child;
    const { resolve } = this.serving;
    setTimeout(() => !this.isServing && this.fail(child, "The service does not start."), START_LIMIT_MS).unref();
    child.once("message", (addresses) => {
      if (this.child !== child) return;
      this.isServing = true;
      resolve(addresses as Addresses);
    });
    child.once("exit", () => this.fail(child, "The service ended by itself."));
    child.send({ args: this.args, aheadMs: this.aheadMs, sweepEveryMs: this.sweepEveryMs } satisfies ServiceOptions);
  }

  /** Lets all that wait for the service fail, unless the process was killed. */
  private fail(child: ChildProcess, reason: string): void {
    if (this.child !== child) return;
    if (this.isServing) this.serving = Promise.withResolvers();
    this.isServing = false;
    this.serving.reject(new Error(reason));
  }

  /** Advances the service's clock. It must run, and be `hastened`. */
  async advance(ms: number): Promise<void> {
    await this.addresses;
    this.aheadMs += ms;
    this.child?.send({ aheadMs: this.aheadMs } satisfies Order);
  }

  /** Measures the running process; undefined if it is killed meanwhile, or does not answer in time. */
  async sample(): Promise<ProcessSample | undefined> {
    await this.addresses;
    const { child } = this;
    const sampled = ++this.samples;
    const answered = Promise.withResolvers<ProcessSample>();
    const listen = (sample: unknown) => (sample as ProcessSample).sampled === sampled && answered.resolve(sample as ProcessSample);
    child?.on("message", listen);
    if (child?.connected) child.send({ sampled } satisfies Order);
    const sample = await Promise.race([answered.promise, sleep(SAMPLE_LIMIT_MS, undefined, { ref: false })]);
    child?.off("message", listen);
    return sample;
  }

  /** Kills the whole process group, and returns when it has ended. */
  async kill(): Promise<void> {
    const { child } = this;
    if (child?.pid === undefined) return;
    this.child = undefined;
    // Callers that wait for a process that is killed while it starts wait for the next one.
    if (this.isServing) this.serving = Promise.withResolvers();
    this.isServing = false;
    const hasEnded = child.exitCode !== null || child.signalCode !== null;
    const exited = hasEnded ? undefined : once(child, "exit");
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
