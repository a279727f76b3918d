import type { Metafile } from "esbuild";

/** What a start of an isolate evaluates: modules that no `import()` stands before. */
export interface Evaluated {
  /** Bytes in the bundle, by package; of our own code by its folder. */
  bytes: Map<string, number>;
  /** For each of them, the imports that lead to its first module, the entry point first. */
  imports: Map<string, string[]>;
}

/** What a start evaluates of a bundle, by what its modules import statically. */
export function evaluatedAtStart({ inputs, outputs }: Metafile, entry: string): Evaluated {
  const start = Object.keys(inputs).find((path) => path.endsWith(entry));
  if (start === undefined) throw new Error(`The bundle has no entry point ${entry}`);
  const modules = Object.entries(outputs).filter(([path]) => path.endsWith(".js"));
  const bundled = new Map(modules.flatMap(([, module]) => Object.entries(module.inputs)));
  const [bytes, imports] = [new Map<string, number>(), new Map<string, string[]>()];
  const ways = new Map([[start, [start]]]);
  for (const [path, way] of ways) {
    const size = bundled.get(path)?.bytesInOutput ?? 0;
    // What the bundler left out is imported for its types alone, or for what nothing uses.
    if (size > 0) {
      const name = packageOf(path);
      bytes.set(name, (bytes.get(name) ?? 0) + size);
      if (!imports.has(name)) imports.set(name, way);
    }
    for (const imported of inputs[path]?.imports ?? []) {
      const isLater = imported.kind === "dynamic-import" || imported.external || ways.has(imported.path);
      if (!isLater) ways.set(imported.path, [...way, imported.path]);
    }
  }
  return { bytes, imports };
}

/** The package that a module is of; for our own, its folder. */
function packageOf(path: string): string {
  const [, name] = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path) ?? [];
  return name ?? path.split("/").slice(0, 2).join("/");
}

/** The packages and folders that a start evaluates although it may not, and those of which it evaluates more than it may. */
export function findGrowth({ bytes, imports }: Evaluated, allowedKib: Readonly<Record<string, number>>): string[] {
  return [...bytes].flatMap(([name, size]) => {
    const allowed = allowedKib[name];
    const way = imports.get(name)!.join(" > ");
    if (allowed === undefined) return [`${name} is evaluated, and may not be: ${way}`];
    return kib(size) > allowed ? [`${kib(size)} KiB of ${name} are evaluated, and may be ${allowed}: ${way}`] : [];
  });
}

export function kib(bytes: number): number {
  return Math.ceil(bytes / 1024);
}
