import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { importRecords } from "../../src/backup/import.ts";
import { createProgress, type Header, toCursor } from "../../src/backup/wire.ts";
import { newId } from "../../src/platform/db/ids.ts";
import { type Answer, createAgent, createNeighbour, createWorkspace, envWith, newAddress, query, send } from "../harness.ts";
import {
  complete,
  eraseWhole,
  type ExportFile,
  exportWorkspace,
  finishErasure,
  importFile,
  importOperation,
  type Line,
  sendRecords,
} from "./file.ts";
import { createFullWorkspace, type FullWorkspace, rowsOf } from "./full-workspace.ts";

let workspace: FullWorkspace;
let file: ExportFile;

beforeAll(async () => {
  workspace = await createFullWorkspace(0);
  file = await exportWorkspace(workspace.id);
});
beforeEach(() => eraseWhole(workspace.id));

const find = (type: string): Line => structuredClone(file.records.find((line) => line.type === type)!);

/** A record of a type with some columns changed. */
function changed(type: string, changes: Record<string, unknown>): Line {
  const line = find(type);
  return { type, record: { ...line.record, ...changes } };
}

async function refusalOf(answer: Promise<Answer>): Promise<string> {
  const { status, body } = await answer;
  const items = (body.detail ?? []).map((item: { loc: unknown[]; msg: string }) => `${item.loc.join(".")}: ${item.msg}`);
  return [status, body.error.message, ...items].join(" ");
}

const isUntouched = async () => Object.values(await rowsOf(workspace.id)).every((rows) => rows.length === 0);

describe("a record that is refused before anything is written", () => {
  test.each<[string, (line: (type: string, changes: Record<string, unknown>) => Line) => Line, string]>([
    ["an unknown type", () => ({ type: "shards", record: {} }), "records.0.type"],
    ["an unknown column", (line) => line("messages", { extra: 1 }), "records.0.record"],
    ["a missing column", (line) => line("messages", { content: undefined }), "records.0.record.content"],
    ["a value of another type", (line) => line("messages", { created_at: "now" }), "records.0.record.created_at"],
    ["a time beyond all dates", (line) => line("workspaces", { created_at: Number.MAX_SAFE_INTEGER }), "records.0.record.created_at"],
    ["a time before all dates", (line) => line("leads", { created_at: -Number.MAX_SAFE_INTEGER }), "records.0.record.created_at"],
    ["a value outside its enum", (line) => line("messages", { role: "root" }), "records.0.record.role"],
    ["null in a required column", (line) => line("messages", { content: null }), "records.0.record.content"],
    ["an object instead of a list", (line) => line("conversations", { tags: "{}" }), "records.0.record.tags"],
    ["invalid JSON", (line) => line("agents", { tools: "[" }), "records.0.record.tools"],
    [
      "a record of another workspace",
      (line) => line("messages", { workspace_id: newId(0, Date.now()) }),
      "is not the workspace of the header",
    ],
    ["an identifier of another shard", (line) => line("sources", { id: newId(1, Date.now()) }), "names another shard"],
    ["an invalid identifier", (line) => line("sources", { id: "x" }), "records.0.record.id"],
    ["another workspace's own record", (line) => line("workspaces", { id: newId(0, Date.now()) }), "is not the workspace of the header"],
    ["the workspace with another slug", (line) => line("workspaces", { slug: "other" }), "is not the slug of the header"],
    ["a deleted workspace", (line) => line("workspaces", { deleted_at: 1 }), "must be null"],
  ])("%s", async (_, make, message) => {
    const refusal = await refusalOf(sendRecords(file, [make(changed)]));
    expect(refusal).toMatch(/^422/);
    expect(refusal).toContain(message);
    expect(await isUntouched()).toBe(true);
  });

  test("the error does not repeat the content of the record", async () => {
    const { body } = await sendRecords(file, [changed("messages", { content: ["private words"], role: "root" })]);
    expect(JSON.stringify(body)).not.toContain("private words");
  });
});

