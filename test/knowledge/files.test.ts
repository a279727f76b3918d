import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { strToU8, zipSync } from "fflate";
import { expect, onTestFinished, test } from "vitest";
import { type IngestionMessage, wakeSources } from "../../src/knowledge/sources.ts";
import { SOURCE_TYPES } from "../../src/platform/db/columns.ts";
import { createAgent, createWorkspace, deliver, envWith, fileForm, query, type Workspace } from "../harness.ts";
import { wrong } from "../platform/http/items.ts";
import wrangler from "../../wrangler.toml?raw";
import { docx, paragraph } from "./extract/docx-file.ts";
import { pdfFile } from "./extract/pdf-file.ts";

const QUEUE = "support-agent-crawls";
const MIB = 1024 * 1024;
/** The binding, which a test may replace. */
const { INDEX } = env;

async function createFixture(settings: Parameters<typeof createWorkspace>[0] = {}) {
  const workspace = await createWorkspace(settings);
  const { id: agentId } = await createAgent(workspace);
  const path = `/agents/${agentId}`;
  const upload = (form: FormData, headers?: Record<string, string>) => workspace.call("POST", `${path}/sources/files`, form, headers);
  const get = async (id: string) => (await workspace.call("GET", `${path}/sources/${id}`)).body;
  return {
    workspace,
    agentId,
    path,
    upload,
    get,
    list: async () => (await workspace.call("GET", `${path}/sources`)).body.data,
    read: async (id: string) => {
      await deliver(QUEUE, { workspaceId: workspace.id, agentId, sourceId: id });
      return get(id);
    },
    found: async (question: string) => (await workspace.call("POST", `${path}/search`, { query: question })).body.data,
    waiting: () => waitingBytes(workspace, agentId),
  };
}

function waitingBytes(workspace: Workspace, agentId: string): Promise<number> {
  return runInDurableObject(INDEX.getByName(`${workspace.id}/${agentId}`), (_, { storage: { sql } }) => {
    const tables = sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'file_parts'").toArray();
    const total = "SELECT coalesce(sum(length(bytes)), 0) AS bytes FROM file_parts";
    return tables.length === 0 ? 0 : sql.exec<{ bytes: number }>(total).one().bytes;
  });
}

const KETTLE = "The kettle costs 40 euros in the shop.";
const FILES: [kind: string, bytes: string | Uint8Array][] = [
  ["text", KETTLE],
  ["Markdown", `---\ntitle: Prices\n---\n# Prices\n\n${KETTLE}`],
  ["HTML", `<!doctype html><title>Prices</title><h1>Prices</h1><p>${KETTLE}</p>`],
  ["CSV", "Product;Price\nkettle;40 euros\ntoaster;25 euros"],
  ["DOCX", docx(paragraph("Prices", '<w:pStyle w:val="berschrift1"/>') + paragraph(KETTLE))],
  ["PDF", pdfFile({ pages: [[{ text: KETTLE, y: 700 }]] })],
];

test.for(FILES)("%s is recognised by its bytes and read, whatever its name says", async ([, bytes]) => {
  const { upload, read, found, waiting } = await createFixture();
  const created = await upload(fileForm(bytes as string, { metadata: '{"region":"eu"}' }, "picture.png"));
  expect(created.status).toBe(202);
  expect(created.body).toMatchObject({
    type: "file",
    name: "picture",
    url: null,
    status: "pending",
    schedule: "manual",
    metadata: { region: "eu" },
  });
  expect(await waiting()).toBeGreaterThan(0);
  expect(await read(created.body.id)).toMatchObject({
    status: "ready",
    pages_indexed: 1,
    chunks_count: 1,
    error: null,
    next_sync_at: null,
  });
  expect(await waiting()).toBe(0);
  const [first] = await found("What does the kettle cost?");
  expect(first).toMatchObject({ source_id: created.body.id, type: "text", title: expect.stringContaining("picture") });
  expect(first.content).toContain("40 euros");
});

