// `npm run build`: bundles the Worker into dist/worker, split where it imports something later. wrangler runs it before `dev` and
// `deploy`, and when a file changes; the runtime reads a module when it is first imported (the flag new_module_registry).
import { join } from "node:path";
import { build, type Metafile } from "esbuild";
import { errorText, ROOT } from "./shared/cli.ts";
import { writeOutput } from "./shared/output.ts";

const OUTPUT = "dist/worker";

/** Arguments that make wrangler take the bundle as it is, in place of `main`, which it would bundle to one module. */
export const PREBUILT: readonly string[] = [`${OUTPUT}/index.js`, "--no-bundle"];

/** Builds dist/worker. @returns what is in which of its modules. */
export async function buildWorker(): Promise<Metafile> {
  const { outputFiles, metafile } = await build({
    entryPoints: ["src/index.ts"],
    absWorkingDir: ROOT,
    outdir: OUTPUT,
    write: false,
    metafile: true,
    bundle: true,
    splitting: true,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
    define: { "process.env.NODE_ENV": '"production"' },
    loader: { ".bin": "copy", ".browser.js": "text" },
    // One of the module rules in wrangler.toml.
    chunkNames: "chunks/[name]-[hash]",
    assetNames: "[name]-[hash]",
    // Names stay, since the log says in which function an error was thrown.
    minifySyntax: true,
    minifyWhitespace: true,
    sourcemap: "linked",
    legalComments: "none",
    logLevel: "silent",
  });
  writeOutput(join(ROOT, OUTPUT), outputFiles);
  return metafile;
}

if (import.meta.main) {
  try {
    const { outputs } = await buildWorker();
    const modules = Object.keys(outputs).filter((path) => path.endsWith(".js"));
    console.log(`Built dist/worker: ${modules.length} modules.`);
  } catch (error) {
    console.error(errorText(error));
    process.exitCode = 1;
  }
}