describe("an import", () => {
  describe("of a file that refers to another workspace", () => {
    test("changes nothing in it, neither by identifiers nor through triggers and objects", async () => {
      const victim = await createFullWorkspace(0);
      const theirs = await exportWorkspace(victim.id);
      const idOf = (type: string) => theirs.records.find((line) => line.type === type)!.record["id"] as string;
      const before = await rowsOf(victim.id);
      const id = newId(0, Date.now());
      const attempts = [
        changed("messages", { id, conversation_id: idOf("conversations") }),
        changed("handoffs", { id, conversation_id: idOf("conversations") }),
        changed("sources", { id, agent_id: idOf("agents") }),
        changed("answers", { id, agent_id: idOf("agents") }),
        changed("deliveries", { id, webhook_id: idOf("webhook_endpoints") }),
        changed("delivery_attempts", { delivery_id: idOf("deliveries"), number: 9 }),
        changed("conversations", { id, visitor_id: idOf("visitors") }),
        ...["messages", "conversations", "agents", "api_keys", "sources", "visitors"].map((type) => changed(type, { id: idOf(type) })),
      ];
      for (const attempt of attempts) expect(await refusalOf(sendRecords(file, [attempt]))).toMatch(/^409 .*another workspace's/);
      const knowledge = theirs.records.find(({ type }) => type === "knowledge");
      expect(await refusalOf(sendRecords(file, [knowledge!]))).toMatch(/^422 .*no agent/);
      expect(await rowsOf(victim.id)).toEqual(before);
      expect((await exportWorkspace(victim.id)).end).toEqual(theirs.end);
    });

    test("is refused if the workspace exists with its own content", async () => {
      const victim = await createWorkspace();
      const header = { ...file.header, workspace_id: victim.id };
      const forged = { ...file, header };
      const before = await rowsOf(victim.id);
      expect(await refusalOf(sendRecords(forged, []))).toMatch(/^409 The workspace already exists/);
      expect(await refusalOf(complete(forged))).toMatch(/^409 The workspace already exists/);
      expect(await rowsOf(victim.id)).toEqual(before);
      const path = `/operator/v1/workspaces/${victim.id}/import`;
      const body = { header: file.header, records: [] };
      expect(await refusalOf(send("POST", path, { token: env.OPERATOR_TOKEN, body }))).toMatch(/^422 .*not the workspace of the path/);
      expect(await refusalOf(send("DELETE", path, { token: env.OPERATOR_TOKEN }))).toMatch(
        /^404 No import of this workspace is in progress/,
      );
    });

    test("cannot claim a slug or a mail address of another workspace", async () => {
      const other = await createNeighbour(workspace);
      const { email_address: address } = find("agents").record;
      onTestFinished(() => eraseWhole(other.id));
      await createAgent(other, { email_address: address });
      expect(await refusalOf(sendRecords(file, [find("agents")]))).toMatch(/^409 Another agent has the mail address/);
      const taken = { ...file, header: { ...file.header, export_id: crypto.randomUUID(), workspace_id: newId(0, Date.now()) } };
      expect(await refusalOf(sendRecords(taken, []))).toMatch(/^409 Another workspace has the slug/);
    });
  });

  test("has one slug in the end, whatever earlier requests claimed", async () => {
    const slugsOf = () => query(workspace.id, "SELECT slug FROM workspace_directory WHERE workspace_id = ?", workspace.id);
    const { slug } = file.header;
    await query(workspace.id, "INSERT INTO workspace_directory (workspace_id, slug, shard) VALUES (?, 'left-behind', 0)", workspace.id);
    await sendRecords(file, file.records.slice(0, 1));
    expect(await slugsOf()).toEqual([{ slug }]);
    const renamed = { ...file, header: { ...file.header, slug: `${slug}-2` } };
    await sendRecords(renamed, [changed("workspaces", { slug: `${slug}-2` })]);
    expect(await refusalOf(complete(file))).toMatch(/^409 .*does not have the slug of the header/);
    await importFile(file);
    expect(await slugsOf()).toEqual([{ slug }]);
  });

  test("a file of another schema, format or unbound shard is refused", async () => {
    const withHeader = (changes: object) => sendRecords({ ...file, header: { ...file.header, ...changes } }, []);
    expect(await refusalOf(withHeader({ schema: "0123456789abcdef" }))).toMatch(/^422 .*with the version of the service that exported it/);
    expect(await refusalOf(withHeader({ format: 2 }))).toMatch(/^422 .*header.format/);
    const elsewhere = { ...file, header: { ...file.header, workspace_id: newId(7, Date.now()) } };
    expect(await refusalOf(sendRecords(elsewhere, []))).toMatch(/^422 .*belongs to shard 7.*SHARD_MAP/);
  });

  test("knowledge that matches no table is refused", async () => {
    await sendRecords(file, [find("agents")]);
    const line = find("knowledge");
    for (const changes of [{ table: "sqlite_master" }, { row: { ...line.record["row"], extra: 1 } }, { row: {} }]) {
      expect(await refusalOf(sendRecords(file, [changed("knowledge", changes)]))).toMatch(/^422/);
    }
  });

  test("a workspace stays invisible until it equals the export", async () => {
    expect(await refusalOf(complete(file))).toMatch(/^409 .*own record was not sent/);
    const message = file.records.findIndex(({ type }) => type === "messages");
    const forged = file.records.with(message, changed("messages", { content: "Something else" }));
    const missing = forged.filter(({ type }) => type !== "leads");
    await sendRecords(file, missing);
    expect(await refusalOf(complete(file))).toMatch(/^409 .*\(leads: 0 of 1\)/);
    await sendRecords(file, forged);
    expect(await refusalOf(complete(file))).toMatch(/^409 .*contents of some records differ/);
    expect((await workspace.call("GET", "/me", undefined, newAddress())).status).toBe(401);
    await query(
      workspace.id,
      "UPDATE messages SET content = ? WHERE id = ?",
      find("messages").record["content"],
      find("messages").record["id"],
    );
    expect((await complete(file)).body.state).toBe("complete");
  });

  test("another export is refused during an import; after cancelling, all imported records are erased", async () => {
    const agentId = find("agents").record["id"] as string;
    await sendRecords(file, file.records.slice(0, 400));
    const other = { ...file, header: { ...file.header, export_id: crypto.randomUUID() } };
    expect(await refusalOf(sendRecords(other, file.records.slice(0, 9)))).toMatch(/^409 Another export/);
    const path = `/operator/v1/workspaces/${workspace.id}/import`;
    expect((await send("DELETE", path, { token: env.OPERATOR_TOKEN })).status).toBe(204);
    expect(await refusalOf(sendRecords(file, file.records.slice(0, 9)))).toMatch(/^409 .*being erased/);
    const settings = await query(workspace.id, "SELECT limits, retention, prune_at FROM workspaces WHERE id = ?", workspace.id);
    expect(settings).toEqual([{ limits: "{}", retention: "{}", prune_at: null }]);
    expect((await send("DELETE", path, { token: env.OPERATOR_TOKEN })).status).toBe(404);
    await finishErasure(workspace.id);
    expect(await isUntouched()).toBe(true);
    expect(await env.INDEX.getByName(`${workspace.id}/${agentId}`).readDump([])).toEqual({ rows: [], next: null });
    await importFile(other);
    expect((await exportWorkspace(workspace.id)).end).toEqual(file.end);
  });

  test("secrets that the deployment cannot read cause warnings", async () => {
    const header = file.header as Header;
    const op = importOperation(header);
    const moved = envWith({ ENCRYPTION_KEY: "another", KEY_SECRET: "another" });
    const { warnings } = await importRecords({ ...op, env: moved }, header, [find("agents"), find("webhook_endpoints")]);
    expect(warnings).toEqual([expect.stringMatching(/^Stored secrets.*ENCRYPTION_KEY/), expect.stringMatching(/^API keys.*KEY_SECRET/)]);
    const both = envWith({ ENCRYPTION_KEY: `another,${env.ENCRYPTION_KEY}`, KEY_SECRET: `another,${env.KEY_SECRET}` });
    expect(await importRecords({ ...op, env: both }, header, [find("agents")])).toEqual({ state: "importing", warnings: [] });
  });

  test("an export contains no secret in clear text", async () => {
    const text = JSON.stringify(file);
    expect(text).not.toContain("tool secret");
    expect(text).not.toContain(workspace.key);
    expect(text).toMatch(/whsec_|v1\.[0-9a-f]{8}\./);
    expect(text).not.toContain("whsec_");
  });

  test("only the operator may export and import", async () => {
    const path = `/operator/v1/workspaces/${workspace.id}`;
    for (const [method, action] of [
      ["GET", "export"],
      ["POST", "import"],
      ["POST", "import/complete"],
      ["DELETE", "import"],
    ] as const) {
      for (const token of [undefined, workspace.key, "wrong"]) {
        expect((await send(method, `${path}/${action}`, { token, headers: newAddress() })).status).toBe(401);
      }
    }
  });

  test("a changed cursor, or one of another workspace, is refused", async () => {
    const other = await createWorkspace();
    const forAnother = await toCursor(env, workspace.id, createProgress(crypto.randomUUID()));
    for (const cursor of ["x", "e30", forAnother]) {
      const answer = await send("GET", `/operator/v1/workspaces/${other.id}/export?cursor=${cursor}`, { token: env.OPERATOR_TOKEN });
      expect(answer.status).toBe(422);
    }
  });
});
