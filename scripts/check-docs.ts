// `npm run check:docs`: runs the README and the guides. Each `sh` block is executed against a running service, the other
// examples are compiled, and the links are checked. Arguments narrow it: `npm run check:docs -- docs/webhooks.md`.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { findBrokenLinks, readBlocks } from "./docs/blocks.ts";
import { compileBlocks } from "./docs/compile.ts";
import { startService } from "./docs/service.ts";
import { type Failure, killGuides, runGuide } from "./docs/shell.ts";
import { ROOT, SIGNAL_EXIT_CODES } from "./shared/cli.ts";
import { freePort } from "./shared/ports.ts";

const GUIDE_LIMIT_MS = 120_000;

// The README comes last: the deliveries of its webhook fail and are retried, and docs/backup-and-restore.md needs a workspace that does not change.
const guides = [...globSync("docs/*.md", { cwd: ROOT }).toSorted(), "SECURITY.md", "README.md"];
const chosen = process.argv.length > 2 ? process.argv.slice(2) : guides;
const readGuide = (file: string): string => readFileSync(join(ROOT, file), "utf8");

const service = startService();
for (const [signal, code] of Object.entries(SIGNAL_EXIT_CODES)) {
  process.once(signal, () => {
    killGuides();
    void service.stop().then(() => process.exit(code));
  });
}
const brokenLinks = findBrokenLinks(guides, readGuide);
for (const link of brokenLinks) console.error(link);
let failures = brokenLinks.length;
try {
  const variables = await service.variables;
  for (const file of chosen) await check(file, variables);
} finally {
  await service.stop();
}
process.exitCode = failures > 0 ? 1 : 0;

async function check(file: string, variables: NodeJS.Dict<string>): Promise<void> {
  const blocks = readBlocks(file, readGuide(file));
  const startedMs = Date.now();
  const env = { ...process.env, ...variables, PORT: String(await freePort()) };
  const failure = await runGuide(blocks, { cwd: service.directory, env, timeoutMs: GUIDE_LIMIT_MS });
  const compileFailures = compileBlocks(blocks, service.directory);
  const count = blocks.filter(({ language }) => language === "sh").length;
  console.log(`${file}: ${count} blocks run, ${((Date.now() - startedMs) / 1000).toFixed(1)} s`);
  for (const each of [...(failure ? [failure] : []), ...compileFailures]) report(each);
}

function report({ block: { file, line, code }, reason, output }: Failure): void {
  failures++;
  console.error(`\n${file}:${line} ${reason}\n\n${code}\n--- output ---\n${output}\n`);
}
