// A part of `npm run build`: bundles what runs in browsers (web/) into dist/web, which the platform serves without running the Worker.
// The weights of the sentence encoder are there too, since a Worker of this size could not be uploaded.
// wrangler runs it before `dev` and `deploy`, and when a file changes; the tests run it too.
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { gzipSync } from "node:zlib";
import { build, type BuildOptions, type Metafile, type Plugin, transform } from "esbuild";
import { ROOT, runMain, UserError } from "./shared/cli.ts";
import { type OutputFile, writeOutput } from "./shared/output.ts";

const OUTPUT = join(ROOT, "dist/web");
/** Files in it never change, since their folders are named by their contents; browsers keep them. */
const ASSETS = "assets";
const HASH_LENGTH = 10;

/** The most bytes of each file, gzipped. */
const LIMITS: Record<string, number> = { "widget.js": 2 * 1024, "widget/panel.js": 30 * 1024, "widget/lexer.js": 17 * 1024 };

/** The most bytes of the console, gzipped: the first load, and what each page adds. */
const FIRST_LOAD_BYTES = 100 * 1024;
const PAGE_BYTES = 30 * 1024;

/** Browsers from 2024 on: they have `light-dark()`, popovers and adopted style sheets. */
const TARGET = ["chrome123", "firefox125", "safari17.5"];

/** The API reference's viewer, as its package ships it for browsers. */
const VIEWER = join(ROOT, "node_modules/@scalar/api-reference/dist/browser");

/** The headers of the files; see https://developers.cloudflare.com/workers/static-assets/headers/ */
const HEADERS = `/*
  X-Content-Type-Options: nosniff
  Strict-Transport-Security: max-age=31536000
  Access-Control-Allow-Origin: *
  Cross-Origin-Resource-Policy: cross-origin
  Content-Security-Policy: default-src 'none'; frame-ancestors 'none'

# A website names it without a hash: a new one is used within minutes, and the old one meanwhile still finds its panel.
/widget.js
  Cache-Control: public, max-age=300, stale-while-revalidate=86400

/${ASSETS}/*
  Cache-Control: public, max-age=31536000, immutable

/console/*
  ! Content-Security-Policy
  ! Access-Control-Allow-Origin
  ! Cross-Origin-Resource-Policy
  Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'
  Referrer-Policy: no-referrer
`;

/** The style sheets of the chat are imported as text, without comments and white space. */
const styleSheets: Plugin = {
  name: "style-sheets",
  setup(plugins) {
    plugins.onLoad({ filter: /[/\\]widget[/\\]\w+\.css$/ }, async ({ path }) => {
      const { code } = await transform(await readFile(path, "utf8"), { loader: "css", minify: true, target: TARGET });
      return { contents: code.trim(), loader: "text" };
    });
  },
};

const COMMON: BuildOptions = {
  bundle: true,
  minify: true,
  write: false,
  outdir: OUTPUT,
  target: TARGET,
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  charset: "utf8",
  logLevel: "silent",
  plugins: [styleSheets],
  absWorkingDir: ROOT,
};

async function bundle(options: BuildOptions): Promise<OutputFile[]> {
  const { outputFiles = [] } = await build({ ...COMMON, ...options });
  return outputFiles.map(({ path, contents }) => ({ path: relative(OUTPUT, path), contents }));
}

/** Puts files that import each other into a folder whose name is the hash of their contents. */
function hashed(name: string, files: readonly OutputFile[]): { folder: string; files: OutputFile[] } {
  const hash = createHash("sha256");
  for (const { path, contents } of files.toSorted((one, other) => (one.path < other.path ? -1 : 1))) hash.update(path).update(contents);
  const folder = `${ASSETS}/${name}-${hash.digest("hex").slice(0, HASH_LENGTH)}`;
  return { folder, files: files.map(({ path, contents }) => ({ path: `${folder}/${path}`, contents })) };
}

/** The chat: a loader under a name that stays, and a panel with its languages, which it imports when somebody wants them. */
async function buildWidget(): Promise<OutputFile[]> {
  const languages = globSync("web/widget/languages/*.ts", { cwd: ROOT }).map((file) => `./${file}`);
  const modules = await bundle({
    entryPoints: ["./web/widget/panel.tsx", "./web/shared/lexer.ts", ...languages.filter((file) => basename(file) !== "en.ts")],
    entryNames: "[name]",
    format: "esm",
    splitting: true,
  });
  const { folder, files } = hashed("widget", modules);
  const [loader] = await bundle({
    entryPoints: { widget: "./web/widget/loader.ts" },
    format: "iife",
    define: { MODULES: JSON.stringify(`/${folder}/`), OPEN_CHAT: JSON.stringify(await launcherNames(languages)) },
  });
  // A website may have kept a loader that names an earlier folder: then it takes the panel from here.
  const current = modules.map(({ path, contents }) => ({ path: `widget/${path}`, contents }));
  return [loader!, ...files, ...current];
}

/** The name of the launcher's button in each language. */
async function launcherNames(languages: readonly string[]): Promise<Record<string, string>> {
  const modules = languages.map(async (file) => {
    const { texts } = (await import(join(ROOT, file))) as { texts: { open_chat: string } };
    return [basename(file, ".ts"), texts.open_chat] as const;
  });
  return Object.fromEntries(await Promise.all(modules));
}

