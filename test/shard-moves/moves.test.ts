import { env } from "cloudflare:workers";
import { afterAll, expect, test, vi } from "vitest";
import { cancelMove, continueMove, startMove } from "../../src/shard-moves/moves.ts";
import { MOVED_TABLES } from "../../src/shard-moves/store.ts";
import { newId } from "../../src/platform/db/ids.ts";
import { readShards } from "../../src/platform/db/shard-map.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { sweep, sweepDatabase } from "../../src/sweep/sweep.ts";
import { sendDeliveries } from "../../src/webhooks/consumer.ts";
import { createAgent, createWorkspaceOn, envWith, learn, listen, newAddress, operate, send, type Workspace } from "../harness.ts";

const before = { ...env };
Object.assign(env, { SHARD_MAP: "0=DB, 1=DB_1, 10-31=DB" });
afterAll(() => void Object.assign(env, before));

const DAY_MS = 24 * 60 * 60_000;
/** Each test has a shard of its own, in DB. */
let lastShard = 9;

async function prepare() {
  const shard = ++lastShard;
  const workspace = await createWorkspaceOn(shard);
  const agent = await createAgent(workspace, { allowed_origins: ["*"] });
  await learn(workspace, agent.id, "Refunds are paid within five working days.");
  return { shard, workspace, agent, ask: (user = "ann") => ask(workspace, agent.id, user) };
}

async function ask(workspace: Workspace, agentId: string, user: string) {
  const { status, body } = await workspace.call("POST", `/agents/${agentId}/messages`, {
    message: "When are refunds paid?",
    user: { id: user },
  });
  expect([status, body.needs_human]).toEqual([200, false]);
  return body;
}

/** Continues a move until it is done. @param between what happens after each part. */
async function finish(to: string, between: () => Promise<unknown> = async () => undefined): Promise<any> {
  for (let step = 0; step < 50; step++) {
    const status = await operate("POST", `/databases/${to}/shard-move`);
    if (status.state === "done") return status;
    await between();
  }
  throw new Error("The move does not end");
}

async function move(shard: number, to: string): Promise<any> {
  await operate("PUT", `/databases/${to}/shard-move`, { shards: String(shard) });
  return finish(to);
}

/** All rows of a workspace in a database. */
async function rowsIn(database: D1Database, workspaceId: string): Promise<Record<string, string[]>> {
  const results = await database.batch<object>(
    MOVED_TABLES.map(({ name, owner }) => database.prepare(`SELECT * FROM "${name}" WHERE ${owner} = ?`).bind(workspaceId)),
  );
  return Object.fromEntries(MOVED_TABLES.map(({ name }, at) => [name, results[at]!.results.map((row) => JSON.stringify(row)).toSorted()]));
}

const countOf = (rows: Record<string, string[]>) => Object.values(rows).reduce((sum, each) => sum + each.length, 0);

test("a shard moves with every row as it is, and its workspaces go on from the new database", async () => {
  const { shard, workspace, agent, ask: askAgain } = await prepare();
  await listen(workspace);
  const asked = await askAgain();
  await workspace.call("POST", `/conversations/${asked.conversation_id}/messages`, { content: "A person answers." });
  await send("POST", `/widget/v1/agents/${agent.id}/leads`, { headers: newAddress(), body: { name: "Ada", email: "ada@example.com" } });
  const held = (await workspace.call("GET", `/conversations/${asked.conversation_id}`)).body;
  const rows = await rowsIn(env.DB, workspace.id);
  expect(await move(shard, "DB_1")).toMatchObject({ from: "DB", to: "DB_1", shards_moved: 1, shards_total: 1, changes_waiting: 0 });
  expect(await rowsIn(env.DB_1, workspace.id)).toEqual(rows);
  expect((await workspace.call("GET", `/conversations/${asked.conversation_id}`)).body).toEqual(held);
  await askAgain("ben");
  expect(await rowsIn(env.DB, workspace.id)).toEqual(rows);
  expect((await workspace.call("GET", "/conversations")).body.total).toBe(2);
  expect((await workspace.call("GET", "/events?limit=100")).body.data.length).toBeGreaterThan(0);
});

