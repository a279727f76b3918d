import { env } from "cloudflare:workers";
import { getTableName } from "drizzle-orm";
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { checkImport } from "../../src/backup/import.ts";
import { COUNTS_TABLES, NOT_EXPORTED, ROWS_PARTS } from "../../src/backup/parts.ts";
import { clearCounts } from "../../src/backup/store.ts";
import type { End, Header } from "../../src/backup/wire.ts";
import { newOperation } from "../../src/platform/db/client.ts";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { sweep } from "../../src/sweep/sweep.ts";
import {
  addApproval,
  createAgent,
  createNeighbour,
  createWorkspace,
  deliver,
  fileForm,
  learn,
  listen,
  newAddress,
  operate,
  query,
  send,
} from "../harness.ts";
import { complete, eraseWhole, type ExportFile, exportWorkspace, importFile, importOperation, sendRecords } from "./file.ts";
import { answersOf, createFullWorkspace, type FullWorkspace, rowsOf } from "./full-workspace.ts";

const EXPORTED = [...new Set(ROWS_PARTS.map(({ table }) => getTableName(table)))];
/** Tables that an import counts again. */
const COUNTED = ["conversation_counts", "conversation_spans", "lead_counts", "lead_days", "feedback_days"];
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const YEAR_MS = 365 * DAY_MS;

afterEach(() => {
  vi.useRealTimers();
});

const sorted = (file: ExportFile) => file.records.map((line) => JSON.stringify(line)).sort();

test("every table is exported, or listed with the reason why not", async () => {
  for (const db of [env.DB, env.DB_1]) {
    const hidden = "name NOT LIKE 'sqlite%' AND name NOT LIKE '\\_cf%' ESCAPE '\\' AND name <> 'd1_migrations'";
    const { results } = await db.prepare(`SELECT name FROM sqlite_master WHERE type = 'table' AND ${hidden}`).all<{ name: string }>();
    const known = [...EXPORTED, ...Object.keys(NOT_EXPORTED), "workspaces"];
    expect(known.toSorted()).toEqual(results.map(({ name }) => name).toSorted());
  }
});

describe.each([0, 1])("a workspace of shard %i", (shard) => {
  test("with records of every kind is restored exactly", async () => {
    const workspace = await createFullWorkspace(shard);
    const neighbour = await createNeighbour(workspace);
    const file = await exportWorkspace(workspace.id, 3);
    expect(file.answers).toBeGreaterThan(5);
    expect(Object.keys(file.end["counts"]).toSorted()).toEqual([...EXPORTED, "attachment_file", "knowledge", "workspaces"].toSorted());
    const [answers, rows, others] = [await answersOf(workspace), await rowsOf(workspace.id), await rowsOf(neighbour.id)];
    await eraseWhole(workspace.id);
    expect((await workspace.call("GET", "/me", undefined, newAddress())).status).toBe(401);

    expect(await importFile(file, 20)).toEqual([
      "Stored secrets cannot be read: add the value with the id 00000000 to ENCRYPTION_KEY, after a comma.",
    ]);
    expect(await answersOf(workspace)).toEqual(answers);
    const now = await rowsOf(workspace.id);
    for (const table of EXPORTED) expect([table, now[table]]).toEqual([table, rows[table]]);
    for (const table of COUNTED) expect([table, now[table]]).toEqual([table, rows[table]!.filter((row: any) => row.count !== 0)]);
    const again = await exportWorkspace(workspace.id);
    expect([again.end, sorted(again)]).toEqual([file.end, sorted(file)]);
    expect(await rowsOf(neighbour.id)).toEqual(others);
  });
});

