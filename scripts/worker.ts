// A part of `npm run build`: bundles the Worker into dist/worker, split where it imports something later. wrangler runs it before
// `dev` and `deploy`, and when a file changes; the runtime compiles a module when it is first imported (new_module_registry).
import { join } from "node:path";
import { build, type Metafile, type Plugin } from "esbuild";
import { ROOT, runMain, UserError } from "./shared/cli.ts";
import { writeOutput } from "./shared/output.ts";

const MAIN = "src/index.ts";
const FOLDER = "dist/worker";
/** The modules besides the first, as a rule in wrangler.toml names them. */
const CHUNKS = "chunks/*.js";

/** What is read of wrangler's configuration. */
interface WorkerConfig {
  /** An absolute path. */
  main?: string | undefined;
  rules: readonly { globs: readonly string[] }[];
}

/**
 * The arguments that make wrangler take a build as it is, in place of `main`, which it would bundle to one module.
 * @returns none if `main` is another Worker's.
 * @throws UserError where the configuration would leave modules out.
 */
export function prebuilt({ main, rules }: WorkerConfig, folder = FOLDER): string[] {
  if (main !== join(ROOT, MAIN)) return [];
  if (!rules.some(({ globs }) => globs.includes(CHUNKS)))
    throw new UserError(`The configuration leaves modules out. Add to it:\n\n[[rules]]\ntype = "ESModule"\nglobs = ["${CHUNKS}"]`);
  return [`${folder}/index.js`, "--no-bundle"];
}

/** Zod brings its messages in sixty languages, in 290 KiB; the service's are English. */
const withoutLocales: Plugin = {
  name: "without-locales",
  setup: (build) => build.onLoad({ filter: /\/zod\/v4\/locales\/index\.js$/ }, () => ({ contents: "" })),
};

/** Builds the Worker into a folder of the project. @returns what is in which of its modules. */
export async function buildWorker(folder = FOLDER): Promise<Metafile> {
  const { outputFiles, metafile } = await build({
    entryPoints: [MAIN],
    absWorkingDir: ROOT,
    outdir: folder,
    write: false,
    metafile: true,
    bundle: true,
    splitting: true,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
    define: { "process.env.NODE_ENV": '"production"' },
    loader: { ".bin": "copy", ".wasm": "copy", ".browser.js": "text" },
    chunkNames: "chunks/[name]-[hash]",
    assetNames: "[name]-[hash]",
    // Names stay, since the log says in which function an error was thrown.
    minifySyntax: true,
    minifyWhitespace: true,
    sourcemap: "linked",
    legalComments: "none",
    logLevel: "silent",
    plugins: [withoutLocales],
  });
  writeOutput(join(ROOT, folder), outputFiles);
  return metafile;
}

/** Set by `npm run deploy` for the commands of wrangler that it runs. */
export const DEPLOY_VARIABLE = "SUPPORT_AGENT_DEPLOY";

if (import.meta.main) {
  await runMain(async () => {
    // There, wrangler gives any configuration the name of the connected Worker.
    if (process.env["WORKERS_CI"] && !process.env[DEPLOY_VARIABLE])
      throw new UserError(
        "Workers Builds would replace the Worker by the development configuration. Enter `npm run deploy` as the deploy command.",
      );
    const { outputs } = await buildWorker();
    const modules = Object.keys(outputs).filter((path) => path.endsWith(".js"));
    console.log(`Built dist/worker: ${modules.length} modules.`);
  });
}
