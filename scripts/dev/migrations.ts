import { type Flags, PlainError } from "./flags.ts";
import { ROOT } from "./project.ts";
import { runWrangler } from "./wrangler.ts";

const NOTHING_TO_DO = "No migrations to apply";

/** Brings every local database up to date; silent where there is nothing to do. */
export async function applyMigrations(databases: readonly string[], flags: Flags): Promise<void> {
  for (const binding of databases) {
    const run = runWrangler(["d1", "migrations", "apply", binding, "--local", ...shared(flags)], { cwd: ROOT, quiet: true });
    const code = await run.ended;
    if (code !== 0) throw new PlainError(`The migrations of ${binding} failed:\n${run.output()}`);
    if (!run.output().includes(NOTHING_TO_DO)) console.log(`Migrations applied to ${binding}.`);
  }
}

/** The flags that say which configuration and which state are meant. */
function shared({ config, env, envFiles, persistTo }: Flags): string[] {
  const given = { "--config": config, "--env": env, "--persist-to": persistTo };
  const flags = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]));
  return [...flags, ...envFiles.map((file) => `--env-file=${file}`)];
}
