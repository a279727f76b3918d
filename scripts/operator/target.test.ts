import assert from "node:assert/strict";
import { test } from "node:test";
import { PlainError } from "../dev/flags.ts";
import { operatorTarget } from "./target.ts";

const TOKEN = { OPERATOR_TOKEN: " new , old " };
const localToken = () => "local";

void test("the url is given, the token is of the environment, or for this machine of its own file", () => {
  const url = "https://support.example.com";
  assert.deepEqual(operatorTarget(`${url}/`, TOKEN, localToken), { url, token: "new" });
  for (const local of ["http://localhost:8787", "http://127.0.0.1:9131", "http://[::1]:9131", "https://localhost:8787"]) {
    assert.deepEqual(operatorTarget(local, TOKEN, localToken), { url: local, token: "new" });
    assert.deepEqual(operatorTarget(local, {}, localToken), { url: local, token: "local" });
  }
});

void test("mistakes are told plainly, and no token leaves this machine in the clear", () => {
  const url = "https://support.example.com";
  for (const [given, environment] of [
    [undefined, TOKEN],
    ["support.example.com", TOKEN],
    ["http://support.example.com", TOKEN],
    ["ftp://localhost", TOKEN],
    [url, {}],
    [url, { OPERATOR_TOKEN: " , " }],
  ] as const) {
    assert.throws(() => operatorTarget(given, environment, localToken), PlainError, given);
  }
});
