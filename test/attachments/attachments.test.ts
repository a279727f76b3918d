import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { readContent, removeContents, putContent, readPart, PART_BYTES, eraseContents } from "../../src/attachments/contents.ts";
import { mintFileToken } from "../../src/attachments/links.ts";
import { API_OWNER, listTakable } from "../../src/attachments/store.ts";
import { newOperation } from "../../src/platform/db/client.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { sweepDatabase } from "../../src/sweep/sweep.ts";
import {
  createAgent,
  createKey,
  createNeighbour,
  createWorkspace,
  envWith,
  fileForm,
  learn,
  operate,
  PNG,
  query,
  send,
  type Workspace,
} from "../harness.ts";
import { HANDBOOK } from "../chat/handbook.ts";
import { createWidget, type Visitor } from "../widget/widget.ts";

const HOUR_MS = 60 * 60_000;

/** Uploads a file, which must succeed. */
async function upload(workspace: Workspace, content: string | Uint8Array<ArrayBuffer> = PNG, name = "photo.png"): Promise<any> {
  const answer = await workspace.call("POST", "/attachments", fileForm(content, {}, name));
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body;
}

const pathOf = (url: string) => new URL(url).pathname;

async function createChat() {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  await learn(workspace, agent.id, HANDBOOK);
  const ask = (body: object) => workspace.call("POST", `/agents/${agent.id}/messages`, { message: "When are refunds paid?", ...body });
  return { workspace, agent, ask };
}

test("a question and a reply carry files, and everyone who reads them gets signed addresses", async () => {
  const { workspace, agent, ask } = await createChat();
  const [one, two] = [await upload(workspace), await upload(workspace, "Line\n", "log.html")];
  expect(one).toEqual({
    id: expect.any(String),
    name: "photo.png",
    type: "image/png",
    size: 12,
    url: expect.stringContaining("/widget/v1/attachments/at_"),
    expires_at: expect.any(String),
  });
  const asked = await ask({ attachments: [two.id, one.id] });
  expect(asked.status).toBe(200);
  const id = asked.body.conversation_id;
  const reply = await upload(workspace, "%PDF-1.7\n", "invoice");
  const replied = await workspace.call("POST", `/conversations/${id}/messages`, { content: "Here it is.", attachments: [reply.id] });
  expect(replied.body.attachments).toEqual([{ ...reply, name: "invoice.pdf", type: "application/pdf" }]);
  const { body } = await workspace.call("GET", `/conversations/${id}`);
  expect(body.messages.map(({ attachments }: any) => attachments.map(({ name }: any) => name))).toEqual([
    ["log.html.txt", "photo.png"],
    [],
    ["invoice.pdf"],
  ]);
  expect((await workspace.call("GET", `/conversations/${id}/messages`)).body.data[0].attachments).toEqual(body.messages[0].attachments);
  const [plan, first] = [await upload(workspace), { agent_id: agent.id, channel: "api", content: "Here is the plan." }];
  const started = await workspace.call("POST", "/conversations", { ...first, attachments: [plan.id] });
  expect(started.body.messages[0].attachments).toEqual([plan]);
  expect((await workspace.call("GET", `/attachments/${one.id}`)).body).toEqual(one);
  const taken = await query(workspace.id, "SELECT expires_at, conversation_id FROM attachments WHERE workspace_id = ?", workspace.id);
  expect(taken).toEqual([
    { expires_at: null, conversation_id: id },
    { expires_at: null, conversation_id: id },
    { expires_at: null, conversation_id: id },
    { expires_at: null, conversation_id: started.body.id },
  ]);
});