test("the name may come before or after the file, and is the title", async () => {
  const { upload } = await createFixture();
  const before = fileForm(KETTLE, { name: "Prices" }, "a.txt");
  const after = fileForm(KETTLE, {}, "a.txt");
  after.append("name", "Prices");
  for (const form of [before, after]) expect((await upload(form)).body.name).toBe("Prices");
});

test("syncing and renaming a file use the text that was extracted", async () => {
  const { workspace, path, upload, read, found } = await createFixture();
  const { id } = (await upload(fileForm(KETTLE))).body;
  await read(id);
  await workspace.call("POST", `${path}/sources/${id}/sync`);
  expect(await read(id)).toMatchObject({ status: "ready" });
  await workspace.call("PATCH", `${path}/sources/${id}`, { name: "Prices" });
  expect(await read(id)).toMatchObject({ status: "ready", name: "Prices" });
  expect((await found("kettle"))[0].title).toBe("Prices");
  const refused = await workspace.call("PATCH", `${path}/sources/${id}`, { text: "Hello" });
  expect(refused.status).toBe(422);
});

test("a file that is renamed before or during its extraction is indexed under the new name", async () => {
  const { workspace, agentId, path, upload, read, found, waiting } = await createFixture();
  const { body: source } = await upload(fileForm(KETTLE, { name: "Draft" }));
  const rename = (name: string) => workspace.call("PATCH", `${path}/sources/${source.id}`, { name });
  expect((await rename("Prices")).status).toBe(200);
  expect(await waiting()).toBeGreaterThan(0);
  // A run that began before the change stores this.
  await env.INDEX.getByName(`${workspace.id}/${agentId}`).stageText(source.id, "Draft", KETTLE, MIB);
  expect(await read(source.id)).toMatchObject({ status: "ready", name: "Prices" });
  expect((await found("What does the kettle cost?"))[0].title).toBe("Prices");

  const { body: other } = await upload(fileForm("The toaster costs 25 euros.", { name: "Draft" }));
  await workspace.call("PATCH", `${path}/sources/${other.id}`, { name: "More prices" });
  expect(await read(other.id)).toMatchObject({ status: "ready", error: null });
  expect((await found("What does the toaster cost?"))[0].title).toBe("More prices");
});

test("a file of several parts is stored whole", async () => {
  const { upload, read, found } = await createFixture();
  const text = `${"All work and no play makes Jack a dull boy. ".repeat(60_000)}\n\nThe okapi lives in the forest.`;
  const created = await upload(fileForm(text));
  expect(created.status).toBe(202);
  expect(await read(created.body.id)).toMatchObject({ status: "ready" });
  expect((await found("Where does the okapi live?"))[0].content).toContain("The okapi lives in the forest.");
});

test.for([
  [
    "a picture",
    Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13]),
    "send a PDF, DOCX, HTML, Markdown, text or CSV file",
  ],
  ["a program", Uint8Array.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0]), "send a PDF, DOCX, HTML, Markdown, text or CSV file"],
  [
    "an old Word document",
    Uint8Array.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1, 0]),
    "send a PDF, DOCX, HTML, Markdown, text or CSV file",
  ],
  ["rich text", "{\\rtf1 Hello}", "send a PDF, DOCX, HTML, Markdown, text or CSV file"],
  ["nothing", "", "the file is empty"],
] as const)("%s is refused, and leaves nothing", async ([, bytes, error]) => {
  const { upload, list, waiting } = await createFixture();
  const refused = await upload(fileForm(bytes, {}, "handbook.pdf"));
  const { input: _, ...item } = wrong("body.file", null, error);
  expect([refused.status, refused.body.detail]).toEqual([422, [item]]);
  expect(await list()).toEqual([]);
  expect(await waiting()).toBe(0);
});

