import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import assert from "node:assert/strict";
import { ROOT } from "../shared/cli.ts";

const TIMEOUT_MS = 60_000;

const hasPython = spawnSync("python3", ["--version"]).status === 0;

void test("the Python client passes its tests", { skip: !hasPython && "python3 is not there" }, () => {
  const args = ["-B", "-W", "error", "-m", "unittest", "discover", join(ROOT, "client/python")];
  const { status, stderr } = spawnSync("python3", args, { encoding: "utf8", timeout: TIMEOUT_MS });
  assert.equal(status, 0, stderr);
});
