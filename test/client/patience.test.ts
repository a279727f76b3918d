import { expect, test } from "vitest";
import type { ApiError, ErrorCode, ResponseInfo } from "../../client/index.ts";
import { newId } from "../../src/platform/db/ids.ts";
import { createStreamedConversation } from "../chat/stepped-model.ts";
import { createAgent, createWorkspace } from "../harness.ts";
import { clientOf, type Sent } from "./network.ts";

const keysOf = (sent: Sent[]) => sent.map(({ headers }) => headers.get("Idempotency-Key"));

/** An error as the service words it. */
function refusal(status: number, code: ErrorCode, headers: Record<string, string> = {}): Response {
  return Response.json({ error: { code, message: "Wait.", request_id: "r" } }, { status, headers });
}

// --- Waiting and trying again ----------------------------------------------------------------------------------------

test("a limit is sat out for as long as the service says", async () => {
  const { key } = await createWorkspace({ limits: { requests_per_minute: 1 } });
  const { client, sent, waitedMs } = clientOf(key, { retries: 1 });
  await client.getMe();
  const refused = client.getMe();
  await expect(refused).rejects.toMatchObject({ code: "rate_limited", status: 429 });
  expect(sent).toHaveLength(3);
  expect(waitedMs).toHaveLength(1);
  expect(waitedMs[0]).toBeGreaterThan(50_000);
  expect(waitedMs[0]).toBeLessThanOrEqual(60_000);
});

test("a longer wait than asked for is the caller's to decide", async () => {
  const { client, sent } = clientOf("k", { maxWaitSeconds: 5 }, async () => refusal(503, "unavailable", { "Retry-After": "6" }));
  await expect(client.getMe()).rejects.toMatchObject({ code: "unavailable" });
  expect(sent).toHaveLength(1);
});

test("an error that waiting does not mend is thrown at once", async () => {
  const { client, sent } = clientOf("k", {}, async () => refusal(500, "internal_error"));
  await expect(client.getMe()).rejects.toMatchObject({ code: "internal_error", requestId: "r" });
  expect(sent).toHaveLength(1);
});

test("a POST whose answer was lost is sent again by the same key, and done once", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  let lost = 0;
  const { client, sent, waitedMs } = clientOf(workspace.key, {}, async (pass) => {
    const response = await pass();
    await response.text();
    if (lost++ === 0) throw new TypeError("The connection was reset.");
    return pass();
  });
  const made = await client.createAnswer({ agent_id: agent.id, body: { question: "Who?", answer: "Us." } });
  expect(new Set(keysOf(sent)).size).toBe(1);
  expect(waitedMs).toEqual([2000]);
  expect((await client.listAnswers({ agent_id: agent.id })).data).toEqual([made]);
});

test("each call has a key of its own, unless it is given one", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const { client, sent } = clientOf(workspace.key);
  const body = { question: "Who?", answer: "Us." };
  await client.createAnswer({ agent_id: agent.id, body });
  await client.createAnswer({ agent_id: agent.id, body });
  expect(new Set(keysOf(sent)).size).toBe(2);
  const own = { idempotencyKey: "order-4711" };
  const [first, second] = [
    await client.createAnswer({ agent_id: agent.id, body }, own),
    await client.createAnswer({ agent_id: agent.id, body }, own),
  ];
  expect(second).toEqual(first);
});

test("who has given up is not tried for again", async () => {
  const { client, sent } = clientOf("k", {}, () => Promise.reject(new DOMException("Given up", "AbortError")));
  await expect(client.getMe({}, { signal: AbortSignal.abort() })).rejects.toThrow("Given up");
  expect(sent).toHaveLength(1);
});

test("a wait ends at once when its signal aborts, with the signal's reason", async () => {
  for (const answer of [async () => refusal(429, "rate_limited", { "Retry-After": "30" }), () => Promise.reject(new TypeError("Reset."))]) {
    const { sent, client } = clientOf("k", { wait: undefined }, answer);
    const startedMs = Date.now();
    const given = new Error("Given up.");
    const controller = new AbortController();
    const called = client.getMe({}, { signal: controller.signal });
    await expect.poll(() => sent.length).toBe(1);
    controller.abort(given);
    await expect(called).rejects.toBe(given);
    expect(sent).toHaveLength(1);
    expect(Date.now() - startedMs).toBeLessThan(2000);
  }
  const { client } = clientOf("k", { wait: undefined }, async () => refusal(429, "rate_limited", { "Retry-After": "30" }));
  await expect(client.getMe({}, { signal: AbortSignal.timeout(50) })).rejects.toMatchObject({ name: "TimeoutError" });
});

