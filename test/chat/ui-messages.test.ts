import { exports } from "cloudflare:workers";
import { parseJsonEventStream, readUIMessageStream, type UIMessage, type UIMessageChunk, uiMessageChunkSchema } from "ai";
import { expect, test, vi } from "vitest";
import { TurnRunner } from "../../src/chat/turn.ts";
import { newAddress } from "../harness.ts";
import { createReader, createSite } from "../knowledge/crawl/site.ts";
import { createStreamedConversation } from "./stepped-model.ts";

const ACCEPT = "text/event-stream; profile=ai-sdk";

/** Asks, or resumes, as the AI SDK's transport does. */
function open({ key }: { key: string }, path: string, body?: object, headers: Record<string, string> = {}): Promise<Response> {
  const own = { Authorization: `Bearer ${key}`, Accept: ACCEPT, "Content-Type": "application/json", ...headers };
  const init = { headers: own, ...(body && { method: "POST", body: JSON.stringify(body) }) };
  return exports.default.fetch(new Request(`http://service.test${path}`, init));
}

/** The chunks, by the SDK's own parser and schema. */
function chunksOf(response: Response): ReadableStream<UIMessageChunk> {
  expect(response.headers.get("X-Vercel-AI-UI-Message-Stream")).toBe("v1");
  const parsed = parseJsonEventStream({ stream: response.body!, schema: uiMessageChunkSchema });
  return parsed.pipeThrough(
    new TransformStream({
      transform(part, controller) {
        if (!part.success) throw part.error;
        controller.enqueue(part.value as UIMessageChunk);
      },
    }),
  );
}

/** The message as the SDK builds it. */
async function messageOf(chunks: ReadableStream<UIMessageChunk>): Promise<UIMessage<any>> {
  const errors: unknown[] = [];
  const states = await Array.fromAsync(readUIMessageStream({ stream: chunks, onError: (error) => errors.push(error) }));
  if (errors.length > 0) throw errors[0];
  return states.at(-1)! as UIMessage<any>;
}

const textOf = ({ parts }: UIMessage) => parts.map((part) => (part.type === "text" ? part.text : "")).join("");

test("the AI SDK reads an answer as it is written, with its sources and the service's fields as metadata", async () => {
  const fixture = await createStreamedConversation();
  const response = await open(fixture.workspace, `/api/v1${fixture.path}`, {
    message: "When are refunds paid?",
    conversation_id: fixture.id,
  });
  expect(response.headers.get("Content-Type")).toBe("text/event-stream; charset=utf-8");
  const message = await messageOf(chunksOf(response));
  expect(textOf(message)).toBe(fixture.first.answer);
  const { answer: _, ...fields } = fixture.first;
  expect(message.metadata).toEqual({ ...fields, message_id: message.id, confidence: expect.any(Number) });
  const sources = message.parts.filter(({ type }) => type === "source-document");
  expect(sources).toMatchObject([{ title: expect.any(String), mediaType: "text/plain" }]);
  expect(message.parts.map((part) => (part.type === "text" ? part.state : "done"))).not.toContain("streaming");
});

test("a page is cited by its address", async () => {
  const [site, reader] = [await createSite(), await createReader()];
  await site.has("/refunds", { text: "Refunds are paid within five working days." });
  const source = await reader.read({ type: "url", url: site.at("/refunds") });
  const message = await messageOf(
    chunksOf(await open(reader, `/api/v1/agents/${reader.agentId}/messages`, { message: "When are refunds paid?" })),
  );
  expect(message.parts.find(({ type }) => type === "source-url")).toMatchObject({
    url: site.at("/refunds"),
    sourceId: `${source.id}-1`,
    title: "Title of /refunds",
  });
});

