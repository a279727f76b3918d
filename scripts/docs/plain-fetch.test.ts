import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { Webhook } from "standardwebhooks";
import { readBlocks } from "./blocks.ts";

// The file of docs/plain-fetch.md where things go wrong: check-docs.ts runs it where all goes well.

interface Support {
  ask: (agent: string, message: string) => Promise<{ answer: string }>;
  stream: (agent: string, message: string) => AsyncIterable<{ event: string; data: { text?: string } }>;
  pages: (path: string, query?: Record<string, string>) => AsyncIterable<unknown>;
}
interface Example {
  createSupport: (options: { url: string; key: string }) => Support;
  verifyWebhook: (body: string, headers: Headers, secret: string) => Promise<{ type: string }>;
}

const GUIDE = readFileSync(new URL("../../docs/plain-fetch.md", import.meta.url), "utf8");
const { code } = readBlocks("docs/plain-fetch.md", GUIDE).find(({ title }) => title === "support.mjs")!;
const example = (await import(
  `data:text/javascript,${encodeURIComponent(code.replace("WAIT_SECONDS = 2", "WAIT_SECONDS = 0.001"))}`
)) as Example;

type Respond = (request: IncomingMessage, response: ServerResponse) => void;

/** A service that gives these responses, one after the other, and the requests that it got. */
async function serve(...responses: Respond[]) {
  const requests: { path: string; key: string | undefined; lastEventId: string | undefined }[] = [];
  const server = createServer((request, response) => {
    const { "idempotency-key": key, "last-event-id": lastEventId } = request.headers as Record<string, string | undefined>;
    requests.push({ path: `${request.method} ${request.url}`, key, lastEventId });
    responses.shift()!(request, response);
  }).listen(0);
  await once(server, "listening");
  after(() => server.close());
  const support = example.createSupport({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, key: "k" });
  return { support, requests };
}

const answer =
  (status: number, body: object, headers: Record<string, string> = {}): Respond =>
  (_, response) =>
    response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(body));
const busy = (seconds: string) => answer(429, { error: { code: "rate_limited", message: "Wait." } }, { "Retry-After": seconds });
async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
const event = (id: string, name: string, data: object) => `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

void test("a request is repeated after Retry-After and after a broken connection, with the same key", async () => {
  const { support, requests } = await serve(busy("0.001"), (request) => request.socket.destroy(), answer(200, { answer: "Yes." }));
  assert.equal((await support.ask("a-1", "When?")).answer, "Yes.");
  assert.equal(requests.length, 3);
  assert.equal(new Set(requests.map(({ key }) => key)).size, 1);
});

void test("a third error and a long Retry-After are thrown", async () => {
  const { support, requests } = await serve(busy("0.001"), busy("0.001"), busy("0.001"), busy("61"));
  await assert.rejects(support.ask("a-1", "When?"), { status: 429, code: "rate_limited" });
  await assert.rejects(support.ask("a-1", "When?"), { status: 429 });
  assert.equal(requests.length, 4);
});

void test("a broken stream is resumed after its last event, and an error of the service ends it", async () => {
  const broken: Respond = (_, response) => {
    response.write(event("1", "start", { conversation_id: "c-1", message_id: "m-1" }));
    response.write(event("2", "delta", { text: "Two " }), () => response.destroy());
  };
  const rest: Respond = (_, response) => response.end(event("3", "delta", { text: "days." }) + event("4", "done", {}));
  const failed: Respond = (_, response) =>
    response.end(
      event("1", "start", { conversation_id: "c-1", message_id: "m-1" }) + event("2", "error", { error: { message: "Broken." } }),
    );
  const { support, requests } = await serve(broken, rest, failed);
  let text = "";
  for await (const { data } of support.stream("a-1", "When?")) text += data.text ?? "";
  assert.equal(text, "Two days.");
  assert.deepEqual([requests[1]!.path, requests[1]!.lastEventId], ["GET /api/v1/conversations/c-1/messages/m-1/stream", "2"]);
  await assert.rejects(collect(support.stream("a-1", "When?")), /Broken/);
  assert.equal(requests.length, 3);
});

void test("a list is read page by page, by cursor or by offset", async () => {
  const pages = [
    { data: [1], has_more: true, next_cursor: "c" },
    { data: [2], has_more: true, offset: 1 },
    { data: [3], has_more: false },
  ];
  const { support, requests } = await serve(...pages.map((page) => answer(200, page)));
  assert.deepEqual(await collect(support.pages("/leads", { q: "ann" })), [1, 2, 3]);
  const queries = requests.map(({ path }) => path.split("?")[1]);
  assert.deepEqual(queries, ["limit=100&q=ann", "limit=100&q=ann&cursor=c", "limit=100&q=ann&offset=2"]);
});

void test("a webhook is accepted with one of two signatures, and refused if it is changed, signed by another secret, or old", async () => {
  const secretOf = (byte: number) => `whsec_${Buffer.alloc(32, byte).toString("base64")}`;
  const body = JSON.stringify({ type: "lead.created", data: { name: "Zoë" } });
  const headersOf = (secret: string, at = new Date()) =>
    new Headers({
      "webhook-id": "msg_1",
      "webhook-timestamp": `${Math.floor(at.getTime() / 1000)}`,
      "webhook-signature": `${new Webhook(secretOf(9)).sign("msg_1", at, body)} ${new Webhook(secret).sign("msg_1", at, body)}`,
    });
  const headers = headersOf(secretOf(7));
  assert.equal((await example.verifyWebhook(body, headers, secretOf(7))).type, "lead.created");
  await assert.rejects(example.verifyWebhook(body.replace("Zoë", "Eve"), headers, secretOf(7)), /match/);
  await assert.rejects(example.verifyWebhook(body, headersOf(secretOf(8)), secretOf(7)), /match/);
  await assert.rejects(example.verifyWebhook(body, headersOf(secretOf(7), new Date(Date.now() - 6 * 60_000)), secretOf(7)), /old/);
});
