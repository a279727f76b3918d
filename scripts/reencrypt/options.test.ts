import assert from "node:assert/strict";
import { test } from "node:test";
import { PlainError } from "../dev/flags.ts";
import { readOptions } from "./options.ts";

const TOKEN = { OPERATOR_TOKEN: " new , old " };

void test("arguments, and whose token", () => {
  const url = "https://support.example.com";
  assert.deepEqual(readOptions(["--url", url], TOKEN), { url, token: "new", isCheck: false });
  assert.deepEqual(readOptions([`--url=${url}`, "--check"], TOKEN), { url, token: "new", isCheck: true });
  assert.equal(readOptions(["--help"], {}), undefined);
});

void test("mistakes are told plainly, and the token is never an argument", () => {
  const url = ["--url", "https://support.example.com"];
  for (const args of [[], [...url, "--token", "secret"], [...url, "more"]]) {
    assert.throws(() => readOptions(args, TOKEN), PlainError, args.join(" "));
  }
});