test("a file is served with a strict policy, images in place and others as downloads, until its address ends", async () => {
  const { workspace } = await createChat();
  const image = await upload(workspace, PNG, 'a "b"/ü.png');
  const served = await send("GET", pathOf(image.url));
  expect(served.status).toBe(200);
  const headers = (names: string[]) => Object.fromEntries(names.map((name) => [name, served.headers.get(name)]));
  expect(
    headers(["Content-Type", "Content-Security-Policy", "X-Content-Type-Options", "Content-Disposition", "Cross-Origin-Resource-Policy"]),
  ).toEqual({
    "Content-Type": "image/png",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Content-Disposition": "inline; filename=\"_.png\"; filename*=UTF-8''%C3%BC.png",
    "Cross-Origin-Resource-Policy": "cross-origin",
  });
  const text = await send("GET", pathOf((await upload(workspace, "alert(1)", "x.js")).url));
  expect(text.body).toBe("alert(1)");
  expect(text.headers.get("Content-Type")).toBe("text/plain; charset=utf-8");
  expect(text.headers.get("Content-Disposition")).toBe("attachment; filename=\"x.js.txt\"; filename*=UTF-8''x.js.txt");
  const ended = await mintFileToken(image.id, Date.now() - 1, env.KEY_SECRET);
  const forged = await mintFileToken(image.id, Date.now() + HOUR_MS, "another secret");
  const unknown = await mintFileToken(crypto.randomUUID().slice(0, -2) + image.id.slice(-2), Date.now() + HOUR_MS, env.KEY_SECRET);
  for (const token of [ended, forged, unknown, "at_", "x"]) expect((await send("GET", `/widget/v1/attachments/${token}`)).status).toBe(404);
  await operate("DELETE", `/workspaces/${workspace.id}`);
  expect((await send("GET", pathOf(image.url))).status).toBe(404);
});

test.each([
  ["JPEG", new Uint8Array([0xff, 0xd8, 0xff, 0xe0]), "image/jpeg"],
  ["GIF", new TextEncoder().encode("GIF89a<script>"), "image/gif"],
  ["WebP", new TextEncoder().encode("RIFFxxxxWEBPVP8 "), "image/webp"],
  ["text with an arrow", new TextEncoder().encode("< 5 items"), "text/plain"],
  ["HTML", new TextEncoder().encode("  <!doctype html><script>"), undefined],
  ["HTML after a mark", new TextEncoder().encode("\u{feff}\n<html >"), undefined],
  ["SVG", new TextEncoder().encode("<svg onload=alert(1)>"), undefined],
  ["XML", new TextEncoder().encode('<?xml version="1.0"?><svg/>'), undefined],
  ["an element of one letter", new TextEncoder().encode("<b>x</b>"), undefined],
  ["a program", new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 1]), undefined],
  ["broken UTF-8", new Uint8Array([0x61, 0xc3]), undefined],
  ["RIFF of another kind", new TextEncoder().encode("RIFFxxxxWAVE\0"), undefined],
])("the bytes of a file decide its type: %s", async (_, bytes, type) => {
  const workspace = await createWorkspace();
  const { status, body } = await workspace.call("POST", "/attachments", fileForm(Uint8Array.from(bytes), {}, "photo.png"));
  expect([status, body.type]).toEqual(type ? [201, type] : [422, undefined]);
  if (!type) expect(body.detail[0].loc).toEqual(["body", "file"]);
});

test("a message takes only files that are its sender's and that no other message has", async () => {
  const { workspace, agent, ask } = await createChat();
  const neighbour = await createNeighbour(workspace);
  const [file, foreign, used] = [await upload(workspace), await upload(neighbour), await upload(workspace)];
  const first = await ask({ attachments: [used.id] });
  const id = first.body.conversation_id;
  const refused = async (attachments: unknown[], at: (string | number)[]) => {
    for (const { status, body } of [
      await ask({ attachments }),
      await ask({ attachments, conversation_id: id }),
      await workspace.call("POST", `/conversations/${id}/messages`, { content: "Hello", attachments }),
      await workspace.call("POST", "/conversations", { agent_id: agent.id, channel: "api", content: "Hello", attachments }),
    ]) {
      expect(status, JSON.stringify(body)).toBe(422);
      expect(body.detail[0].loc).toEqual(["body", "attachments", ...at]);
    }
  };
  await refused([file.id, foreign.id], [1]);
  await refused([used.id], [0]);
  await refused([crypto.randomUUID()], [0]);
  await refused([file.id, file.id], []);
  await refused(
    Array.from({ length: 6 }, () => crypto.randomUUID()),
    [],
  );
  expect((await workspace.call("GET", `/conversations/${id}`)).body.message_count).toBe(2);
  expect((await workspace.call("GET", `/attachments/${foreign.id}`)).status).toBe(404);
  await query(workspace.id, "UPDATE attachments SET expires_at = 1 WHERE id = ?", file.id);
  await refused([file.id], [0]);
});

