import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { experimental_readRawConfig as readRawConfig } from "wrangler";
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
    addMissingClasses(tree, join(tree, basename(file)));
    return (await npm(tree, "ci")) || (await npm(tree, "run", "deploy", "--", `--config=${basename(file)}`, ...flagsOf(options)));
  } finally {
    process.off("exit", cleanUp);
    cleanUp();
  }
}

/**
 * Adds empty classes to the code of the earlier release for the Durable Objects that were added since. The platform refuses a Worker
 * that lacks the class of existing objects.
 */
function addMissingClasses(tree: string, config: string): void {
  const { rawConfig } = readRawConfig({ config });
  const main = join(tree, rawConfig.main ?? "src/index.ts");
  if (!existsSync(main)) return;
  const code = readFileSync(main, "utf8");
  const environments = [rawConfig, ...Object.values(rawConfig.env ?? {})];
  const names = environments.flatMap(
    (each) => each.durable_objects?.bindings.map((binding: { class_name: string }) => binding.class_name) ?? [],
  );
  const missing = [...new Set(names)].filter((name) => !new RegExp(`\\b${name}\\b`).test(code));
  if (missing.length === 0) return;
  const classes = missing.map((name) => `export class ${name} extends MissingObject {}`);
  appendFileSync(main, ["", 'import { DurableObject as MissingObject } from "cloudflare:workers";', ...classes, ""].join("\n"));
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
