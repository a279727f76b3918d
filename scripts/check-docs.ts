// `npm run check:docs`: the README and the guides, run. Each `sh` block is executed against a running service, the other
// examples are compiled, and the links are followed. Arguments narrow it: `npm run check:docs -- docs/webhooks.md`.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type CodeBlock, findBrokenLinks, readBlocks } from "./docs/blocks.ts";
import { compileBlocks } from "./docs/compile.ts";
import { freePort, startService } from "./docs/service.ts";
import { type Failure, runGuide } from "./docs/shell.ts";
import { ROOT } from "./dev/project.ts";
import { SIGNAL_EXIT_CODES } from "./dev/signals.ts";

const GUIDE_LIMIT_MS = 40_000;

const guides = ["README.md", ...globSync("docs/*.md", { cwd: ROOT }).toSorted()];
const chosen = process.argv.length > 2 ? process.argv.slice(2) : guides;
const readGuide = (file: string): string => readFileSync(join(ROOT, file), "utf8");

const broken = findBrokenLinks(guides, readGuide);
for (const link of broken) console.error(link);
const service = await startService();
for (const [signal, code] of Object.entries(SIGNAL_EXIT_CODES))
  process.once(signal, () => void service.stop().then(() => process.exit(code)));
let failures = 0;
try {
  const all: CodeBlock[] = [];
  for (const file of chosen) {
    const blocks = readBlocks(file, readGuide(file));
    all.push(...blocks);
    const startedMs = Date.now();
    const env = { ...process.env, ...service.variables, PORT: String(await freePort()) };
    const failure = await runGuide(blocks, { cwd: service.directory, env, timeoutMs: GUIDE_LIMIT_MS });
    const count = blocks.filter(({ language }) => language === "sh").length;
    console.log(`${file}: ${count} blocks, ${((Date.now() - startedMs) / 1000).toFixed(1)} s${failure ? ", failed" : ""}`);
    if (failure) report(failure);
  }
  for (const failure of compileBlocks(all, service.directory)) report(failure);
} finally {
  await service.stop();
}
process.exit(broken.length + failures > 0 ? 1 : 0);

function report({ block: { file, line, code }, reason, output }: Failure): void {
  failures++;
  console.error(`\n${file}:${line} ${reason}\n\n${code}\n--- output ---\n${output}\n`);
}