test("what changes while a shard is copied is copied too: new, changed and deleted rows", async () => {
  const { shard, workspace, agent, ask: askAgain } = await prepare();
  const [kept, erased] = [await askAgain(), await askAgain("gone")];
  await startMove(env, String(shard), 1, Date.now());
  await askAgain("ben");
  await workspace.call("DELETE", "/privacy/visitors?external_id=gone");
  // The copy has them by now, and they change again.
  for (let at = 0; at < 3; at++) await continueStep();
  await workspace.call("PATCH", `/conversations/${kept.conversation_id}`, { tags: ["vip"] });
  await workspace.call("PATCH", `/agents/${agent.id}`, { name: "Renamed" });
  await finish("DB_1", () => askAgain("cid"));
  const [former, copied] = [await rowsIn(env.DB, workspace.id), await rowsIn(env.DB_1, workspace.id)];
  expect(copied).toEqual(former);
  expect((await workspace.call("GET", `/conversations/${kept.conversation_id}`)).body.tags).toEqual(["vip"]);
  expect((await workspace.call("GET", `/conversations/${erased.conversation_id}`)).status).toBe(404);
  expect((await workspace.call("GET", `/agents/${agent.id}`)).body.name).toBe("Renamed");
});

test("while a shard's writes are held it is read, other writes get 503, and a question is kept until it can be answered", async () => {
  const { shard, workspace, agent, ask: askAgain } = await prepare();
  await askAgain();
  await startMove(env, String(shard), 1, Date.now());
  const set = (state: string, untilMs: number | null) =>
    env.DB.prepare("UPDATE shard_moves SET state = ?, held_until = ? WHERE shard = ?")
      .bind(state, untilMs, shard.toString(16).padStart(2, "0"))
      .run();
  await set("held", Date.now() + 60_000);
  const listed = await workspace.call("GET", "/conversations");
  expect([listed.status, listed.body.total]).toEqual([200, 1]);
  const renamed = await workspace.call("PATCH", `/agents/${agent.id}`, { name: "Changed" });
  expect([renamed.status, renamed.body.error.code, renamed.headers.get("Retry-After")]).toEqual([503, "unavailable", "2"]);
  const waiting = askAgain("ben");
  await set("copying", null);
  expect((await waiting).answer).toContain("five working days");
  await finish("DB_1");
  expect((await workspace.call("GET", "/conversations")).body.total).toBe(2);
});

test("a hold that nobody ends expires, and what is written then is not lost", async () => {
  const { shard, workspace, ask: askAgain } = await prepare();
  await startMove(env, String(shard), 1, Date.now());
  const held = "UPDATE shard_moves SET state = 'held', held_until = ? WHERE shard = ?";
  await env.DB.prepare(held)
    .bind(Date.now() - 2_000, shard.toString(16).padStart(2, "0"))
    .run();
  await askAgain();
  await finish("DB_1");
  expect((await workspace.call("GET", "/conversations")).body.total).toBe(1);
});

test("two callers that continue a move at the same time leave an exact copy", async () => {
  const { shard, workspace, ask: askAgain } = await prepare();
  for (const user of ["ann", "ben", "cid"]) await askAgain(user);
  await startMove(env, String(shard), 1, Date.now());
  for (let round = 0; round < 5; round++) await Promise.all([continueStep(), continueStep(), askAgain(`r${round}`)]);
  await finish("DB_1", () => askAgain("eve"));
  const copied = await rowsIn(env.DB_1, workspace.id);
  expect(copied).toEqual(await rowsIn(env.DB, workspace.id));
  expect((await workspace.call("GET", "/conversations")).body.total).toBe(copied["conversations"]!.length);
});

/** Continues a move until it holds the writes of a shard for the first time. @param before what happens just before that. */
async function continueUntilHeld(before: () => Promise<unknown>, target = env.DB_1): Promise<void> {
  let isHeld = false;
  const hold = (statement: D1PreparedStatement) => ({
    bind: (...values: unknown[]) => ({
      run: async () => {
        await before();
        return statement.bind(...values).run();
      },
    }),
  });
  const source = {
    prepare: (text: string) => {
      if (isHeld || !text.startsWith("UPDATE shard_moves SET state")) return env.DB.prepare(text);
      isHeld = true;
      return hold(env.DB.prepare(text));
    },
    batch: (statements: D1PreparedStatement[]) => env.DB.batch(statements),
  };
  while (!isHeld) await continueMove(envWith({ DB: source, DB_1: target }), 1);
}

const stateOf = (shard: number) =>
  env.DB.prepare("SELECT state FROM shard_moves WHERE shard = ?").bind(shard.toString(16).padStart(2, "0")).first<string>("state");

