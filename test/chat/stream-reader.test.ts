import { expect, test } from "vitest";
import { hasAll, readStream } from "../../src/chat/stream-reader.ts";
import { AnswerStream, BEGINNING, eventIdOf, placeAfter, placeIn } from "../../src/chat/stream.ts";
import type { ChatAnswer } from "../../src/chat/wire.ts";
import { Follower, readEvents } from "../stream-client.ts";

const BEGUN = { conversationId: "c-1", messageId: "m-1", visitorId: null };
const REQUEST = { requestId: "r-1" };
const TEXT = "Grüße aus Graz – 😀 in zwei Zeilen.\nHier die zweite.";

function answerOf(answer: string): ChatAnswer {
  const ids = { conversation_id: "c-1", message_id: "m-1", status: "ai_handled" as const };
  return { answer, citations: [], confidence: 0.9, needs_human: false, ...ids };
}

function begun(): AnswerStream {
  const stream = new AnswerStream();
  stream.begin(BEGUN);
  return stream;
}

test("an id of each place leads back to it, in a text that is cut otherwise too", () => {
  let place = BEGINNING;
  for (const unit of TEXT.split("")) {
    place = placeAfter(place, unit);
    expect(placeIn(TEXT, eventIdOf(place))).toEqual({ ...place, isDone: false });
  }
  expect(eventIdOf(placeAfter(BEGINNING, TEXT))).toBe(eventIdOf(place));
  expect(placeIn(TEXT, eventIdOf(place, true))).toEqual({ ...place, isDone: true });
});

test("an id of another text, of more text or of none leads nowhere", () => {
  const end = placeAfter(BEGINNING, TEXT);
  expect(placeIn(TEXT.replace("Graz", "Wien"), eventIdOf(end))).toBeUndefined();
  expect(placeIn(TEXT.slice(0, 9), eventIdOf(end))).toBeUndefined();
  expect(placeIn(`${TEXT} And more.`, eventIdOf(end, true))).toBeUndefined();
  for (const id of [undefined, "", "-", "3", "-1-0", "3-", "3-?", "1e3-0", "3-0-done-done", "9".repeat(400)]) {
    expect(placeIn(TEXT, id)).toBeUndefined();
  }
});

test("a stream picked up at any of its events, from memory or from storage, gives the same text", async () => {
  const stream = begun();
  const reader = readEvents(readStream(stream, REQUEST));
  const heard = [await reader.next()];
  for (const piece of TEXT.split(/(?<= )/)) {
    stream.say(piece);
    heard.push(await reader.next());
  }
  stream.finish(answerOf(TEXT));
  heard.push(await reader.next());
  expect(await reader.next()).toBeUndefined();
  for (const from of heard.keys()) {
    for (const source of [stream, AnswerStream.of(answerOf(TEXT))]) {
      const follower = new Follower();
      for (const event of heard.slice(0, from + 1)) follower.take(event!);
      const { lastEventId } = follower;
      expect(hasAll(source, lastEventId)).toBe(from === heard.length - 1);
      if (!hasAll(source, lastEventId)) await follower.follow(readEvents(readStream(source, { ...REQUEST, lastEventId })));
      expect(follower).toMatchObject({ text: TEXT, starts: 1, done: answerOf(TEXT), lastEventId: heard.at(-1)?.id });
    }
  }
});

test("nothing is made for a reader that does not read: what it missed comes as one event", async () => {
  const stream = begun();
  const reader = readEvents(readStream(stream, REQUEST));
  expect((await reader.next())?.event).toBe("start");
  for (let at = 0; at < 1000; at++) stream.say("la ");
  expect(await reader.next()).toMatchObject({ event: "delta", data: { text: "la ".repeat(1000) } });
  stream.say("end");
  stream.finish(answerOf(`${"la ".repeat(1000)}end`));
  expect((await reader.rest()).map(({ event }) => event)).toEqual(["delta", "done"]);
});

test("while nothing is said a comment keeps the connection open", async () => {
  const stream = begun();
  const reader = readStream(stream, { ...REQUEST, heartbeatMs: 0 })
    .pipeThrough(new TextDecoderStream())
    .getReader();
  expect((await reader.read()).value).toMatch(/^retry: \d+\nid: 0-\w+\nevent: start\ndata: \{.*\}\n\n$/);
  expect((await reader.read()).value).toBe(": still answering\n\n");
  expect((await reader.read()).value).toBe(": still answering\n\n");
  stream.say("Here.");
  let next = await reader.read();
  while (next.value?.startsWith(":")) next = await reader.read();
  expect(next.value).toMatch(/^id: 5-\w+\nevent: delta\ndata: \{"text":"Here\."\}\n\n$/);
  await reader.cancel();
});

test("a stream that fails says so, and names the request", async () => {
  const stream = begun();
  stream.say("Half ");
  const reader = readEvents(readStream(stream, REQUEST));
  stream.fail();
  const events = await reader.rest();
  expect(events.map(({ event }) => event)).toEqual(["start", "delta", "error"]);
  const { error } = events.at(-1)!.data;
  expect(error).toEqual({ code: "internal_error", message: expect.any(String), request_id: "r-1" });
  expect(events.at(-1)?.id).toBe(events.at(-2)?.id);
});
