import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CodeBlock } from "./blocks.ts";

/** What went wrong in a guide: where, in which code, and what that printed. */
export interface Failure {
  block: CodeBlock;
  reason: string;
  output: string;
}

/** Separates the output of the blocks; the number of the block follows. */
const MARK = "\u001e";
/** curl's exit code for a response of 400 or more under `--fail-with-body`. */
const CURL_HTTP_ERROR = 22;
/** A response of 400 or more fails the command, and is shown. */
const CURL_CONFIG = "fail-with-body\nshow-error\n";

export interface ShellOptions {
  /** The directory in which the blocks run: a copy of the project. */
  cwd: string;
  env: NodeJS.Dict<string>;
  timeoutMs: number;
}

/**
 * Runs the `sh` blocks of one guide in one bash, in order, until one fails; blocks with a title are written to their
 * file first. Leaves no process behind.
 */
export async function runGuide(blocks: readonly CodeBlock[], { cwd, env, timeoutMs }: ShellOptions): Promise<Failure | undefined> {
  const commands = blocks.filter(({ language }) => language === "sh");
  if (commands.length === 0) return undefined;
  const curlHome = join(cwd, ".curl");
  mkdirSync(curlHome, { recursive: true });
  writeFileSync(join(curlHome, ".curlrc"), CURL_CONFIG);
  const files = blocks.flatMap(({ title, code }) => (title === undefined ? [] : [{ path: join(cwd, title), code }]));
  for (const { path, code } of files) writeFileSync(path, code);
  try {
    const { exit, output } = await runBash(scriptOf(commands), { cwd, env: { ...env, CURL_HOME: curlHome }, timeoutMs });
    if (exit === 0) return undefined;
    const [number, ...text] = output.split(MARK).at(-1)!.split("\n");
    const reason = exit === undefined ? `did not end within ${timeoutMs / 1000} s` : `exit code ${exit}`;
    return { block: commands[Number(number)] ?? commands[0]!, reason, output: text.join("\n") };
  } finally {
    for (const { path } of files) rmSync(path, { force: true });
  }
}

function scriptOf(commands: readonly CodeBlock[]): string {
  const parts = commands.map(({ code, error, needs }, at) => {
    const run = error === undefined ? code : expectError(code, error);
    return `printf '${MARK}${at}\\n'\n${needs === undefined ? run : `if command -v ${needs} > /dev/null; then\n${run}\nfi`}`;
  });
  return ["set -euo pipefail", "exec 2>&1", ...parts].join("\n");
}

/** A block that shows an error must fail with that status. */
function expectError(code: string, status: number): string {
  return `set +e
expected_output=$(set -e; exec 2>&1
${code})
expected_exit=$?
set -e
printf '%s\\n' "$expected_output"
if [ $expected_exit != ${CURL_HTTP_ERROR} ] || ! grep -q 'error: ${status}' <<< "$expected_output"; then
  echo 'This block shows an error ${status}, and it did not happen.'
  exit 1
fi
`;
}

const running = new Set<number>();

/** Ends what runs of a guide, with the processes that it started. */
export function killGuides(): void {
  for (const pid of running) killGroup(pid);
}

/** The exit code, undefined after a timeout, with everything printed. */
async function runBash(script: string, { cwd, env, timeoutMs }: ShellOptions): Promise<{ exit: number | undefined; output: string }> {
  // In a process group of its own, so that what a block leaves in the background ends too.
  const shell = spawn("bash", ["-c", script], { cwd, env, detached: true, stdio: ["ignore", "pipe", "inherit"] });
  running.add(shell.pid!);
  let output = "";
  shell.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  const closed = once(shell, "close");
  let isTimedOut = false;
  const timer = setTimeout(() => {
    isTimedOut = true;
    killGroup(shell.pid!);
  }, timeoutMs);
  const [exit] = (await once(shell, "exit")) as [number | null];
  clearTimeout(timer);
  killGroup(shell.pid!);
  await closed;
  running.delete(shell.pid!);
  return { exit: isTimedOut ? undefined : (exit ?? 1), output };
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // No process of the group is left.
  }
}
