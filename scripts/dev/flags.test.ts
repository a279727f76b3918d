import assert from "node:assert/strict";
import { test } from "node:test";
import { parseArgs } from "node:util";
import { parseFlags, PlainError, told } from "./flags.ts";

void test("flags are read in both forms, and all but the port is passed on as it came", () => {
  const flags = parseFlags(["--port", "8800", "--persist-to=/tmp/state", "-e", "staging", "--log-level", "error"]);
  assert.equal(flags.port, 8800);
  assert.equal(flags.persistTo, "/tmp/state");
  assert.equal(flags.env, "staging");
  assert.deepEqual(flags.passed, ["--persist-to=/tmp/state", "-e", "staging", "--log-level", "error"]);
});

void test("--var takes one pair or several, and values keep their colons", () => {
  const flags = parseFlags(["--var", "A:1", "B:http://x:2", "--var=C:3", "--minify", "--var", "D:"]);
  assert.deepEqual(Object.fromEntries(flags.vars), { A: "1", B: "http://x:2", C: "3", D: "" });
  assert.deepEqual(flags.passed, ["--var", "A:1", "B:http://x:2", "--var=C:3", "--minify", "--var", "D:"]);
});

void test("nothing given is nothing known", () => {
  const flags = parseFlags([]);
  assert.equal(flags.port, undefined);
  assert.equal(flags.informs, false);
  assert.deepEqual(flags.passed, []);
});

void test("mistakes are told plainly", () => {
  for (const args of [["--port", "x"], ["--port=70000"], ["--port"], ["--remote"], ["-r"], ["--cwd", "/"]]) {
    assert.throws(() => parseFlags(args), PlainError, args.join(" "));
  }
});

void test("what whoever started a script can mend is told in its words, and all else with its place", () => {
  assert.equal(told(new PlainError("Say where.")), "Say where.");
  assert.throws(
    () => parseArgs({ args: ["--halp"], options: {} }),
    (error) => /^Unknown option '--halp'[^\n]*$/.test(told(error)),
  );
  assert.match(told(new TypeError("Not ours.")), /Not ours\.\n\s+at /);
});
