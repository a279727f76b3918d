import assert from "node:assert/strict";
import { test } from "node:test";
import { UserError } from "../shared/cli.ts";
import type { Client } from "../shared/service.ts";
import { cancelMove, moveShards, readOptions, statusLines } from "./shards.ts";

const URL = ["--url", "https://support.example.com"];
const TOKEN = { OPERATOR_TOKEN: "secret" };
const MOVE = {
  shards: "64-127",
  from: "DB",
  to: "DB_1",
  pass: 1,
  rows_compared: 0,
  rows_written: 7,
  changes_waiting: 2,
  shards_moved: 0,
  shards_total: 64,
};

/** A service that gives these answers one after the other. An error is a connection that breaks. */
function standIn(...answers: (object | number | Error)[]) {
  const requests: string[] = [];
  const send: Client["send"] = (method, path) => {
    requests.push(`${method} ${path}`);
    const answer = answers.shift();
    if (answer instanceof Error) return Promise.reject(answer);
    if (typeof answer === "number") return Promise.resolve({ status: answer, body: { error: { message: "Why." } } });
    return Promise.resolve({ status: 200, body: answer });
  };
  return { requests, client: { send } };
}

void test("a move is started, continued until it is done, and reported", async () => {
  const { requests, client } = standIn({ ...MOVE, state: "copying" }, { ...MOVE, state: "switching" }, { ...MOVE, state: "done" });
  const lines: string[] = [];
  await moveShards(client, "64-127", "DB_1", (line) => lines.push(line), 0);
  assert.deepEqual(
    requests,
    ["PUT", "POST", "POST"].map((method) => `${method} /operator/v1/databases/DB_1/shard-move`),
  );
  assert.deepEqual(lines, ["copying: 7 rows written, 2 changes to copy", "The shards 64-127 are in DB_1."]);
});

void test("a part that fails or breaks off is repeated, and a lost answer to the last part ends the move", async () => {
  const { requests, client } = standIn(503, { ...MOVE, state: "copying" }, new Error("broken"), 500, { ...MOVE, state: "comparing" }, 404);
  await moveShards(client, "64-127", "DB_1", () => undefined, 0);
  assert.equal(requests.length, 6);
});

void test("a refused move is an error with its reason", async () => {
  const { client } = standIn(409);
  await assert.rejects(
    moveShards(client, "64-127", "DB_1", () => undefined, 0),
    /answered 409: Why\./,
  );
});

void test("a cancelled move is waited for", async () => {
  const { requests, client } = standIn({ done: false }, { done: true });
  await cancelMove(client, "DB_1", () => undefined);
  assert.deepEqual(requests, Array(2).fill("DELETE /operator/v1/databases/DB_1/shard-move"));
});

void test("the overview says which SHARD_MAP the databases need", async () => {
  const databases = [
    {
      binding: "DB",
      shards: "0-63, 128-255",
      mapped_shards: "0-255",
      workspaces: 3,
      size_bytes: 8_100_000_000,
      former_shards: "64-127",
      move: null,
    },
    { binding: "DB_1", shards: "64-127", mapped_shards: "", workspaces: 1, size_bytes: 4_000_000, former_shards: "", move: null },
  ];
  const lines = await statusLines(standIn({ data: databases }).client);
  assert.equal(lines[0], "DB: shards 0-63, 128-255, 3 workspaces, 8100 MB; former rows of 64-127, erased a day after their move");
  assert.equal(lines.at(-1), 'Write this into wrangler.toml and deploy: SHARD_MAP = "0-63=DB, 64-127=DB_1, 128-255=DB"');
  const [mapped] = databases.map((database) => ({ ...database, mapped_shards: database.shards }));
  assert.equal((await statusLines(standIn({ data: [mapped] }).client)).length, 1);
});

void test("the arguments name a command, shards and a database", () => {
  assert.deepEqual(readOptions(["move", "64-127", "DB_1", ...URL], TOKEN), {
    command: "move",
    shards: "64-127",
    database: "DB_1",
    url: "https://support.example.com",
    token: "secret",
  });
  assert.equal(readOptions(["cancel", "DB_1", ...URL], TOKEN)?.command, "cancel");
  assert.equal(readOptions(["status", ...URL], TOKEN)?.command, "status");
  assert.equal(readOptions(["--help"], {}), undefined);
  for (const args of [[], ["move"], ["move", "64-300", "DB_1"], ["move", "64", "OTHER"], ["cancel"], ["status", "DB"], ["undo", "DB_1"]])
    assert.throws(() => readOptions([...args, ...URL], TOKEN), UserError, args.join(" "));
});