test("a visitor's file is the visitor's alone, and counts against the visitors' limits", async () => {
  const { workspace, agent, visitor } = await createWidget({ limits: { visitor_attachments_per_day: 3 } });
  const uploadAs = (who: Visitor, fields: Record<string, string> = {}) =>
    who.send("POST", `/agents/${agent.id}/attachments`, fileForm(PNG, fields));
  const [ann, ben] = [visitor(), visitor()];
  // Ann uploads before she has a token.
  const before = await uploadAs(ann);
  expect(before.status, JSON.stringify(before.body)).toBe(201);
  const asked = await ann.write({ attachments: [before.body.id] });
  expect(asked.status).toBe(200);
  const { visitor_token: token, conversation_id: id } = asked.body;
  const file = (await uploadAs(ann, { visitor_token: token })).body;
  const other = (await ben.write({})).body;
  const stolen = await ben.write({ attachments: [file.id], visitor_token: other.visitor_token, conversation_id: other.conversation_id });
  expect([stolen.status, stolen.body.detail?.[0].loc]).toEqual([422, ["body", "attachments", 0]]);
  expect((await ben.write({ attachments: [file.id] })).status).toBe(422);
  expect((await workspace.call("POST", `/conversations/${id}/messages`, { content: "Hi", attachments: [file.id] })).status).toBe(422);
  const team = await upload(workspace);
  expect((await ann.write({ attachments: [team.id], visitor_token: token })).status).toBe(422);
  await workspace.call("POST", `/conversations/${id}/messages`, { content: "Look", attachments: [team.id] });
  const sent = await ann.write({ attachments: [file.id], visitor_token: token, conversation_id: id });
  expect(sent.status).toBe(200);
  const { data } = (await ann.on(token, id, "GET", "messages")).body;
  expect(data.map(({ attachments }: any) => attachments.length)).toEqual([1, 0, 1, 1]);
  expect((await send("GET", pathOf(data[2].attachments[0].url))).status).toBe(200);
  expect((await uploadAs(ben)).status).toBe(201);
  const full = await uploadAs(ben);
  expect([full.status, full.body.error.code]).toEqual([429, "rate_limited"]);
  expect((await workspace.call("GET", "/usage")).body.usage.visitor_attachments_today).toBe(3);
});

test("the files of a workspace take no more space than its plan allows, and visitors leave a fifth of it", async () => {
  const { workspace, agent, visitor } = await createWidget({ limits: { attachments_mb: 1 } });
  const large = new Uint8Array(600 * 1024);
  large.set(PNG);
  await upload(workspace, large);
  const refused = await workspace.call("POST", "/attachments", fileForm(large));
  expect([refused.status, refused.body.error.code]).toEqual([403, "plan_required"]);
  const rest = new Uint8Array(250 * 1024);
  rest.set(PNG);
  expect((await visitor().send("POST", `/agents/${agent.id}/attachments`, fileForm(rest))).status).toBe(403);
  await upload(workspace, rest);
  expect((await workspace.call("GET", "/usage")).body.usage.attachments_mb).toBeCloseTo(0.84, 1);
});

test("a file of 10 MB is stored and read back, and a larger one is refused", async () => {
  const workspace = await createWorkspace();
  const bytes = new Uint8Array(10 * 1024 * 1024);
  bytes.set(PNG);
  bytes[bytes.length - 1] = 7;
  const { url } = await upload(workspace, bytes);
  const served = await send("GET", pathOf(url));
  expect(served.headers.get("Content-Length")).toBe(String(bytes.length));
  expect((await workspace.call("POST", "/attachments", fileForm(new Uint8Array(bytes.length + 1)))).status).toBe(413);
});

test("files that no message took in time are deleted with their bytes", async () => {
  const { workspace, ask } = await createChat();
  const [unused, used] = [await upload(workspace), await upload(workspace)];
  await ask({ attachments: [used.id] });
  await query(workspace.id, "UPDATE attachments SET expires_at = 1 WHERE id = ?", unused.id);
  const database = Number(workspace.id.slice(-2));
  await sweepDatabase(env, database, Date.now());
  expect((await workspace.call("GET", `/attachments/${unused.id}`)).status).toBe(404);
  const owner = { env, meter: new Meter(), workspaceId: workspace.id };
  expect(await readContent(owner, unused.id)).toBeNull();
  expect(await readContent(owner, used.id)).toEqual(PNG);
});