describe("an import", () => {
  let workspace: FullWorkspace;
  let file: ExportFile;
  beforeAll(async () => {
    workspace = await createFullWorkspace(0);
    file = await exportWorkspace(workspace.id);
  });
  beforeEach(() => eraseWhole(workspace.id));

  test("continues after an interruption, and a second one changes nothing", async () => {
    // Once before the counts, which follow the rows, and once among them.
    const countsAt = file.records.findIndex(({ type }) => type === "usage_periods");
    for (const cutAt of [countsAt - 20, countsAt + 2]) {
      for (let at = 0; at < cutAt; at += 30)
        expect((await sendRecords(file, file.records.slice(at, Math.min(at + 30, cutAt)))).status).toBe(200);
    }
    await importFile(file);
    const before = await exportWorkspace(workspace.id);
    expect(before.end).toEqual(file.end);
    // The workspace continues to change, which the file no longer affects.
    await workspace.call("POST", `/agents/${workspace.agentId}/messages`, { message: "When are refunds paid?" });
    await workspace.call("DELETE", "/privacy/visitors?external_id=ann");
    const rows = await rowsOf(workspace.id);
    expect((await sendRecords(file, file.records.slice(0, 400))).body).toMatchObject({ state: "complete" });
    expect((await complete(file)).body).toMatchObject({ state: "complete" });
    expect(await rowsOf(workspace.id)).toEqual(rows);
  });

  test("keeps its counts from a late attempt to clear those of the triggers", async () => {
    const { db } = newOperation(env, new Meter(), workspace.id);
    const key = { workspaceId: workspace.id, exportId: file.header["export_id"] };
    const [first, ...rest] = clearCounts(db, key, 2_000);
    const clearLate = () => db.batch([first!, ...rest]);
    const countsOf = async () => {
      const rows = await rowsOf(workspace.id);
      return COUNTS_TABLES.map((table) => rows[getTableName(table)]);
    };
    for (let at = 0; at < file.records.length; at += 400) await sendRecords(file, file.records.slice(at, at + 400));
    const counts = await countsOf();
    expect(counts.flat().length).toBeGreaterThan(3);
    await clearLate();
    expect(await countsOf()).toEqual(counts);
    expect((await complete(file)).body.state).toBe("complete");
    await clearLate();
    expect(await countsOf()).toEqual(counts);
  });

  test("is compared in bounded steps, and from the start after more records", async () => {
    for (let at = 0; at < file.records.length; at += 500) await sendRecords(file, file.records.slice(at, at + 500));
    const check = () => checkImport(importOperation(file.header as Header), file.header as Header, file.end as End, 4);
    for (let step = 0; step < 3; step++) expect((await check()).state).toBe("checking");
    await sendRecords(file, file.records.slice(0, 1));
    let steps = 1;
    while ((await check()).state !== "complete") steps++;
    expect(steps).toBeGreaterThan(5);
    expect((await exportWorkspace(workspace.id)).end).toEqual(file.end);
  });

  test("shows nothing before it is complete", async () => {
    const { slug } = file.header as { slug: string };
    for (let at = 0; at < file.records.length; at += 500) await sendRecords(file, file.records.slice(at, at + 500));
    expect((await workspace.call("GET", "/me", undefined, newAddress())).body.error.code).toBe("invalid_api_key");
    expect((await send("GET", `/widget/v1/agents/${workspace.agentId}`, { headers: newAddress() })).status).toBe(404);
    const operator = (method: string, path: string, body?: object) =>
      send(method, `/operator/v1${path}`, { token: env.OPERATOR_TOKEN, ...(body && { body }) });
    for (const path of ["", "/agents", "/keys", "/export"])
      expect((await operator("GET", `/workspaces/${workspace.id}${path}`)).status).toBe(404);
    expect((await operator("POST", "/workspaces", { name: "Squatter", slug })).status).toBe(409);
    expect((await operator("DELETE", `/workspaces/${workspace.id}`)).status).toBe(404);
    // The gate does not remember the refusal above: it reads the workspace again once that exists.
    expect((await complete(file)).body).toEqual({ state: "complete", warnings: [] });
    expect((await workspace.call("GET", "/me")).status).toBe(200);
    expect(await operate("GET", `/workspaces/${workspace.id}`)).toMatchObject({ slug });
  });

  test("is skipped by cron, which would prune, send and resolve", async () => {
    for (let at = 0; at < file.records.length; at += 500) await sendRecords(file, file.records.slice(at, at + 500));
    const rows = await rowsOf(workspace.id);
    for (const laterMs of [10 * MINUTE_MS, YEAR_MS]) await sweep(env, Date.now() + laterMs);
    expect(await rowsOf(workspace.id)).toEqual(rows);
    expect((await complete(file)).body.state).toBe("complete");
    await sweep(env, Date.now() + YEAR_MS);
    expect((await rowsOf(workspace.id))["deliveries"]).not.toEqual(rows["deliveries"]);
  });

  test("is left alone by wake-ups from before, which would send, read and fail", async () => {
    for (let at = 0; at < file.records.length; at += 400) await sendRecords(file, file.records.slice(at, at + 400));
    const rowsOfType = (type: string) => file.records.flatMap((line) => (line.type === type ? [line.record] : []));
    const wakeUps: [queue: string, body: object][] = [
      ...rowsOfType("deliveries").map(({ id }): [string, object] => ["deliveries", { deliveryId: id }]),
      ...rowsOfType("deliveries").map(({ id }): [string, object] => ["slow-deliveries", { deliveryId: id }]),
      ...rowsOfType("email_outbox").map(({ message_id: messageId }): [string, object] => ["email", { messageId }]),
    ];
    for (const { id: sourceId, agent_id: agentId } of rowsOfType("sources")) {
      for (const queue of ["ingestion", "crawls", "ingestion-dlq"]) wakeUps.push([queue, { workspaceId: workspace.id, agentId, sourceId }]);
    }
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + DAY_MS });
    for (const [queue, body] of wakeUps) await deliver(`support-agent-${queue}`, body);
    vi.useRealTimers();
    expect((await complete(file)).body.state).toBe("complete");
  });

  test("restores pruned counts, although triggers count the imported rows", async () => {
    await importFile(file);
    await query(workspace.id, "DELETE FROM unanswered_questions WHERE workspace_id = ?", workspace.id);
    await query(workspace.id, "DELETE FROM unanswered_question_days WHERE workspace_id = ?", workspace.id);
    await query(workspace.id, "UPDATE analytics_days SET messages = 77 WHERE workspace_id = ?", workspace.id);
    const pruned = await exportWorkspace(workspace.id);
    expect(pruned.end["counts"]["unanswered_questions"]).toBeUndefined();
    await eraseWhole(workspace.id);
    await importFile(pruned, 25);
    expect((await exportWorkspace(workspace.id)).end).toEqual(pruned.end);
  });
});

