import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { devVarsPath, ensureSecrets, readDevVars, setDevVars } from "./dev-vars.ts";

const SECRET = /^[A-Za-z0-9_-]{43}$/;
const ALL = ["OPERATOR_TOKEN", "KEY_SECRET", "ENCRYPTION_KEY"];

void test("a missing file is created for the owner alone, and does not change afterwards", (t) => {
  const path = devVarsPath(directory(t), undefined);
  assert.deepEqual(ensureSecrets(path), ALL);
  const vars = readDevVars(path);
  assert.deepEqual(new Set(Object.keys(vars)), new Set(ALL));
  for (const name of ALL) assert.match(vars[name]!, SECRET);
  assert.equal(new Set(Object.values(vars)).size, ALL.length);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.deepEqual(ensureSecrets(path), []);
  assert.deepEqual(readDevVars(path), vars);
});

void test("only what is missing is added to a file, and nothing is overwritten", (t) => {
  const path = join(directory(t), ".dev.vars");
  const own = "# mine\nexport KEY_SECRET='a b'\nOPERATOR_TOKEN=\nOTHER=1";
  writeFileSync(path, own);
  assert.deepEqual(ensureSecrets(path), ["ENCRYPTION_KEY"]);
  assert.ok(readFileSync(path, "utf8").startsWith(`${own}\nENCRYPTION_KEY=`));
});

void test("a variable is set in its own line, and the other lines stay", (t) => {
  const path = join(directory(t), ".dev.vars");
  writeFileSync(path, "A=1\nDEMO_API_KEY=old\nB=2\n");
  setDevVars(path, { DEMO_API_KEY: "$& new", DEMO_AGENT_ID: "id" });
  assert.equal(readFileSync(path, "utf8"), "A=1\nDEMO_API_KEY=$& new\nB=2\nDEMO_AGENT_ID=id\n");
});

void test("an environment's own file is used where there is one", (t) => {
  const own = directory(t);
  assert.equal(devVarsPath(own, "staging"), join(own, ".dev.vars"));
  writeFileSync(join(own, ".dev.vars.staging"), "");
  assert.equal(devVarsPath(own, "staging"), join(own, ".dev.vars.staging"));
});

function directory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "dev-vars-"));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}