test("no message takes a file that the sweep is deleting, and the next run deletes it if this one fails", async () => {
  const { workspace } = await createChat();
  const { id } = await upload(workspace);
  await query(workspace.id, "UPDATE attachments SET expires_at = 1 WHERE id = ?", id);
  const database = Number(workspace.id.slice(-2));
  const remove = () => Promise.reject(new Error("the object is overloaded"));
  await sweepDatabase(envWith({ FILES: { getByName: () => ({ remove }) } }), database, Date.now());
  expect((await workspace.call("GET", `/attachments/${id}`)).status).toBe(200);
  const { db } = newOperation(env, new Meter(), workspace.id);
  // A message that was sent before the file expired.
  const taking = { workspaceId: workspace.id, messageId: "m", ids: [id], owners: [API_OWNER], nowMs: 0 };
  expect(await db.batch([listTakable(db, taking)])).toEqual([[]]);
  await sweepDatabase(env, database, Date.now() + 2 * 60_000);
  expect((await workspace.call("GET", `/attachments/${id}`)).status).toBe(404);
});

test("the erasure of a person deletes the files of their conversations, and their export names them", async () => {
  const { workspace, ask } = await createChat();
  const [hers, his] = [await upload(workspace), await upload(workspace)];
  await ask({ attachments: [hers.id], user: { id: "ann" } });
  await ask({ attachments: [his.id], user: { id: "ben" } });
  const exported = await workspace.call("GET", "/privacy/export?external_id=ann");
  const [message] = exported.body.conversations[0].messages;
  expect((await send("GET", pathOf(message.attachments[0].url))).status).toBe(200);
  const { body } = await workspace.call("DELETE", "/privacy/visitors?external_id=ann");
  expect(body.deleted.attachments).toBe(1);
  expect((await send("GET", pathOf(hers.url))).status).toBe(404);
  expect(await readContent({ env, meter: new Meter(), workspaceId: workspace.id }, hers.id)).toBeNull();
  expect((await send("GET", pathOf(his.url))).status).toBe(200);
});

test("the erasure of a person deletes files that the person uploaded and did not send", async () => {
  const { workspace, agent, visitor } = await createWidget();
  const [ann, ben] = [visitor(), visitor()];
  const uploadWithToken = async (who: Visitor) => {
    const { visitor_token } = (await who.write({})).body;
    return (await who.send("POST", `/agents/${agent.id}/attachments`, fileForm(PNG, { visitor_token }))).body;
  };
  const [hers, his] = [await uploadWithToken(ann), await uploadWithToken(ben)];
  const [first] = await query<{ anon_id: string }>(
    workspace.id,
    "SELECT anon_id FROM visitors WHERE workspace_id = ? ORDER BY id",
    workspace.id,
  );
  const { body } = await workspace.call("DELETE", `/privacy/visitors?anon_id=${first!.anon_id}`);
  expect(body.deleted).toMatchObject({ visitors: 1, attachments: 1 });
  expect((await send("GET", pathOf(hers.url))).status).toBe(404);
  expect(await readContent({ env, meter: new Meter(), workspaceId: workspace.id }, hers.id)).toBeNull();
  expect((await send("GET", pathOf(his.url))).status).toBe(200);
});

test("a bucket stores the files where it is bound, and files from before are still found", async () => {
  const { id: workspaceId } = await createWorkspace();
  const inObject = { env, meter: new Meter(), workspaceId };
  const inBucket = { ...inObject, env: envWith({ ATTACHMENTS: env.TEST_BUCKET }) };
  const bytes = new Uint8Array(PART_BYTES + 3).fill(5);
  await putContent(inObject, "old", [PNG.slice()]);
  await putContent(inBucket, "new", [bytes.subarray(0, 9), bytes.subarray(9)]);
  expect(await readContent(inObject, "new")).toBeNull();
  expect(await readContent(inBucket, "new")).toEqual(bytes);
  expect(await readPart(inBucket, "new", 1)).toEqual(new Uint8Array([5, 5, 5]));
  expect(await readContent(inBucket, "old")).toEqual(PNG);
  await removeContents(inBucket, ["new"]);
  expect(await readContent(inBucket, "new")).toBeNull();
  await putContent(inBucket, "next", [bytes.slice()]);
  await eraseContents(inBucket);
  expect([await readContent(inBucket, "next"), await readContent(inBucket, "old")]).toEqual([null, null]);
});

test("either scope lets a key upload, and a repeated request uploads once", async () => {
  const workspace = await createWorkspace();
  const { key } = await createKey(workspace, ["chat:write"]);
  const again = () => send("POST", "/api/v1/attachments", { token: key, body: fileForm(PNG), headers: { "Idempotency-Key": "one" } });
  const [first, second] = [await again(), await again()];
  expect([first.status, second.body.id]).toEqual([201, first.body.id]);
  const other = await createKey(workspace, ["conversations:read"]);
  expect((await send("POST", "/api/v1/attachments", { token: other.key, body: fileForm(PNG) })).status).toBe(403);
});