test("a shard whose copy lacks rows stays until both copies are equal", async () => {
  const { shard, workspace, ask: askAgain } = await prepare();
  await askAgain();
  await startMove(env, String(shard), 1, Date.now());
  const log = vi.spyOn(console, "error");
  await continueUntilHeld(() => env.DB_1.prepare("DELETE FROM visitors WHERE workspace_id = ?").bind(workspace.id).run());
  const lines = log.mock.calls.map(([line]) => JSON.parse(String(line)));
  log.mockRestore();
  expect(lines).toMatchObject([{ event: "shard_copy_differs", shard, tables: ["visitors"] }]);
  expect(await stateOf(shard)).toBe("copying");
  await askAgain("ben");
  await finish("DB_1");
  expect(await rowsIn(env.DB_1, workspace.id)).toEqual(await rowsIn(env.DB, workspace.id));
  expect((await workspace.call("GET", "/conversations")).body.total).toBe(2);
});

test("a shard stays if what was copied last is not in its copy as it was written", async () => {
  const { shard, workspace, agent } = await prepare();
  await startMove(env, String(shard), 1, Date.now());
  const altered = (row: object) => ("id" in row && row.id === agent.id ? { ...row, name: "Altered" } : row);
  const target = {
    prepare: (text: string) => env.DB_1.prepare(text),
    batch: async (statements: D1PreparedStatement[]) => {
      const results = await env.DB_1.batch<object>(statements);
      return results.map((result) => ({ ...result, results: result.results.map(altered) }));
    },
  };
  const rename = () => workspace.call("PATCH", `/agents/${agent.id}`, { name: "Renamed" });
  await expect(continueUntilHeld(rename, target as D1Database)).rejects.toThrow("The copy of agents differs");
  expect(await stateOf(shard)).toBe("copying");
  await finish("DB_1");
  expect(await rowsIn(env.DB_1, workspace.id)).toEqual(await rowsIn(env.DB, workspace.id));
  expect((await workspace.call("GET", `/agents/${agent.id}`)).body.name).toBe("Renamed");
});

test("a part of the copy that arrives after the shard has moved is refused", async () => {
  const { shard, workspace } = await prepare();
  await startMove(env, String(shard), 1, Date.now());
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let isNext = false;
  const target = {
    prepare: (text: string) => {
      isNext ||= text.startsWith('INSERT OR REPLACE INTO "workspaces"');
      return env.DB_1.prepare(text);
    },
    batch: async (statements: D1PreparedStatement[]) => {
      if (isNext) reached.resolve();
      if (isNext) await released.promise;
      return env.DB_1.batch(statements);
    },
  };
  const late = continueMove(envWith({ DB_1: target }), 1, () => 0);
  await reached.promise;
  await finish("DB_1");
  await operate("PATCH", `/workspaces/${workspace.id}`, { name: "Renamed" });
  const rows = await rowsIn(env.DB_1, workspace.id);
  released.resolve();
  expect(await late).toBeUndefined();
  expect(await rowsIn(env.DB_1, workspace.id)).toEqual(rows);
});

test("a cancelled move leaves the shard where it is, and no copy", async () => {
  const { shard, workspace, ask: askAgain } = await prepare();
  await askAgain();
  const rows = await rowsIn(env.DB, workspace.id);
  await startMove(env, String(shard), 1, Date.now());
  const path = "/databases/DB_1/shard-move";
  await env.DB.prepare("UPDATE shard_moves SET state = 'here' WHERE state = 'copying'").run();
  const refused = await send("POST", `/operator/v1${path}`, { token: env.OPERATOR_TOKEN });
  expect([refused.status, refused.body.error.message]).toEqual([409, expect.stringContaining("Start it again, or finish cancelling it")]);
  await operate("PUT", path, { shards: String(shard) });
  while (countOf(await rowsIn(env.DB_1, workspace.id)) === 0) await continueStep();
  while (!(await operate("DELETE", path)).done);
  expect(countOf(await rowsIn(env.DB_1, workspace.id))).toBe(0);
  expect(await rowsIn(env.DB, workspace.id)).toEqual(rows);
  expect((await send("DELETE", `/operator/v1${path}`, { token: env.OPERATOR_TOKEN })).status).toBe(404);
  await askAgain("ben");
  const triggers = await env.DB.prepare("SELECT count(*) AS n FROM sqlite_master WHERE name LIKE 'moving_%'").first<number>("n");
  const left = await env.DB.prepare("SELECT count(*) AS n FROM shard_changes").first<number>("n");
  expect([triggers, left]).toEqual([0, 0]);
});

