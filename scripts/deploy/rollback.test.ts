import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { parseOptions } from "./deployment.ts";
import { rollBack } from "./rollback.ts";

/** A repository with two releases, whose command writes down what it got: its release, its flags, the configuration and the secrets. */
function createReleases(t: TestContext): { root: string; report: () => string[] } {
  const root = mkdtempSync(join(tmpdir(), "rollback-test-"));
  t.after(() => rmSync(root, { recursive: true }));
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=Ann", "-c", "user.email=ann@example.com", ...args], { cwd: root, stdio: "pipe" });
  const file = join(root, "report.json");
  const write = (name: string, content: string) => writeFileSync(join(root, name), content);
  mkdirSync(join(root, "scripts"));
  mkdirSync(join(root, "src"));
  write("src/index.ts", "export class Gate {}\n");
  write("scripts/deploy.ts", "");
  write("package.json", `{"name": "releases", "version": "0.0.0", "scripts": {"deploy": "node scripts/report.mjs"}}`);
  write("package-lock.json", `{"name": "releases", "version": "0.0.0", "lockfileVersion": 3, "packages": {"": {"name": "releases"}}}`);
  write(".gitignore", ".secrets.*\nreport.json\n");
  git("init", "--quiet");
  for (const release of ["v1", "v2"]) {
    const read = (name: string) => `readFileSync(${JSON.stringify(name)}, "utf8")`;
    const reported = `["${release}", ...process.argv.slice(2), ${read("wrangler.toml")}, ${read(".secrets.production")}, ${read("src/index.ts")}]`;
    write(
      "scripts/report.mjs",
      `import { readFileSync, writeFileSync } from "node:fs";\nwriteFileSync(${JSON.stringify(file)}, JSON.stringify(${reported}));\n`,
    );
    write("wrangler.toml", `name = "${release}"`);
    git("add", "--all");
    git("commit", "--quiet", "--message", release);
    git("tag", release);
  }
  write("wrangler.toml", `name = "today"`);
  write(".secrets.production", "OPERATOR_TOKEN=token");
  return { root, report: () => JSON.parse(readFileSync(file, "utf8")) as string[] };
}

const optionsOf = (rollback: string, ...more: string[]) => ({ ...parseOptions([`--rollback=${rollback}`, ...more]), rollback });

void test("a rollback deploys the earlier commit with the configuration of today, and leaves nothing behind", async (t) => {
  const { root, report } = createReleases(t);
  assert.equal(await rollBack(optionsOf("v1", "--skip-check", "--wait=5"), root), 0);
  assert.deepEqual(report(), [
    "v1",
    "--config=wrangler.toml",
    "--env=production",
    "--wait=5",
    "--skip-check",
    `name = "today"`,
    "OPERATOR_TOKEN=token",
    "export class Gate {}\n",
  ]);
  const trees = execFileSync("git", ["worktree", "list"], { cwd: root, encoding: "utf8" });
  assert.equal(trees.trim().split("\n").length, 1, trees);
  assert.ok(existsSync(join(root, ".secrets.production")));
});

void test("a rollback gives the earlier code a class for each object that was added since", async (t) => {
  const { root, report } = createReleases(t);
  const bindings = ["Gate", "Files"].map((name) => `{ name = "${name.toUpperCase()}", class_name = "${name}" }`);
  writeFileSync(join(root, "wrangler.toml"), `main = "src/index.ts"\ndurable_objects.bindings = [${bindings.join(", ")}]`);
  assert.equal(await rollBack(optionsOf("v1"), root), 0);
  assert.match(report().at(-1)!, /^export class Gate \{\}[^]*export class Files extends MissingObject \{\}\n$/);
});

void test("a rollback to what is no commit, or has no deployment, says so", async (t) => {
  const { root } = createReleases(t);
  await assert.rejects(rollBack(optionsOf("v9"), root), /There is no commit "v9" here/);
  await assert.rejects(rollBack(optionsOf("--all"), root), /There is no commit "--all" here/);
  execFileSync("git", ["checkout", "--quiet", "--orphan", "empty"], { cwd: root });
  execFileSync("git", ["rm", "-rfq", "--cached", "."], { cwd: root });
  execFileSync(
    "git",
    ["-c", "user.name=Ann", "-c", "user.email=ann@example.com", "commit", "--quiet", "--allow-empty", "--message", "empty"],
    {
      cwd: root,
    },
  );
  await assert.rejects(rollBack(optionsOf("empty"), root), /has no `npm run deploy`/);
});