test("an error says after how many seconds to try again", async () => {
  const after = async (headers: Record<string, string>) => {
    const { client } = clientOf("k", { retries: 0 }, async () => refusal(503, "unavailable", headers));
    return client.getMe().catch(({ retryAfter }: ApiError) => retryAfter);
  };
  expect(await after({ "Retry-After": "6" })).toBe(6);
  expect(await after({})).toBeNull();
  expect(await after({ "Retry-After": "Sun, 22 Nov 2026 12:00:00 GMT" })).toBeNull();
});

test("each response is reported with the rate limit that remains after it", async () => {
  const { key } = await createWorkspace({ limits: { requests_per_minute: 2 } });
  const seen: ResponseInfo[] = [];
  const { client } = clientOf(key, { retries: 0, onResponse: (response) => seen.push(response) });
  await client.getMe();
  await client.listAgents();
  await expect(client.getMe()).rejects.toMatchObject({ retryAfter: expect.any(Number) });
  expect(seen.map(({ operationId, status, rateLimit }) => [operationId, status, rateLimit?.limit, rateLimit?.remaining])).toEqual([
    ["getMe", 200, 2, 1],
    ["listAgents", 200, 2, 0],
    ["getMe", 429, 2, 0],
  ]);
  const { headers, rateLimit } = seen[2]!;
  expect(headers.get("X-Request-Id")).toMatch(/^[0-9a-f-]{36}$/);
  expect(rateLimit!.resetAt.getTime() - Date.now()).toBeGreaterThan(50_000);
  expect(rateLimit!.resetAt.getTime() - Date.now()).toBeLessThanOrEqual(61_000);
});

test("a response without rate limit headers is reported without a rate limit", async () => {
  const seen: ResponseInfo[] = [];
  const options = { onResponse: (response: ResponseInfo) => seen.push(response) };
  const { client } = clientOf("k", options, async () => new Response("<h1>Bad gateway</h1>", { status: 502 }));
  await expect(client.getMe()).rejects.toMatchObject({ status: 502, retryAfter: null });
  expect(seen).toMatchObject([{ status: 502, rateLimit: null }]);
});

test("an answer that is not the service's is an unexpected one", async () => {
  const { client } = clientOf("k", {}, async () => new Response("<h1>Bad gateway</h1>", { status: 502 }));
  await expect(client.getMe()).rejects.toMatchObject({ name: "ApiError", code: "unexpected", status: 502, requestId: null });
});

test("an error to a question says whether the service keeps it", async () => {
  const kept = { conversation_id: newId(0, Date.now()), message_id: newId(0, Date.now()) };
  const question = { agent_id: newId(0, Date.now()), body: { message: "When?" } };
  for (const [fields, expected] of [
    [kept, kept],
    [{}, null],
  ] as const) {
    const error = { code: "internal_error", message: "It failed.", request_id: "r", ...fields };
    const { client } = clientOf("k", {}, async () => Response.json({ error }, { status: 500 }));
    await expect(client.askAgent(question)).rejects.toMatchObject({ code: "internal_error", kept: expected });
  }
});

// --- Streams ---------------------------------------------------------------------------------------------------------

/** The response, but its connection breaks where more is read than what ends in this text. */
function breakAfter(response: Response, text: string): Response {
  const reader: ReadableStreamDefaultReader<Uint8Array> = response.body!.getReader();
  const decoder = new TextDecoder();
  let seen = "";
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    if (seen.includes(text)) return controller.error(new TypeError("The connection was reset."));
    const { value } = await reader.read();
    seen += decoder.decode(value, { stream: true });
    controller.enqueue(value);
  };
  return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), response);
}