/** Copies a part, but does not switch. */
async function continueStep(): Promise<void> {
  await continueMove(env, 1, clockThatEndsAtOnce());
}

/** A clock by which every part is over after its first page. */
function clockThatEndsAtOnce(): () => number {
  let nowMs = Date.now();
  return () => (nowMs += 10_000);
}

/** Counts the shards whose former rows are not erased yet. */
function countFormer(database: D1Database) {
  return database.prepare("SELECT count(*) AS n FROM shard_moves WHERE state = 'left' AND erased_at IS NULL").first<number>("n");
}

/** Runs the cron a day later, until all former rows are erased. */
async function sweepFormerShards(): Promise<void> {
  while ((await countFormer(env.DB)) || (await countFormer(env.DB_1))) await sweep(env, Date.now() + DAY_MS + 60_000);
}

test("a shard is taken back with what was written since, and former rows are erased after a day", async () => {
  const { shard, workspace, ask: askAgain } = await prepare();
  await askAgain();
  await move(shard, "DB_1");
  await askAgain("ben");
  // The cron prunes old counts too.
  await sweep(env, Date.now() + DAY_MS - 60_000);
  const rows = await rowsIn(env.DB_1, workspace.id);
  expect(countOf(await rowsIn(env.DB, workspace.id))).toBeGreaterThan(0);
  const back = await move(shard, "DB");
  expect(await rowsIn(env.DB, workspace.id)).toEqual(rows);
  expect(back.rows_written).toBeLessThan(countOf(rows));
  await sweepFormerShards();
  expect(countOf(await rowsIn(env.DB_1, workspace.id))).toBe(0);
  await askAgain("cid");
  expect((await workspace.call("GET", "/conversations")).body.total).toBe(3);
});

test("a shard is found whatever the map says: before its move, during it and after it", async () => {
  const { shard, workspace, ask: askAgain } = await prepare();
  await startMove(env, String(shard), 1, Date.now());
  const map = env.SHARD_MAP;
  const early = map.replace("10-31=DB", "10-31=DB_1");
  const total = async () => (await workspace.call("GET", "/conversations")).body.total;
  await askAgain();
  Reflect.set(env, "SHARD_MAP", early);
  expect(await total()).toBe(1);
  await askAgain("ben");
  Reflect.set(env, "SHARD_MAP", map);
  await finish("DB_1");
  for (const text of [early, map]) {
    Reflect.set(env, "SHARD_MAP", text);
    expect(await total()).toBe(2);
  }
  Reflect.set(env, "SHARD_MAP", map);
});

test("a shard that moves again is used where it is, and not in the copy that is being made where it was before", async () => {
  const { shard, workspace, agent } = await prepare();
  await move(shard, "DB_1");
  expect((await workspace.call("GET", "/conversations")).status).toBe(200);
  await move(shard, "DB");
  await startMove(env, String(shard), 1, Date.now());
  await workspace.call("PATCH", `/agents/${agent.id}`, { name: "Renamed" });
  const nameIn = (database: D1Database) => database.prepare("SELECT name FROM agents WHERE id = ?").bind(agent.id).first("name");
  expect([await nameIn(env.DB), await nameIn(env.DB_1)]).toEqual(["Renamed", agent.name]);
  await finish("DB_1");
});

test("after several shards have moved, lists of workspaces and batches of deliveries find them at once", async () => {
  const [first, second] = [await prepare(), await prepare()];
  const range = `${first.shard}-${second.shard}`;
  for (const { workspace, ask: askAgain } of [first, second]) {
    await listen(workspace);
    await askAgain();
  }
  const pending = env.DB.prepare("SELECT id FROM deliveries WHERE workspace_id IN (?, ?)").bind(first.workspace.id, second.workspace.id);
  const ids = (await pending.all<{ id: string }>()).results.map(({ id }) => id);
  const moveBoth = async (to: string) => {
    await operate("PUT", `/databases/${to}/shard-move`, { shards: range });
    await finish(to);
  };
  const listed = (path: string) => send("GET", `/operator/v1${path}?limit=100`, { token: env.OPERATOR_TOKEN });
  await moveBoth("DB_1");
  expect((await listed("/workspaces")).status).toBe(200);
  await moveBoth("DB");
  expect((await listed("/usage")).status).toBe(200);
  await moveBoth("DB_1");
  const sent: string[] = [];
  const keep = async ({ id }: { id: string }) => {
    sent.push(id);
    return "finished" as const;
  };
  expect(await sendDeliveries({ env, meter: new Meter(), queue: "fast", now: Date.now, send: keep }, ids)).toEqual([]);
  expect(sent.toSorted()).toEqual(ids.toSorted());
  expect(new Set(ids.map((id) => id.slice(-2))).size).toBe(2);
});