test("all problems of a form are reported together, and nothing is stored", async () => {
  const { upload, list, path, workspace } = await createFixture();
  const form = new FormData();
  form.append("name", "");
  form.append("metadata", "{region: eu}");
  const refused = await upload(form);
  expect(refused.status).toBe(422);
  expect(refused.body.detail).toMatchObject([
    { loc: ["body", "file"], type: "missing" },
    { loc: ["body", "name"], type: "string_too_short" },
    { loc: ["body", "metadata"], type: "dict_type" },
  ]);
  const json = await workspace.call("POST", `${path}/sources/files`, { file: "a" });
  expect(json.body.detail).toMatchObject([{ loc: ["body"], ctx: { error: expect.stringContaining("multipart/form-data") } }]);
  expect(await list()).toEqual([]);
});

test("metadata in a form is checked like that of a JSON body", async () => {
  const { upload } = await createFixture();
  const odd = await upload(fileForm(KETTLE, { metadata: '{"\\ud800":"\\udc00 x"}' }));
  expect(odd.body.metadata).toEqual({ "\ufffd": "\ufffd x" });
  const wrong = await upload(fileForm(KETTLE, { metadata: '{"region":7}' }));
  expect(wrong.body.detail).toMatchObject([{ loc: ["body", "metadata", "region"], type: "string_type" }]);
});

test("a file larger than 20 MB is refused, and leaves nothing", async () => {
  const { upload, list, waiting } = await createFixture();
  const refused = await upload(fileForm("x".repeat(20 * MIB + 1)));
  expect([refused.status, refused.body.error.code]).toEqual([413, "payload_too_large"]);
  expect(await list()).toEqual([]);
  expect(await waiting()).toBe(0);
});

test.for([
  ["an Excel file", zipSync({ "xl/workbook.xml": strToU8("<workbook/>") }), "unsupported_type"],
  ["a damaged PDF", strToU8("%PDF-1.7 and nothing more"), "pdf_damaged"],
  ["an encrypted PDF", pdfFile({ pages: [[{ text: KETTLE, y: 700 }]], encrypted: true }), "pdf_encrypted"],
  ["a zip bomb", docx("", { "word/document.xml": new Uint8Array(60_000_000) }), "docx_too_large"],
  ["more text than a source may hold", docx(paragraph("word ".repeat(1_100_000))), "too_much_text"],
  ["a document without words", docx(""), "text_empty"],
] as const)("%s fails with its reason, and leaves no bytes", async ([, bytes, code]) => {
  const { upload, read, waiting } = await createFixture();
  const created = await upload(fileForm(bytes as Uint8Array<ArrayBuffer>));
  expect(created.status).toBe(202);
  const source = await read(created.body.id);
  expect(source).toMatchObject({ status: "failed", error: { code, message: expect.stringMatching(/\w\.$/) } });
  expect(await waiting()).toBe(0);
});

test("more knowledge than the plan includes fails, and what was there stays", async () => {
  const { upload, read, found } = await createFixture({ limits: { knowledge_mb_per_agent: 1 } });
  await read((await upload(fileForm(KETTLE))).body.id);
  const created = await upload(fileForm("word ".repeat(250_000)));
  expect(await read(created.body.id)).toMatchObject({ status: "failed", error: { code: "knowledge_limit" } });
  expect(await found("kettle")).toHaveLength(1);
});

test("the plan's number of sources holds", async () => {
  const { upload, list } = await createFixture({ limits: { sources: 1 } });
  expect((await upload(fileForm(KETTLE))).status).toBe(202);
  expect((await upload(fileForm(KETTLE))).body.error.code).toBe("plan_required");
  expect(await list()).toHaveLength(1);
});

test("a repeated upload with its key adds one source", async () => {
  const { upload, list } = await createFixture();
  const first = await upload(fileForm(KETTLE), { "Idempotency-Key": "once" });
  const again = await upload(fileForm(KETTLE), { "Idempotency-Key": "once" });
  expect(again.body).toEqual(first.body);
  expect(again.headers.get("Idempotent-Replayed")).toBe("true");
  expect(await list()).toHaveLength(1);
});