/** The console: the HTML page, its style sheet, and a module for each of its views, which is loaded when the view is first opened. */
async function buildConsole(): Promise<OutputFile[]> {
  const { outputFiles = [], metafile } = await build({
    ...COMMON,
    entryPoints: ["./web/console/main.tsx", "./web/console/console.css"],
    entryNames: "[name]",
    format: "esm",
    splitting: true,
    metafile: true,
  });
  checkRoutes(outputFiles, metafile);
  const { folder, files } = hashed(
    "console",
    outputFiles.map(({ path, contents }) => ({ path: relative(OUTPUT, path), contents })),
  );
  const page = readFileSync(join(ROOT, "web/console/index.html"), "utf8");
  return [...files, { path: "console/index.html", contents: Buffer.from(page.replaceAll("{assets}", `/${folder}`)) }];
}

/** @throws UserError where the first load of the console, or one of its pages, is too large. */
function checkRoutes(files: readonly OutputFile[], { outputs }: Metafile): void {
  const bytes = new Map(files.map((file) => [relative(ROOT, file.path), gzippedBytes(file)]));
  const withImports = (path: string, known = new Set<string>()): Set<string> => {
    if (known.has(path)) return known;
    known.add(path);
    for (const { path: imported, kind } of outputs[path]?.imports ?? []) if (kind === "import-statement") withImports(imported, known);
    return known;
  };
  const sum = (paths: Iterable<string>) => [...paths].reduce((all, path) => all + (bytes.get(path) ?? 0), 0);
  const output = relative(ROOT, OUTPUT);
  const first = new Set([...withImports(`${output}/main.js`), `${output}/console.css`]);
  const pages = (outputs[`${output}/main.js`]?.imports ?? []).filter(({ kind }) => kind === "dynamic-import");
  const sizeOfPage = (path: string) => sum([...withImports(path)].filter((one) => !first.has(one)));
  checkSizes([
    ["The first load of the console", sum(first), FIRST_LOAD_BYTES],
    ...pages.map(({ path }): Size => [`The console's ${basename(path)}`, sizeOfPage(path), PAGE_BYTES]),
  ]);
}

/** The viewer of /docs: an entry, and modules that it imports when they are wanted. */
function viewerFiles(): OutputFile[] {
  const files = ["standalone.esm.js", ...globSync("chunks/*.js", { cwd: VIEWER })];
  return files.map((file) => {
    const code = readFileSync(join(VIEWER, file), "utf8").replace(/\n\/\/# sourceMappingURL=.*\s*$/, "");
    return { path: `docs/scalar/${file}`, contents: Buffer.from(code) };
  });
}

/** The guides as a document of the viewer, which shows them beside the reference and searches both. */
function guidesFile(): OutputFile {
  const texts = globSync("docs/*.md", { cwd: ROOT })
    .toSorted()
    .map((file) => readFileSync(join(ROOT, file), "utf8"));
  const description = texts.map(withoutFileLinks).join("\n\n");
  const guides = { openapi: "3.1.0", info: { title: "Guides", version: "1.0.0", description }, paths: {} };
  return { path: "docs/guides.json", contents: Buffer.from(JSON.stringify(guides)) };
}

/** Turns links between guides into links to headings of the viewer's page, and takes out links to files. */
function withoutFileLinks(text: string): string {
  return text
    .replaceAll(/\]\((?:[\w-]+\.md)?#([\w-]+)\)/g, "](#guides/description/$1)")
    .replaceAll(/\[([^\]]+)\]\((?!https?:|#)[^)]+\)/g, "$1");
}

/** The size of a file as a browser receives it. */
const gzippedBytes = ({ contents }: Pick<OutputFile, "contents">): number => gzipSync(contents, { level: 9 }).length;

type Size = [name: string, bytes: number, limit: number];

/** @throws UserError where something is larger than its limit. */
function checkSizes(sizes: readonly Size[]): void {
  const tooLarge = sizes.filter(([, bytes, limit]) => bytes > limit);
  const problems = tooLarge.map(([name, bytes, limit]) => `${name} has ${bytes} bytes gzipped; it may have ${limit}.`);
  if (problems.length > 0) throw new UserError(problems.join("\n"));
}

/**
 * Builds dist/web.
 * @returns the size of each script, gzipped.
 * @throws UserError where a file is too large.
 */
export async function buildWeb(): Promise<Record<string, number>> {
  const icon: OutputFile = { path: "icon.svg", contents: readFileSync(join(ROOT, "web/shared/icon.svg")) };
  const headers: OutputFile = { path: "_headers", contents: Buffer.from(HEADERS) };
  const weights = ["encoder/minilm-l6.bin", "encoder/reader.bin"].map((path): OutputFile => ({
    path,
    contents: readFileSync(join(ROOT, path)),
  }));
  const files = [...(await buildWidget()), ...(await buildConsole()), ...viewerFiles(), guidesFile(), ...weights, icon, headers];
  const sizes = Object.entries(LIMITS).map(([path, limit]): Size => [path, gzippedBytes(files.find((file) => file.path === path)!), limit]);
  checkSizes(sizes);
  writeOutput(OUTPUT, files);
  return Object.fromEntries(sizes);
}

if (import.meta.main) {
  await runMain(async () => {
    const sizes = Object.entries(await buildWeb()).map(([path, bytes]) => `${path} ${bytes} of ${LIMITS[path]} bytes`);
    console.log(`Built dist/web: ${sizes.join(", ")} gzipped.`);
  });
}