test("the totals of lists are right if the workspace was exported while in use", async () => {
  const workspace = await createFullWorkspace(0);
  const file = await exportWorkspace(workspace.id, 4, async () => {
    await workspace.call("POST", `/agents/${workspace.agentId}/messages`, { message: "When are refunds paid?" });
    const path = `/widget/v1/agents/${workspace.agentId}/leads`;
    expect((await send("POST", path, { headers: newAddress(), body: { email: "eve@example.com" } })).status).toBe(201);
  });
  await eraseWhole(workspace.id);
  await importFile(file);
  for (const list of ["/conversations?limit=100", "/conversations?limit=100&updated_since=2020-01-01T00:00:00Z", "/leads?limit=100"]) {
    const { data, total } = (await workspace.call("GET", list)).body;
    expect([list, total]).toEqual([list, data.length]);
  }
});

test("a conversation that gets another visitor during the export is contained once", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const shard = shardOf(workspace.id);
  // More conversations than a page of an export.
  const ids = Array.from({ length: 300 }, (_, at) => ({ id: newId(shard, Date.now() + at), visitor: newId(shard, Date.now() + at) }));
  await query(
    workspace.id,
    `INSERT INTO conversations (id, workspace_id, agent_id, channel, status, visitor_id, last_message_at, created_at, updated_at)
      SELECT value ->> 'id', ?, ?, 'widget', 'resolved', value ->> 'visitor', 1, 1, 1 FROM json_each(?)`,
    workspace.id,
    agent.id,
    JSON.stringify(ids),
  );
  let merged = 0;
  const file = await exportWorkspace(workspace.id, 1, async () => {
    // Of two visitors who sign in, one gets a later visitor and one an earlier.
    merged++;
    const change = "UPDATE conversations SET visitor_id = ? WHERE id = ?";
    await query(workspace.id, change, newId(shard, Date.now() + 1_000_000 + merged), ids[merged]!.id);
    await query(workspace.id, change, newId(shard, Date.now() - 1_000_000 - merged), ids[299 - merged]!.id);
  });
  const exported = file.records.flatMap(({ type, record }) => (type === "conversations" ? [record["id"]] : []));
  expect(exported.toSorted()).toEqual(ids.map(({ id }) => id).toSorted());
  await eraseWhole(workspace.id);
  await importFile(file);
});

test("an export during which curated answers are edited can be imported", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const path = `/agents/${agent.id}/answers`;
  const ids: string[] = [];
  // More text than a page of an export.
  for (let at = 0; at < 80; at++) {
    const { body } = await workspace.call("POST", path, { question: `Question ${at}?`, answer: "x ".repeat(3_900) });
    ids.push(body.id);
  }
  let edited = 0;
  const file = await exportWorkspace(workspace.id, 1, async () => {
    expect((await workspace.call("PATCH", `${path}/${ids[edited++]}`, { answer: "Another answer." })).status).toBe(200);
  });
  await eraseWhole(workspace.id);
  await importFile(file, 50);
});