test("a deleted source and an interrupted upload leave no bytes", async () => {
  const { workspace, path, upload, waiting, read } = await createFixture();
  const { id } = (await upload(fileForm(KETTLE))).body;
  expect(id).toBeDefined();
  await workspace.call("DELETE", `${path}/sources/${id}`);
  expect(await waiting()).toBe(0);
  const dead = (await upload(fileForm(KETTLE))).body.id;
  await query(dead, "UPDATE sources SET lease_id = 'staging', lease_until = 1 WHERE id = ?", dead);
  await read(dead);
  expect(await waiting()).toBe(0);
});

// --- A reader that is ended ------------------------------------------------------------------------------------------

/** Ends the next readers of files right after they have begun, so many of them. */
function endReaders(count: number): void {
  let left = count;
  const getByName = (name: string) => {
    const stub = INDEX.getByName(name);
    const beginFileRead = async (sourceId: string) => {
      const begun = await stub.beginFileRead(sourceId);
      if (left-- > 0) throw new Error("Worker exceeded CPU time limit.");
      return begun;
    };
    return new Proxy(stub, { get: (_, method) => (method === "beginFileRead" ? beginFileRead : Reflect.get(stub, method)) });
  };
  Reflect.set(env, "INDEX", { getByName });
  onTestFinished(() => void Reflect.set(env, "INDEX", INDEX));
}

test("a file whose reader was ended once is read by the next run", async () => {
  const { workspace, agentId, upload, read, get } = await createFixture();
  const { id } = (await upload(fileForm(KETTLE))).body;
  endReaders(1);
  const { retryMessages } = await deliver(QUEUE, { workspaceId: workspace.id, agentId, sourceId: id });
  expect(retryMessages).toHaveLength(1);
  expect(await get(id)).toMatchObject({ status: "pending", error: null });
  expect(await read(id)).toMatchObject({ status: "ready", chunks_count: 1 });
});

test("a file that ends its reader twice fails with its reason and leaves no bytes, and other sources are read", async () => {
  const { workspace, agentId, upload, read, waiting } = await createFixture();
  const [hostile, harmless] = [(await upload(fileForm(KETTLE))).body.id, (await upload(fileForm(KETTLE))).body.id];
  const wakeUp = (sourceId: string) => ({ workspaceId: workspace.id, agentId, sourceId });
  endReaders(2);
  for (let attempt = 1; attempt <= 2; attempt++) {
    const { retryMessages } = await deliver(QUEUE, wakeUp(hostile), attempt);
    expect(retryMessages).toHaveLength(1);
  }
  expect(await read(harmless)).toMatchObject({ status: "ready" });
  expect(await read(hostile)).toMatchObject({
    status: "failed",
    error: { code: "not_readable", message: expect.stringContaining("split it") },
  });
  expect(await waiting()).toBe(0);
});

test("files are sent to the queue that delivers one message at a time, apart from texts", async () => {
  const sent: Record<string, string[]> = { texts: [], others: [] };
  const queue = (name: string) => ({
    sendBatch: async (messages: { body: IngestionMessage }[]) => void sent[name]!.push(...messages.map(({ body }) => body.sourceId)),
  });
  const sources = SOURCE_TYPES.map((type) => ({ id: type, type, workspaceId: "w", agentId: "a", syncNumber: 1 }));
  await wakeSources(envWith({ INGESTION_QUEUE: queue("texts"), CRAWL_QUEUE: queue("others") }), sources);
  expect(sent).toEqual({ texts: ["text"], others: ["website", "url", "file"] });
  const consumers = wrangler.split("\n\n").filter((section) => section.includes(`queues.consumers]]\nqueue = "${QUEUE}"\n`));
  expect(consumers).toEqual(Array(2).fill(expect.stringContaining("\nmax_batch_size = 1\n")));
});
