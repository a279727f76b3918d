import { expect, test } from "vitest";
import {
  advance,
  AnswerStream,
  findPosition,
  hasWholeAnswer,
  ORIGIN,
  readStream,
  type StreamCaller,
  toEventId,
} from "../../src/chat/stream.ts";
import type { ChatAnswer } from "../../src/chat/wire.ts";
import { Follower, readEvents } from "../stream-client.ts";

const STARTED = { conversationId: "c-1", messageId: "m-1", visitorId: null };
const REQUEST = { requestId: "r-1" };
const TEXT = "Grüße aus Graz – 😀 in zwei Zeilen.\nHier die zweite.";

function answerOf(answer: string): ChatAnswer {
  const ids = { conversation_id: "c-1", message_id: "m-1", status: "ai_handled" as const, handoff_reason: null, required_action: null };
  return { answer, citations: [], confidence: 0.9, needs_human: false, ...ids };
}

/** No token is signed for a caller who is not a visitor. */
const read = (stream: AnswerStream, caller: StreamCaller = REQUEST, heartbeatMs?: number) =>
  readStream({ KEY_SECRET: "" }, stream, caller, heartbeatMs);

function started(): AnswerStream {
  const stream = new AnswerStream();
  stream.start(STARTED);
  return stream;
}

test("an event id names its position, also in a text that was cut into other events", () => {
  let position = ORIGIN;
  for (const unit of TEXT.split("")) {
    position = advance(position, unit);
    expect(findPosition(TEXT, toEventId(position))).toEqual({ ...position, isDone: false });
  }
  expect(toEventId(advance(ORIGIN, TEXT))).toBe(toEventId(position));
  expect(findPosition(TEXT, toEventId(position, true))).toEqual({ ...position, isDone: true });
});

test("an id of another text, of a longer text or a malformed id names no position", () => {
  const end = advance(ORIGIN, TEXT);
  expect(findPosition(TEXT.replace("Graz", "Wien"), toEventId(end))).toBeUndefined();
  expect(findPosition(TEXT.slice(0, 9), toEventId(end))).toBeUndefined();
  expect(findPosition(`${TEXT} And more.`, toEventId(end, true))).toBeUndefined();
  for (const id of [undefined, "", "-", "3", "-1-0", "3-", "3-?", "1e3-0", "3-0-done-done", "9".repeat(400)]) {
    expect(findPosition(TEXT, id)).toBeUndefined();
  }
});

test("a stream resumed after any of its events, from memory or from storage, gives the same text", async () => {
  const stream = started();
  const reader = readEvents(read(stream));
  const received = [await reader.next()];
  for (const piece of TEXT.split(/(?<= )/)) {
    stream.append(piece);
    received.push(await reader.next());
  }
  stream.finish(answerOf(TEXT));
  received.push(await reader.next());
  expect(await reader.next()).toBeUndefined();
  for (const from of received.keys()) {
    for (const source of [stream, AnswerStream.of(answerOf(TEXT))]) {
      const follower = new Follower();
      for (const event of received.slice(0, from + 1)) follower.take(event!);
      const { lastEventId } = follower;
      expect(hasWholeAnswer(source, lastEventId)).toBe(from === received.length - 1);
      if (!hasWholeAnswer(source, lastEventId)) await follower.follow(readEvents(read(source, { ...REQUEST, lastEventId })));
      expect(follower).toMatchObject({ text: TEXT, starts: 1, done: answerOf(TEXT), lastEventId: received.at(-1)?.id });
    }
  }
});

test("nothing is queued for a slow reader: what it missed comes as one event", async () => {
  const stream = started();
  const reader = readEvents(read(stream));
  expect((await reader.next())?.event).toBe("start");
  for (let at = 0; at < 1000; at++) stream.append("la ");
  expect(await reader.next()).toMatchObject({ event: "delta", data: { text: "la ".repeat(1000) } });
  stream.append("end");
  stream.finish(answerOf(`${"la ".repeat(1000)}end`));
  expect((await reader.rest()).map(({ event }) => event)).toEqual(["delta", "done"]);
});

test("while there is no new text, a comment keeps the connection open", async () => {
  const stream = started();
  const reader = read(stream, REQUEST, 0).pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader.read()).value).toMatch(/^retry: \d+\nid: 0-\w+\nevent: start\ndata: \{.*\}\n\n$/);
  expect((await reader.read()).value).toBe(": still answering\n\n");
  expect((await reader.read()).value).toBe(": still answering\n\n");
  stream.append("Here.");
  let next = await reader.read();
  while (next.value?.startsWith(":")) next = await reader.read();
  expect(next.value).toMatch(/^id: 5-\w+\nevent: delta\ndata: \{"text":"Here\."\}\n\n$/);
  await reader.cancel();
});

test("a stream that fails ends with an error that names the request", async () => {
  const stream = started();
  stream.append("Half ");
  const reader = readEvents(read(stream));
  stream.fail();
  const events = await reader.rest();
  expect(events.map(({ event }) => event)).toEqual(["start", "delta", "error"]);
  const { error } = events.at(-1)!.data;
  expect(error).toEqual({ code: "internal_error", message: expect.any(String), request_id: "r-1" });
  expect(events.at(-1)?.id).toBe(events.at(-2)?.id);
});
