import assert from "node:assert/strict";
import { test } from "node:test";
import { parseArgs } from "node:util";
import { errorText, UserError } from "../shared/cli.ts";
import { parseFlags } from "./flags.ts";

void test("flags are read in both forms, and all but the port are passed on unchanged", () => {
  const flags = parseFlags(["--port", "8800", "--persist-to=/tmp/state", "-e", "staging", "--log-level", "error"]);
  assert.equal(flags.port, 8800);
  assert.equal(flags.persistTo, "/tmp/state");
  assert.equal(flags.env, "staging");
  assert.deepEqual(flags.passed, ["--persist-to=/tmp/state", "-e", "staging", "--log-level", "error"]);
});

void test("this script's own flags are not passed on to wrangler", () => {
  const flags = parseFlags(["--json", "--version", "-h", "--port=0", "--model", "llama3.2:3b", "--minify"]);
  assert.ok(flags.json && flags.version && flags.help);
  assert.equal(flags.model, "llama3.2:3b");
  assert.deepEqual(flags.passed, ["--minify"]);
});

void test("--var takes one pair or several, and values keep their colons", () => {
  const flags = parseFlags(["--var", "A:1", "B:http://x:2", "--var=C:3", "--minify", "--var", "D:"]);
  assert.deepEqual(Object.fromEntries(flags.vars), { A: "1", B: "http://x:2", C: "3", D: "" });
  assert.deepEqual(flags.passed, ["--var", "A:1", "B:http://x:2", "--var=C:3", "--minify", "--var", "D:"]);
});

void test("without flags nothing is set", () => {
  const flags = parseFlags([]);
  assert.equal(flags.port, undefined);
  assert.equal(flags.model, undefined);
  assert.equal(flags.help || flags.version || flags.json, false);
  assert.deepEqual(flags.passed, []);
});

void test("a wrong flag is an error that says how to correct it", () => {
  for (const args of [["--port", "x"], ["--port=70000"], ["--port"], ["--model"], ["--remote"], ["-r"], ["--cwd", "/"]]) {
    assert.throws(() => parseFlags(args), UserError, args.join(" "));
  }
});

void test("an error that the user can correct is printed without a stack, any other with it", () => {
  assert.equal(errorText(new UserError("Say where.")), "Say where.");
  assert.throws(
    () => parseArgs({ args: ["--halp"], options: {} }),
    (error) => /^Unknown option '--halp'[^\n]*$/.test(errorText(error)),
  );
  assert.match(errorText(new TypeError("Not ours.")), /Not ours\.\n\s+at /);
});
