import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../shared/cli.ts";
import { quotable } from "./quotable.ts";

/** What the demo agent learns: the guides, except those for contributors. */
const GUIDES = "{README.md,docs/*.md}";
const NOT_LEARNED = new Set(["docs/architecture.md", "docs/measurements.md"]);

/** A guide as knowledge; its source is recognised by its name. */
export interface Guide {
  name: string;
  text: string;
}

/** The README and the guides, each under its title. */
export function readGuides(): Guide[] {
  const files = globSync(GUIDES, { cwd: ROOT }).filter((file) => !NOT_LEARNED.has(file));
  return files.toSorted().map((file) => {
    const markdown = readFileSync(join(ROOT, file), "utf8");
    return { name: /^# (.+)$/m.exec(markdown)?.[1] ?? file, text: quotable(markdown) };
  });
}