test("batches that are run together are each run in the database of their shard", async () => {
  const [moved, staying] = [await prepare(), await prepare()];
  await move(moved.shard, "DB_1");
  await moved.ask("ben");
  const committer = env.COMMITTER.getByName("DB_1");
  const agentsOf = async ({ shard, workspace: { id } }: typeof moved) => {
    const statements = [{ query: "SELECT id FROM agents WHERE workspace_id = ?", values: [id] }];
    // The types of RPC leave out that results of D1 are plain objects.
    const committed = committer.commit({ shard, statements }) as unknown as Promise<D1Result<{ id: string }>[]>;
    return (await committed)[0]!.results;
  };
  // The second and the third wait for the first, and are then one group.
  const [, ofMoved, ofStaying] = await Promise.all([agentsOf(moved), agentsOf(moved), agentsOf(staying)]);
  expect([ofMoved, ofStaying]).toEqual([[{ id: moved.agent.id }], [{ id: staying.agent.id }]]);
});

test("the copies of a workspace whose import is not finished are erased like others", async () => {
  const { shard, workspace, ask: askAgain } = await prepare();
  await askAgain();
  await env.DB.prepare("DELETE FROM workspaces WHERE id = ?").bind(workspace.id).run();
  const begin = "INSERT INTO workspace_imports (workspace_id, export_id, created_at) VALUES (?, 'x', 1)";
  await env.DB.prepare(begin).bind(workspace.id).run();
  const rows = await rowsIn(env.DB, workspace.id);
  await startMove(env, String(shard), 1, Date.now());
  while (countOf(await rowsIn(env.DB_1, workspace.id)) < 2) await continueStep();
  while (!(await cancelMove(env, new Meter(), 1, Date.now())));
  expect(countOf(await rowsIn(env.DB_1, workspace.id))).toBe(0);
  await move(shard, "DB_1");
  expect(await rowsIn(env.DB_1, workspace.id)).toEqual(rows);
  await sweepFormerShards();
  expect(countOf(await rowsIn(env.DB, workspace.id))).toBe(0);
  expect(countOf(await rowsIn(env.DB_1, workspace.id))).toBe(countOf(rows));
});

/** Adds empty workspaces of a shard to a database. */
async function addWorkspaces(database: D1Database, shard: number, count: number): Promise<void> {
  const add =
    "INSERT INTO workspaces (id, name, slug, plan, created_at, updated_at) SELECT value, 'Empty', value, 'free', 1, 1 FROM json_each(?)";
  const ids = Array.from({ length: count }, () => newId(shard, Date.now()));
  await database.prepare(add).bind(JSON.stringify(ids)).run();
}

/** Runs something that erases copies until it is done. Each time it may take as many statements as the platform allows an invocation. */
async function runWithin1000Statements(run: (env: Env) => Promise<boolean>): Promise<void> {
  for (let isDone = false; !isDone;) {
    let statements = 0;
    const counted = (database: D1Database) => ({
      prepare: (text: string) => {
        statements++;
        return database.prepare(text);
      },
      batch: (batch: D1PreparedStatement[]) => database.batch(batch),
    });
    isDone = await run(envWith({ DB: counted(env.DB), DB_1: counted(env.DB_1) }));
    expect(statements).toBeLessThan(1_000);
  }
}

test("cancelling a move of many shards takes no more statements than the platform allows", async () => {
  const map = env.SHARD_MAP;
  Reflect.set(env, "SHARD_MAP", `${map}, 32-255=DB`);
  await startMove(env, "32-255", 1, Date.now());
  Reflect.set(env, "SHARD_MAP", map);
  await addWorkspaces(env.DB_1, 32, 10);
  await addWorkspaces(env.DB_1, 255, 10);
  await runWithin1000Statements(async (counted) => (await cancelMove(counted, new Meter(), 1, Date.now()))!);
  const left = "SELECT count(*) AS n FROM workspaces WHERE name = 'Empty'";
  expect(await env.DB_1.prepare(left).first("n")).toBe(0);
  const arriving = "SELECT count(*) AS n FROM shard_moves WHERE state = 'arriving'";
  expect(await env.DB_1.prepare(arriving).first("n")).toBe(0);
});

