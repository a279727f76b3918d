import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { WRANGLER_ENV } from "../dev/wrangler.ts";
import { ROOT, UserError } from "../shared/cli.ts";
import { DEPLOY_VARIABLE } from "../worker.ts";
import type { Project } from "./project.ts";

const WRANGLER = join(dirname(createRequire(import.meta.url).resolve("wrangler/package.json")), "bin/wrangler.js");
/** A deployment starts wrangler many times; with a compile cache each start takes a third less. */
const COMPILED = join(ROOT, "node_modules/.cache/wrangler-compiled");
/** How much of the output is shown where wrangler reports no reason. */
const SHOWN_CHARACTERS = 2_000;

/** An event that wrangler writes for machines, one a line. */
interface Event {
  type: string;
  message?: string;
  targets?: string[];
}

/** The output of a command, and the events that it reported. */
export interface Ran {
  stdout: string;
  events: Event[];
}

/** A command of wrangler that failed, with the reason that wrangler gives. */
export class WranglerError extends UserError {
  /** Whether the API refused with this code. */
  hasCode(code: number): boolean {
    return new RegExp(`\\[code: ?${code}\\]`).test(this.message);
  }
}

/** The project's own wrangler, for one environment of one configuration. It runs without questions. */
export class Wrangler {
  /** A folder for files that nobody else may read; it is removed on exit. */
  readonly directory: string = mkdtempSync(join(tmpdir(), "deploy-"));
  readonly #flags: string[];
  readonly env: NodeJS.ProcessEnv;
  #runs = 0;

  constructor(project: Pick<Project, "config" | "env">, env: NodeJS.ProcessEnv = WRANGLER_ENV) {
    this.env = env;
    this.#flags = [`--config=${project.config}`, `--env=${project.env}`];
    process.once("exit", () => rmSync(this.directory, { recursive: true, force: true }));
  }

  /**
   * Runs a command.
   * @throws WranglerError when it fails.
   */
  async run(...args: string[]): Promise<Ran> {
    const eventsFile = join(this.directory, `events-${this.#runs++}`);
    const env = { NODE_COMPILE_CACHE: COMPILED, NO_COLOR: "1", [DEPLOY_VARIABLE]: "1", ...this.env, WRANGLER_OUTPUT_FILE_PATH: eventsFile };
    const child = spawn(process.execPath, [WRANGLER, ...args, ...this.#flags], { cwd: ROOT, env, stdio: ["ignore", "pipe", "pipe"] });
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
    const events = eventsIn(eventsFile);
    if (code !== 0) throw new WranglerError(`\`wrangler ${args.join(" ")}\`: ${reasonOf(events, `${stdout}${stderr}`)}`);
    return { stdout, events };
  }
}

function eventsIn(file: string): Event[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Event);
}

/** A refusal of the API as wrangler prints it; the events do not contain it. */
const REFUSALS = /^ *\S.* \[code: ?\d+\]/gm;

function reasonOf(events: Event[], output: string): string {
  const message = events.find(({ type }) => type === "command-failed")?.message;
  if (!message) return output.trim().slice(-SHOWN_CHARACTERS) || "it printed nothing";
  return [message, ...(output.match(REFUSALS) ?? []).filter((line) => !message.includes(line.trim()))].join("\n");
}

/**
 * The CPU time of a start, in milliseconds, out of what `wrangler check startup` prints.
 * @throws UserError when it does not say so.
 */
export function activeMs(output: string): number {
  const milliseconds = /Active: ([\d.]+) ms\b/.exec(output)?.[1];
  if (milliseconds === undefined) throw new UserError(`wrangler did not say how long the Worker takes to start:\n${output}`);
  return Number(milliseconds);
}