test("an export during which agents and files are added can be imported", async () => {
  const workspace = await createWorkspace({ limits: { agents: 10 } });
  await createAgent(workspace);
  let pages = 0;
  const file = await exportWorkspace(workspace.id, 1, async () => {
    if (++pages > 8) return;
    const added = await createAgent(workspace);
    await learn(workspace, added.id, "# Refunds\n\nRefunds are paid within five days.");
    expect((await workspace.call("POST", "/attachments", fileForm("A note."))).status).toBe(201);
  });
  await eraseWhole(workspace.id);
  await importFile(file);
  expect((await workspace.call("GET", "/agents")).body.total).toBeGreaterThan(0);
});

test("texts and answers that are added while an export reads the knowledge do not come along", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  await learn(workspace, agent.id, "# Refunds\n\nRefunds are paid within five days.");
  const found = async (q: string) => (await workspace.call("POST", `/agents/${agent.id}/search`, { query: q })).body.data.length;
  let added = 0;
  const file = await exportWorkspace(workspace.id, 1, async () => {
    added++;
    await learn(workspace, agent.id, `# Parking ${added}\n\nParking costs two euros an hour.`);
    const answer = { question: `Are dogs allowed ${added}?`, answer: "Dogs are allowed on a lead." };
    expect((await workspace.call("POST", `/agents/${agent.id}/answers`, answer)).status).toBe(201);
  });
  expect(added).toBeGreaterThan(5);
  await eraseWhole(workspace.id);
  await importFile(file);
  const listed = async (path: string) =>
    (await workspace.call("GET", `/agents/${agent.id}/${path}?limit=100`)).body.data as { id: string }[];
  const ids = [...(await listed("sources")), ...(await listed("answers"))].map(({ id }) => id);
  const { rows } = await env.INDEX.getByName(`${workspace.id}/${agent.id}`).readDump([]);
  const stored = rows.flatMap(({ row }) => [row["source_id"], row["answer_id"]]).filter((id) => id !== undefined);
  expect(new Set(stored)).toEqual(new Set(ids));
  expect(await found("refunds")).toBe(1);
});

test("an export without counts can be imported, although triggers count its records again", async () => {
  const workspace = await createWorkspace();
  const { id } = await listen(workspace);
  await workspace.call("POST", `/webhooks/${id}/test`);
  for (const table of COUNTS_TABLES) await query(workspace.id, `DELETE FROM ${getTableName(table)} WHERE workspace_id = ?`, workspace.id);
  const file = await exportWorkspace(workspace.id);
  await eraseWhole(workspace.id);
  await importFile(file);
  expect((await exportWorkspace(workspace.id)).end).toEqual(file.end);
});

test("a call that waited for an approval has expired after an import, because its turn is not exported", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const { body: told } = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "Refund A1." });
  const of = { agentId: agent.id, conversationId: told.conversation_id, messageId: told.message_id };
  const id = await addApproval(workspace, "pending", of);
  const file = await exportWorkspace(workspace.id);
  await eraseWhole(workspace.id);
  const importedAt = Date.now();
  await importFile(file);
  const { body } = await workspace.call("GET", "/approvals");
  expect(body.data).toMatchObject([{ id, status: "expired" }]);
  expect(Date.parse(body.data[0].decided_at)).toBeGreaterThanOrEqual(importedAt);
  // Importing the file again leaves alone what waits since.
  await addApproval(workspace, "pending", of);
  expect((await complete(file)).body.state).toBe("complete");
  expect((await workspace.call("GET", "/approvals?status=pending")).body.total).toBe(1);
});

test("texts and numbers are restored to the last bit", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const texts = ["a\u0000b", "\u0000", "\\u0000", '"', "\u{1f9d1}\u200d\u{1f373}", "\u2028\ufeff", "", "e\u0301", "x".repeat(60_000)];
  const values = Array.from({ length: 300 }, (_, at) => [texts[at % texts.length], Math.random() / (1 + (at % 7) * 1e4)] as const);
  for (const [at, [text, confidence]] of values.entries()) {
    const columns = "id, workspace_id, conversation_id, role, author_type, content, confidence, created_at";
    const id = `019a9f0e-3c1b-7d42-8a55-${String(at).padStart(10, "0")}${workspace.id.slice(-2)}`;
    await query(
      workspace.id,
      `INSERT INTO messages (${columns}) VALUES (?, ?, ?, 'user', 'visitor', ?, ?, 1)`,
      id,
      workspace.id,
      agent.id,
      text,
      confidence,
    );
  }
  const file = await exportWorkspace(workspace.id, 1);
  expect(file.records.filter(({ type }) => type === "messages")).toHaveLength(values.length);
  await eraseWhole(workspace.id);
  await importFile(file, 60);
  expect((await exportWorkspace(workspace.id)).end).toEqual(file.end);
});