test("erasing former shards takes no more statements than the platform allows", async () => {
  const shards = [253, 254, 255];
  for (const shard of shards) {
    await addWorkspaces(env.DB, shard, 7);
    const left = "INSERT OR REPLACE INTO shard_moves (shard, state, other, left_at) VALUES (?, 'left', 1, 0)";
    await env.DB.prepare(left).bind(shard.toString(16)).run();
  }
  await runWithin1000Statements(async (counted) => {
    await sweepDatabase(counted, 0, Date.now() + DAY_MS + 60_000);
    return (await countFormer(env.DB)) === 0;
  });
  expect(await env.DB.prepare("SELECT count(*) AS n FROM workspaces WHERE name = 'Empty'").first("n")).toBe(0);
});

test("the cron and the audit log leave a copy alone that another database serves", async () => {
  const { shard, workspace } = await prepare();
  const audited = async () => (await operate("GET", `/audit?workspace_id=${workspace.id}`)).total;
  const entries = await audited();
  await move(shard, "DB_1");
  expect(await audited()).toBe(entries);
  expect((await operate("GET", "/audit?limit=100")).data.filter((entry: any) => entry.workspace_id === workspace.id)).toHaveLength(entries);
  const rows = await rowsIn(env.DB, workspace.id);
  await env.DB.prepare("UPDATE sources SET status = 'pending', updated_at = 0 WHERE workspace_id = ?").bind(workspace.id).run();
  const sent: string[] = [];
  const sendBatch = async (messages: { body: { sourceId: string } }[]) => void sent.push(...messages.map(({ body }) => body.sourceId));
  await sweep({ ...env, INGESTION_QUEUE: { sendBatch } } as unknown as Env, Date.now());
  expect(sent.filter((id) => rows["sources"]!.some((row) => row.includes(id)))).toEqual([]);
});

test("if a migration drops the triggers of changes, the copying starts again", async () => {
  const { shard, workspace, ask: askAgain } = await prepare();
  await startMove(env, String(shard), 1, Date.now());
  while (countOf(await rowsIn(env.DB_1, workspace.id)) === 0) await continueStep();
  await env.DB.prepare("DROP TRIGGER moving_conversations_insert").run();
  await askAgain();
  await finish("DB_1");
  expect((await workspace.call("GET", "/conversations")).body.total).toBe(1);
  expect((await rowsIn(env.DB_1, workspace.id))["messages"]).toHaveLength(2);
});

test.each([
  ["a database that is not bound", "DB_7", "10", 409],
  ["the database that they are in", "DB", "31", 409],
  ["several databases at once", "DB_1", "1-11", 409],
  ["a name that is not a database's", "OTHER", "10", 422],
  ["shards that there are not", "DB_1", "200-300", 422],
])("a move to %s is refused", async (_, binding, shards, status) => {
  const answer = await send("PUT", `/operator/v1/databases/${binding}/shard-move`, { token: env.OPERATOR_TOKEN, body: { shards } });
  expect(answer.status).toBe(status);
});

test("a database of another region is refused, since objects stay in their region", async () => {
  const regions = env.DATABASE_REGIONS;
  Reflect.set(env, "DATABASE_REGIONS", "0=weur, 1=enam");
  await expect(startMove(env, "31", 1, Date.now())).rejects.toThrow("different regions");
  Reflect.set(env, "DATABASE_REGIONS", regions);
  expect(await cancelMove(env, new Meter(), 1, Date.now())).toBeUndefined();
});

test("the list of databases says what each serves, and what the map says", async () => {
  const { shard } = await prepare();
  await move(shard, "DB_1");
  const { data } = await operate("GET", "/databases");
  expect(data.map(({ binding }: any) => binding)).toEqual(["DB", "DB_1"]);
  const served = data[1].shards.split(", ").flatMap((range: string) => readShards(range));
  expect(served).toContain(shard);
  expect(data[1].mapped_shards).toBe("1");
  expect(data[0].former_shards).not.toBe("");
});
