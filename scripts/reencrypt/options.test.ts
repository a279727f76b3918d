import assert from "node:assert/strict";
import { test } from "node:test";
import { PlainError } from "../dev/flags.ts";
import { readOptions } from "./options.ts";

const TOKEN = { OPERATOR_TOKEN: " new , old " };

void test("the url is an argument, the token is of the environment", () => {
  const url = "https://support.example.com";
  assert.deepEqual(readOptions(["--url", `${url}/`], TOKEN), { url, token: "new", isCheck: false });
  assert.deepEqual(readOptions([`--url=${url}`, "--check"], TOKEN), { url, token: "new", isCheck: true });
  for (const local of ["http://localhost:8787", "http://127.0.0.1:9131", "http://[::1]:9131"]) {
    assert.equal(readOptions(["--url", local], TOKEN)?.url, local);
  }
  assert.equal(readOptions(["--help"], {}), undefined);
});

void test("mistakes are told plainly, and the token is never an argument", () => {
  const url = ["--url", "https://support.example.com"];
  for (const [args, environment] of [
    [[], TOKEN],
    [["--url", "support.example.com"], TOKEN],
    [["--url", "http://support.example.com"], TOKEN],
    [["--url", "ftp://localhost"], TOKEN],
    [url, {}],
    [url, { OPERATOR_TOKEN: " , " }],
    [[...url, "--token", "secret"], TOKEN],
    [[...url, "more"], TOKEN],
  ] as const) {
    assert.throws(() => readOptions(args, environment), PlainError, args.join(" "));
  }
});
