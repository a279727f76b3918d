import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { ROOT, UserError } from "../shared/cli.ts";
import type { Options } from "./deployment.ts";

/** The flags that the command of the earlier release gets too. */
type Rollback = { rollback: string } & Pick<Options, "config" | "env" | "url" | "waitSeconds" | "skipCheck" | "dryRun">;

/**
 * Deploys an earlier commit with the configuration of today, from a working tree of its own that is removed afterwards. A version of
 * the platform would also bring back the bindings and variables of its time, so that a database added since would not be bound.
 * @param options `rollback` names the commit or tag.
 * @returns the exit code of the command of the earlier release.
 * @throws UserError when there is no such commit, or when it has no such command.
 */
export async function rollBack(options: Rollback, root = ROOT): Promise<number> {
  const { rollback, config = "wrangler.toml", env } = options;
  const commit = git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", `${rollback}^{commit}`);
  if (commit === undefined)
    throw new UserError(`There is no commit "${rollback}" here. \`git fetch --tags\` brings those of the releases.`);
  if (git(root, "cat-file", "-e", `${commit}:scripts/deploy.ts`) === undefined)
    throw new UserError(`The commit ${rollback} has no \`npm run deploy\`. Deploy it as its own documentation says.`);
  const directory = mkdtempSync(join(tmpdir(), "rollback-"));
  const tree = join(directory, "tree");
  const file = resolve(root, config);
  const secrets = join(dirname(file), `.secrets.${env}`);
  const cleanUp = (): void => {
    // The deployment may have made secrets that nothing else has.
    const made = join(tree, basename(secrets));
    if (existsSync(made)) copyFileSync(made, secrets);
    git(root, "worktree", "remove", "--force", tree);
    rmSync(directory, { recursive: true, force: true });
  };
  // A signal makes the process exit.
  process.once("exit", cleanUp);
  try {
    if (git(root, "worktree", "add", "--detach", tree, commit) === undefined) throw new UserError(`git could not check out ${rollback}.`);
    for (const from of [file, secrets]) if (existsSync(from)) copyFileSync(from, join(tree, basename(from)));
    return (await npm(tree, "ci")) || (await npm(tree, "run", "deploy", "--", `--config=${basename(file)}`, ...flagsOf(options)));
  } finally {
    process.off("exit", cleanUp);
    cleanUp();
  }
}

function flagsOf({ env, url, waitSeconds, skipCheck, dryRun }: Rollback): string[] {
  return [
    `--env=${env}`,
    ...(url === undefined ? [] : [`--url=${url}`]),
    ...(waitSeconds === undefined ? [] : [`--wait=${waitSeconds}`]),
    ...(skipCheck ? ["--skip-check"] : []),
    ...(dryRun ? ["--dry-run"] : []),
  ];
}

/** Runs git and returns its output; undefined if it fails. */
function git(directory: string, ...args: string[]): string | undefined {
  const { status, stdout } = spawnSync("git", args, { cwd: directory, encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
}

async function npm(directory: string, ...args: string[]): Promise<number> {
  const child = spawn("npm", args, { cwd: directory, stdio: "inherit" });
  const [code] = (await once(child, "close")) as [number | null];
  return code ?? 1;
}