test("while a human has the conversation the message has no parts, and its metadata says so", async () => {
  const { workspace, path, id } = await createStreamedConversation();
  await workspace.call("POST", `/conversations/${id}/messages`, { content: "I am looking into it." });
  const message = await messageOf(chunksOf(await open(workspace, `/api/v1${path}`, { message: "Anybody?", conversation_id: id })));
  expect(message.parts).toEqual([]);
  expect(message.metadata).toMatchObject({ conversation_id: id, message_id: null, needs_human: true, status: "human_active" });
});

test("each piece arrives when it is written", async () => {
  const fixture = await createStreamedConversation();
  const emit = await fixture.step();
  const reader = chunksOf(
    await open(fixture.workspace, `/api/v1${fixture.path}`, { message: "And now?", conversation_id: fixture.id }),
  ).getReader();
  const next = async () => (await reader.read()).value;
  expect(await next()).toMatchObject({ type: "start", messageMetadata: { conversation_id: fixture.id } });
  expect(await next()).toEqual({ type: "text-start", id: "answer" });
  for (const delta of ["Bring ", "the receipt."]) {
    await emit(delta);
    expect(await next()).toEqual({ type: "text-delta", id: "answer", delta });
  }
  await emit(null);
  expect(await next()).toEqual({ type: "text-end", id: "answer" });
  expect(await next()).toMatchObject({ type: "finish", finishReason: "stop", messageMetadata: { needs_human: false } });
  expect(await next()).toBeUndefined();
});

test("a stream is repeated, and goes on after the last event that a client has", async () => {
  const fixture = await createStreamedConversation();
  const path = fixture.resumePath(fixture.first.message_id);
  expect(textOf(await messageOf(chunksOf(await open(fixture.workspace, path))))).toBe(fixture.first.answer);
  const text = await (await open(fixture.workspace, path)).text();
  const ids = [...text.matchAll(/^id: (.*)$/gm)].map(([, id]) => id!);
  const rest = await Array.fromAsync(chunksOf(await open(fixture.workspace, path, undefined, { "Last-Event-ID": ids.at(-2)! })));
  expect(rest.map(({ type }) => type)).toEqual(["text-end", "source-document", "finish"]);
  expect((await open(fixture.workspace, path, undefined, { "Last-Event-ID": ids.at(-1)! })).status).toBe(204);
});

test("a visitor's browser reads it too, and gets the visitor's token", async () => {
  const { agent } = await createStreamedConversation();
  const headers = { Accept: ACCEPT, "Content-Type": "application/json", ...newAddress() };
  const asked = new Request(`http://service.test/widget/v1/agents/${agent.id}/messages`, {
    method: "POST",
    headers,
    body: JSON.stringify({ message: "When are refunds paid?" }),
  });
  const message = await messageOf(chunksOf(await exports.default.fetch(asked)));
  expect(message.metadata).toMatchObject({ visitor_token: expect.any(String), needs_human: false });
});

test("what fails on the way is the SDK's error, and what fails before is an ordinary one", async () => {
  const fixture = await createStreamedConversation();
  vi.spyOn(TurnRunner.prototype, "run").mockImplementationOnce(async (turn, _meter, _attempt, listener) => {
    listener!.onStart({ conversationId: turn.conversationId, messageId: turn.answerId, visitorId: null });
    listener!.onText("Bring ");
    throw new Error("the model died");
  });
  const chunks = chunksOf(await open(fixture.workspace, `/api/v1${fixture.path}`, { message: "And now?", conversation_id: fixture.id }));
  const read = await Array.fromAsync(chunks);
  expect(read.at(-2)).toEqual({ type: "text-delta", id: "answer", delta: "Bring " });
  expect(read.at(-1)).toMatchObject({ type: "error", errorText: expect.stringContaining("failed on our side") });
  const refused = await open(fixture.workspace, `/api/v1${fixture.path}`, { message: "" });
  expect([refused.status, refused.headers.get("X-Vercel-AI-UI-Message-Stream")]).toEqual([422, null]);
  await refused.text();
});