test("a stream that breaks goes on where it broke, and nothing comes twice", async () => {
  const { workspace, agent, id, step, resumePath } = await createStreamedConversation();
  const emit = await step();
  const { client, sent } = clientOf(workspace.key, {}, async (pass, { method }) => {
    if (method === "GET") await emit("We open ", "at nine.", null);
    return method === "POST" ? breakAfter(await pass(), "the receipt. ") : pass();
  });
  await emit("Bring ", "the receipt. ");
  const events = await Array.fromAsync(client.streamAnswer({ agent_id: agent.id, body: { message: "And now?", conversation_id: id } }));
  expect(events.map((event) => (event.type === "delta" ? event.text : "")).join("")).toBe("Bring the receipt. We open at nine.");
  expect(events.filter(({ type }) => type === "start")).toHaveLength(1);
  const done = events.at(-1)!;
  expect(done).toMatchObject({ type: "done", answer: { answer: "Bring the receipt. We open at nine." } });
  const messageId = done.type === "done" ? done.answer.message_id! : "";
  expect(sent.map(({ path }) => path)).toEqual([`/api/v1/agents/${agent.id}/messages`, resumePath(messageId)]);
  const read = events.findIndex((event) => event.type === "delta" && event.text.endsWith("receipt. "));
  expect(sent[1]!.headers.get("Last-Event-ID")).toBe(events[read]!.id);
});

test("a stream that never gets on is given up", async () => {
  const { workspace, agent, id, step } = await createStreamedConversation();
  const emit = await step();
  await emit("Bring the receipt. ");
  const { client, sent } = clientOf(workspace.key, { retries: 2 }, async (pass, { method }) =>
    method === "POST" ? breakAfter(await pass(), "event: start") : new Response(": nothing\n\n"),
  );
  const read = Array.fromAsync(client.streamAnswer({ agent_id: agent.id, body: { message: "And now?", conversation_id: id } }));
  await expect(read).rejects.toThrow("The stream ended before the answer did.");
  expect(sent.filter(({ method }) => method === "GET")).toHaveLength(2);
  await emit(null);
});

test("a stream that waits to go on ends with its signal", async () => {
  const start = `id: 0-a\nevent: start\ndata: {"conversation_id":"c","message_id":"m"}\n\n`;
  const { client, sent } = clientOf("k", { wait: undefined }, async () => new Response(start));
  const read = Array.fromAsync(client.streamAnswer({ agent_id: "a", body: { message: "And now?" } }, { signal: AbortSignal.timeout(50) }));
  await expect(read).rejects.toMatchObject({ name: "TimeoutError" });
  expect(sent).toHaveLength(1);
});

test("a failure on the stream's way is thrown with its code", async () => {
  const events = `id: 0-a\nevent: start\ndata: {"conversation_id":"c","message_id":"m"}\n\nid: 0-b\nevent: error\ndata: {"error":{"code":"internal_error","message":"Ask again.","request_id":"r"}}\n\n`;
  const { client, sent } = clientOf("k", {}, async () => new Response(events));
  const read = Array.fromAsync(client.streamAnswer({ agent_id: "a", body: { message: "And now?" } }));
  await expect(read).rejects.toMatchObject({ code: "internal_error", message: "Ask again.", status: 200, requestId: "r" });
  expect(sent).toHaveLength(1);
});

test("who has the last event already gets none", async () => {
  const { workspace, first, id } = await createStreamedConversation();
  const { client } = clientOf(workspace.key);
  const answer = { conversation_id: id, message_id: first.message_id };
  const events = await Array.fromAsync(client.resumeAnswer(answer));
  expect(await Array.fromAsync(client.resumeAnswer(answer, { lastEventId: events.at(-1)!.id }))).toEqual([]);
});

test("who stops reading hangs up", async () => {
  let hungUp = 0;
  const text = `id: 0-a\nevent: delta\ndata: {"text":"Bring"}\n\n`;
  const body = new ReadableStream({
    pull: (controller) => controller.enqueue(new TextEncoder().encode(text)),
    cancel: () => void hungUp++,
  });
  const { client } = clientOf("k", {}, async () => new Response(body));
  for await (const event of client.streamAnswer({ agent_id: "a", body: { message: "And now?" } })) if (event.type === "delta") break;
  expect(hungUp).toBe(1);
});
