import assert from "node:assert/strict";
import { test } from "node:test";
import { UserError } from "../shared/cli.ts";
import type { Client } from "../shared/service.ts";
import { isDone, needsNothingOld, type OutdatedKey, readOptions, reencryptAll, reportOf, type Total, walkAll } from "./reencrypt.ts";

interface Rows {
  current: number;
  outdated: number;
  unreadable: number;
}

const KEY: OutdatedKey = {
  id: "k-1",
  workspace_id: "w-1",
  name: "CRM",
  prefix: "sk_live_12345678",
  last_used_at: "2026-11-21T07:00:00.000Z",
};
const NOTHING = { secrets: {}, api_keys: { current: 0, outdated: [] }, keep_until: null };
const silent = () => undefined;

/** A service of two steps. `stubborn` secrets of the second come back after each round, as often as said. */
function standIn(first: Rows, second: Rows, { stubborn = 0 } = {}) {
  const requests: string[] = [];
  const take = (rows: Rows, isWriting: boolean) => {
    const reencrypted = isWriting ? rows.outdated : 0;
    if (isWriting) Object.assign(rows, { current: rows.current + rows.outdated, outdated: 0 });
    return { ...rows, reencrypted, current: rows.current - reencrypted };
  };
  const send: Client["send"] = async (method, path) => {
    requests.push(`${method} ${path}`);
    const isWriting = method === "POST";
    if (!path.includes("cursor=")) {
      return { status: 200, body: { ...NOTHING, secrets: { tool_headers: take(first, isWriting) }, next_cursor: "0.b." } };
    }
    const counts = take(second, isWriting);
    if (isWriting && stubborn-- > 0) Object.assign(second, { outdated: 1, current: second.current - 1 });
    return { status: 200, body: { ...NOTHING, secrets: { webhook_secrets: counts }, next_cursor: null } };
  };
  return { requests, client: { send } };
}

void test("all steps are taken, and the result is their sum", async () => {
  const { requests, client } = standIn({ current: 1, outdated: 2, unreadable: 0 }, { current: 3, outdated: 0, unreadable: 4 });
  const total = await walkAll(client, "check", silent);
  assert.deepEqual(requests, ["GET /operator/v1/secrets", "GET /operator/v1/secrets?cursor=0.b."]);
  assert.deepEqual(total.secrets["tool_headers"], { current: 1, outdated: 2, reencrypted: 0, unreadable: 0 });
  assert.equal(isDone(total), false);
});

void test("what was reencrypted is checked and reported", async () => {
  const { requests, client } = standIn({ current: 1, outdated: 2, unreadable: 0 }, { current: 0, outdated: 3, unreadable: 0 });
  const lines: string[] = [];
  const total = await reencryptAll(client, (line) => lines.push(line));
  assert.deepEqual(
    requests.map((request) => request.split(" ")[0]),
    ["POST", "POST", "GET", "GET"],
  );
  assert.deepEqual(total.secrets["webhook_secrets"], { current: 3, outdated: 0, reencrypted: 3, unreadable: 0 });
  assert.deepEqual(lines, [
    "reencrypt: 6 secrets read, 5 reencrypted, 0 under an old key, 0 unreadable",
    "check: 6 secrets read, 0 under an old key, 0 unreadable",
  ]);
  assert.equal(isDone(total) && needsNothingOld(total), true);
});

void test("secrets that were written meanwhile take another round, and the rounds have a limit", async () => {
  const rows = () => ({ current: 0, outdated: 1, unreadable: 0 });
  const meanwhile = standIn(rows(), rows(), { stubborn: 1 });
  assert.equal(isDone(await reencryptAll(meanwhile.client, silent)), true);
  assert.equal(meanwhile.requests.length, 8);
  const forEver = standIn(rows(), rows(), { stubborn: 100 });
  assert.equal(isDone(await reencryptAll(forEver.client, silent)), false);
  assert.equal(forEver.requests.length, 12);
});

void test("unreadable secrets, kept responses and API keys each need an old value", () => {
  const done: Total = { ...NOTHING, secrets: { tool_headers: { current: 1, outdated: 0, reencrypted: 0, unreadable: 0 } } };
  const kept = { current: 0, outdated: 2, reencrypted: 0, unreadable: 0 };
  const waits: Total = { ...done, secrets: { ...done.secrets, kept_responses: kept }, keep_until: "2026-11-22T07:00:00.000Z" };
  const used: Total = { ...done, api_keys: { current: 0, outdated: [KEY, { ...KEY, id: "k-2", last_used_at: null }] } };
  const lost: Total = { ...done, secrets: { tool_headers: { current: 0, outdated: 0, reencrypted: 0, unreadable: 1 } } };
  assert.deepEqual([done, waits, used, lost].map(isDone), [true, true, true, false]);
  assert.deepEqual([done, waits, used, lost].map(needsNothingOld), [true, false, false, false]);
  assert.match(reportOf(done).join("\n"), /ENCRYPTION_KEY: no old value is needed\.\nKEY_SECRET: no old value is needed\./);
  assert.match(reportOf(waits).join("\n"), /until 2026-11-22T07:00:00\.000Z\. [^\n]*: 2\./);
  assert.match(reportOf(used).join("\n"), /of an old value: 2; of the first: 0[^]*k-1[^]*not used since {2}key k-2/);
  assert.match(reportOf(lost).join("\n"), /cannot be read: 1\./);
});

void test("an error of the service ends the command with its answer", async () => {
  const client: Client = { send: async () => ({ status: 401, body: { error: { code: "invalid_api_key" } } }) };
  await assert.rejects(walkAll(client, "reencrypt", silent), /POST \/operator\/v1\/secrets\/reencrypt answered 401.*invalid_api_key/);
});

const TOKEN = { OPERATOR_TOKEN: " new , old " };

void test("the URL is an argument, and the token comes from the environment", () => {
  const url = "https://support.example.com";
  assert.deepEqual(readOptions(["--url", url], TOKEN), { url, token: "new", isCheck: false });
  assert.deepEqual(readOptions([`--url=${url}`, "--check"], TOKEN), { url, token: "new", isCheck: true });
  assert.equal(readOptions(["--help"], {}), undefined);
});

void test("a wrong argument is an error, and the token is never an argument", () => {
  const url = ["--url", "https://support.example.com"];
  for (const args of [[], [...url, "--token", "secret"], [...url, "more"]]) {
    assert.throws(() => readOptions(args, TOKEN), UserError, args.join(" "));
  }
});
