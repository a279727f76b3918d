import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

// Leads the process group of wrangler. Where the script that started it dies, even by SIGKILL, the IPC channel closes and the
// leader ends the group, so that no process is left behind and no port stays in use.
/** Less than in wrangler.ts, so that the two do not overlap. */
const GRACE_MS = 5_000;
/** For what is left of the group once wrangler has ended. */
const REST_MS = 1_000;

const WRANGLER = join(dirname(createRequire(import.meta.url).resolve("wrangler/package.json")), "bin/wrangler.js");

// The script may have died already.
if (!process.connected) process.exit(1);

const child = spawn(process.execPath, [WRANGLER, ...process.argv.slice(2)], { stdio: ["ignore", "inherit", "inherit"] });
child.once("error", () => process.exit(1));
child.once("exit", (code) => leave(code ?? 1));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stop);
process.on("disconnect", stop);

let stopping = false;

function stop(): void {
  if (stopping) return;
  stopping = true;
  process.kill(0, "SIGTERM");
  setTimeout(() => process.kill(0, "SIGKILL"), GRACE_MS);
}

function leave(code: number): void {
  if (process.connected) process.exit(code);
  // The script has ended, so the leader ends the rest of the group.
  stopping = true;
  process.kill(0, "SIGTERM");
  setTimeout(() => process.kill(0, "SIGKILL"), REST_MS);
}
