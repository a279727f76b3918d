import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { build } from "esbuild";
import { ROOT } from "./shared/cli.ts";

/*
 * `npm run build`, which wrangler runs before it serves or uploads the Worker: bundles `src/index.ts` into `dist/worker`. wrangler's own
 * bundler puts all code into one module, which is compiled whenever the Worker starts; here each dynamic `import` begins a module
 * of its own, which is compiled when it is first needed.
 */

const DIRECTORY = join(ROOT, "dist/worker");

const { outputFiles, metafile } = await build({
  absWorkingDir: ROOT,
  entryPoints: ["src/index.ts"],
  outdir: DIRECTORY,
  chunkNames: "modules/[name]-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  target: "es2024",
  // workerd knows it.
  supported: { using: true },
  platform: "browser",
  conditions: ["workerd", "worker", "browser"],
  external: ["cloudflare:*", "node:*"],
  define: { "process.env.NODE_ENV": '"production"' },
  loader: { ".bin": "copy", ".browser.js": "text" },
  minify: true,
  legalComments: "none",
  sourcemap: "linked",
  metafile: true,
  write: false,
});

// What became of each module, for scripts/check-startup.ts.
const meta = { path: join(DIRECTORY, "meta.json"), contents: Buffer.from(JSON.stringify(metafile)) };
const written = [...outputFiles, meta];
// A file that is as it was is left alone, so that a running `wrangler dev` does not reload. The entry point comes last.
for (const { path, contents } of written.toReversed()) {
  if (existsSync(path) && readFileSync(path).equals(contents)) continue;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, contents);
}
const current = new Set(["index.d.ts", ...written.map(({ path }) => relative(DIRECTORY, path))]);
for (const entry of readdirSync(DIRECTORY, { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath, entry.name);
  if (entry.isFile() && !current.has(relative(DIRECTORY, path))) rmSync(path);
}
