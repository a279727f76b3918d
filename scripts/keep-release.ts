// `node scripts/keep-release.ts`: keeps the Worker of a release, beside which compatibility.test.ts runs the next one.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { zipSync } from "fflate";
import { ROOT, runMain } from "./shared/cli.ts";
import { buildWorker } from "./worker.ts";
import { RELEASE } from "./releases/release.ts";

const FOLDER = "dist/release";

await runMain(async () => {
  await buildWorker(FOLDER);
  const files = readdirSync(join(ROOT, FOLDER), { recursive: true, encoding: "utf8" }).filter((file) => /\.(?:js|wasm|bin)$/.test(file));
  // The same release makes the same file.
  const archive = zipSync(Object.fromEntries(files.sort().map((file) => [file, readFileSync(join(ROOT, FOLDER, file))])), {
    level: 9,
    mtime: "1980-01-01",
  });
  writeFileSync(RELEASE, archive);
  console.log(`${RELEASE}: ${files.length} files, ${archive.length} bytes.`);
});
