import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CodeBlock } from "./blocks.ts";
import type { Failure } from "./shell.ts";

/** How the examples of a language are checked without running them. */
interface Compiler {
  command: string;
  args: (path: string) => string[];
  /** The text that makes a whole file of an example. */
  prefix: string;
}

const TSC = ["--noEmit", "--strict", "--target", "es2024", "--module", "esnext", "--moduleResolution", "bundler", "--skipLibCheck"];
const COMPILERS: Record<string, Compiler> = {
  ts: {
    command: join("node_modules", ".bin", "tsc"),
    args: (path) => ["--ignoreConfig", ...TSC, "--allowImportingTsExtensions", "--types", "node", path],
    prefix: "",
  },
  js: { command: process.execPath, args: (path) => ["--check", path], prefix: "" },
  python: { command: "python3", args: (path) => ["-m", "py_compile", path], prefix: "" },
  php: { command: "php", args: (path) => ["-l", path], prefix: "<?php\n" },
};
const EXTENSIONS: Record<string, string> = { ts: "ts", js: "mjs", python: "py", php: "php" };

/** Compiles the examples that are programs; those of a language that is not installed here are skipped, with one line. */
export function compileBlocks(blocks: readonly CodeBlock[], directory: string): Failure[] {
  return Object.entries(COMPILERS).flatMap(([language, compiler]) => {
    const own = blocks.filter((block) => block.language === language);
    if (own.length > 0 && !isInstalled(compiler.command, directory)) {
      console.log(`${language}: skipped, no ${compiler.command} here`);
      return [];
    }
    return own.flatMap((block, at) => compile(block, `docs-example-${at}.${EXTENSIONS[language]}`, compiler, directory) ?? []);
  });
}

function compile(block: CodeBlock, name: string, { command, args, prefix }: Compiler, directory: string): Failure | undefined {
  // At the top of the project, since examples import "./client/index.ts".
  writeFileSync(join(directory, name), prefix + block.code);
  const { status, stdout, stderr } = spawnSync(command, args(name), { cwd: directory, encoding: "utf8" });
  return status === 0 ? undefined : { block, reason: "does not compile", output: stdout + stderr };
}

/** Whether a command can be started here. */
export function isInstalled(command: string, directory?: string): boolean {
  return spawnSync(command, ["--version"], { cwd: directory, stdio: "ignore" }).error === undefined;
}
