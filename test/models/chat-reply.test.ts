import { expect, test } from "vitest";
import { readReply } from "../../src/models/chat-reply.ts";

const encoder = new TextEncoder();
const chunkOf = (content: string) => encoder.encode(`data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`);
const DONE = encoder.encode("data: [DONE]\n\n");

test("what comes within the time is read at once, and nothing of it is lost when the stream ends first", async () => {
  const { readable, writable } = new IdentityTransformStream();
  const writer = writable.getWriter();
  const reply = readReply(readable, 10_000);
  const first = reply.read();
  await writer.write(chunkOf("Refunds"));
  expect(await first).toEqual([{ type: "text", text: "Refunds" }]);
  const rest = reply.read(60_000);
  for (const bytes of [chunkOf(" are"), chunkOf(" paid."), DONE]) await writer.write(bytes);
  await writer.close();
  expect(await rest).toEqual([{ type: "text", text: " are paid." }]);
  expect(await reply.read()).toEqual([{ type: "finish", reason: "stop" }]);
  expect(await reply.read()).toBeUndefined();
});

test("a stream of whole chunks is read chunk by chunk", async () => {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const bytes of [chunkOf("Refunds"), chunkOf(" are paid."), DONE]) controller.enqueue(bytes);
      controller.close();
    },
  });
  const reply = readReply(body, 10_000);
  expect(await reply.read(60_000)).toEqual([{ type: "text", text: "Refunds" }]);
  expect(await reply.read(60_000)).toEqual([{ type: "text", text: " are paid." }]);
  expect(await reply.read(60_000)).toEqual([{ type: "finish", reason: "stop" }]);
});
