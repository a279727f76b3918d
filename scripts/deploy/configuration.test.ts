import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { unstable_readConfig as readConfig } from "wrangler";
import { VARIABLE_NAMES } from "../../src/platform/config.ts";
import { ROOT } from "../dev/project.ts";

for (const env of ["", "production"]) {
  void test(`every variable and secret of wrangler.toml is checked at start-up (${env || "development"})`, () => {
    const { vars, secrets } = readConfig({ config: join(ROOT, "wrangler.toml"), env }, { hideWarnings: true });
    const names = [...Object.keys(vars), ...(secrets?.required ?? [])];
    assert.ok(names.includes("KEY_SECRET"));
    assert.deepEqual(
      names.filter((name) => !VARIABLE_NAMES.includes(name)),
      [],
    );
  });
}

void test("the guide's table has a row for every variable that is checked, and no other", () => {
  const guide = readFileSync(join(ROOT, "docs/deploy-and-configure.md"), "utf8");
  const section = guide.slice(guide.indexOf("\n## Configuration\n"));
  const rows = [...section.matchAll(/^\| `([A-Z_]+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$/gm)].map(([, name]) => name ?? "");
  assert.deepEqual(rows.toSorted(), VARIABLE_NAMES.toSorted());
});
