import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { createKey, createNeighbour, d1WithFailingBatches, envWith, evict, query, send, unfinishedIn } from "../harness.ts";
import { Follower } from "../stream-client.ts";
import { createStreamedConversation } from "./stepped-model.ts";

const NOTHING = { entries: [], alarm: null };
const ANSWER = "Bring the receipt. We open at nine.";

/** A stream of ANSWER that was cut after its first sentence, while the model is still at it. */
async function createCut() {
  const streamer = await createStreamedConversation();
  const emit = await streamer.step();
  const cut = await streamer.stream();
  await emit("Bring the receipt. ");
  const follower = await new Follower().follow(cut, 19);
  return { ...streamer, emit, cut, follower, messageId: follower.messageId! };
}

/** Like createCut, but the answer is finished without the client. */
async function createFinished() {
  const streamer = await createCut();
  await streamer.cut.drop();
  await streamer.emit("We open ", "at nine.", null);
  await (await streamer.resume(streamer.messageId)).rest();
  return streamer;
}

// --- A stream that still runs ----------------------------------------------------------------------------------------

test("a stream that broke off resumes after the last event", async () => {
  const { cut, resume, emit, follower, messageId, workspace, id } = await createCut();
  await cut.drop();
  const rest = await resume(messageId, follower.lastEventId);
  expect(rest.status).toBe(200);
  expect(rest.headers.get("Content-Type")).toBe("text/event-stream; charset=utf-8");
  await emit("We open ", "at nine.", null);
  const events = await rest.rest();
  expect(events.map(({ event }) => event)).not.toContain("start");
  for (const event of events) follower.take(event);
  expect(follower).toMatchObject({ text: ANSWER, starts: 1, done: { answer: ANSWER, message_id: messageId } });
  const { messages } = (await workspace.call("GET", `/conversations/${id}`)).body;
  expect(messages.at(-1)).toMatchObject({ id: messageId, content: ANSWER });
});

test("without an event id, or with an unknown one, it starts over", async () => {
  const { resume, emit, messageId } = await createCut();
  const ids = [undefined, "", "19", "0-0", "19-zzzzzz", "999999-1y2p0ij", "x".repeat(5000)];
  const streams = await Promise.all(ids.map((lastEventId) => resume(messageId, lastEventId)));
  await emit("We open at nine.", null);
  for (const stream of streams) expect(await new Follower().follow(stream)).toMatchObject({ text: ANSWER, starts: 1 });
});

// --- A stream that has ended -----------------------------------------------------------------------------------------

test("a stored answer resumes with the same event ids", async () => {
  const { resume, messageId, follower, session } = await createFinished();
  await evict(session());
  await follower.follow(await resume(messageId, follower.lastEventId));
  expect(follower).toMatchObject({ text: ANSWER, starts: 1, done: { answer: ANSWER } });
  const whole = await new Follower().follow(await resume(messageId));
  expect(whole).toMatchObject({ text: ANSWER, starts: 1, done: follower.done, lastEventId: follower.lastEventId });
});

test("a client that has the whole answer gets 204", async () => {
  const { resume, messageId, follower } = await createFinished();
  await follower.follow(await resume(messageId, follower.lastEventId));
  const more = await resume(messageId, follower.lastEventId);
  expect([more.status, await more.rest()]).toEqual([204, []]);
});

test("an answer that was not streamed can be streamed later", async () => {
  const { resume, first } = await createStreamedConversation();
  const { done, text } = await new Follower().follow(await resume(first.message_id));
  expect(done).toEqual(first);
  expect(text).toBe(first.answer);
});

test("only the conversation's answers can be resumed, with a key that may read it", async () => {
  const { resume, first, resumePath, workspace, id } = await createStreamedConversation();
  const path = resumePath(first.message_id);
  const { messages } = (await workspace.call("GET", `/conversations/${id}`)).body;
  const { body: reply } = await workspace.call("POST", `/conversations/${id}/messages`, { content: "Hello." });
  for (const messageId of [crypto.randomUUID(), messages[0].id, reply.id]) expect((await resume(messageId)).status).toBe(404);
  const { body: other } = await workspace.call("POST", `/agents/${messages[1].author.id}/messages`, { message: "Hello?" });
  expect((await send("GET", path.replace(id, other.conversation_id), { token: workspace.key })).status).toBe(404);
  const neighbour = await createNeighbour(workspace);
  expect((await send("GET", path, { token: neighbour.key })).status).toBe(404);
  const { key } = await createKey(workspace, ["chat:write"]);
  expect((await send("GET", path, { token: key })).status).toBe(403);
});

// --- Death and failure -----------------------------------------------------------------------------------------------

test("a turn whose object is killed in the middle is answered again, and a client with text of another answer starts over", async () => {
  const { cut, resume, transcript, used, messageId, workspace, id, follower, step, session } = await createCut();
  await abortAllDurableObjects();
  await expect(cut.rest()).rejects.toThrow();
  // The new object's model says something else. Who asks for the stream does not wait for the alarm.
  const emit = await step();
  await runInDurableObject(session(), (_, { storage }) => storage.deleteAlarm());
  const rest = await resume(messageId, follower.lastEventId);
  await emit("With your receipt, ", "from nine on.", null);
  await follower.follow(rest);
  const text = "With your receipt, from nine on.";
  expect(follower).toMatchObject({ text, starts: 2, done: { answer: text, message_id: messageId } });
  expect(await transcript()).toEqual([
    ["user", "And now?"],
    ["assistant", text],
  ]);
  expect(await used()).toBe(1);
  expect(await unfinishedIn(workspace.id, id)).toEqual(NOTHING);
});

test("the alarm answers it without a client; the stream is then read from D1", async () => {
  const { cut, resume, transcript, used, messageId, session, follower, step } = await createCut();
  await abortAllDurableObjects();
  await expect(cut.rest()).rejects.toThrow();
  const emit = await step();
  await emit("With your receipt.", null);
  await runDurableObjectAlarm(session());
  expect(await transcript()).toHaveLength(2);
  await follower.follow(await resume(messageId, follower.lastEventId));
  expect(follower).toMatchObject({ text: "With your receipt.", starts: 2, done: { answer: "With your receipt." } });
  expect(await used()).toBe(1);
});

test("when storing the answer fails, the stream ends with an error, and resuming it gives the answer", async () => {
  const { stream, step, resume, session, transcript, used } = await createStreamedConversation();
  const emit = await step(envWith(d1WithFailingBatches(2)));
  await emit("Bring the receipt.", null);
  const broken = await stream();
  const events = await broken.rest();
  const requestId = broken.headers.get("X-Request-Id");
  expect(events.at(-1)).toMatchObject({ event: "error", data: { error: { code: "internal_error", request_id: requestId } } });
  expect(JSON.stringify(events)).not.toContain("D1");
  const follower = new Follower();
  for (const event of events) follower.take(event);
  // The turn waits for the alarm; the stream waits for the turn.
  const rest = await resume(follower.messageId!, follower.lastEventId);
  await emit("Bring the receipt.", null);
  await runDurableObjectAlarm(session());
  await follower.follow(rest);
  expect(follower).toMatchObject({ text: "Bring the receipt.", done: { answer: "Bring the receipt." } });
  expect(await transcript()).toHaveLength(2);
  expect(await used()).toBe(1);
});

test("erasing a conversation ends the streams of its waiting turns", async () => {
  const { cut, resume, messageId, session, workspace, id } = await createCut();
  await abortAllDurableObjects();
  await expect(cut.rest()).rejects.toThrow();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const run = () => Promise.race([released, scheduler.wait(60_000)]);
  await runInDurableObject(session(), (live) => void Object.assign(live, { runner: { run } }));
  const waiting = await resume(messageId);
  const erasing = session().erase();
  expect(await waiting.rest()).toMatchObject([{ event: "error" }]);
  await runInDurableObject(session(), () => release());
  await erasing;
  await query(id, "DELETE FROM messages WHERE workspace_id = ?", workspace.id);
  expect((await resume(messageId)).status).toBe(404);
});

// --- Idempotency-Key -------------------------------------------------------------------------------------------------

test("the same Idempotency-Key joins the running stream, and repeats it when it has ended", async () => {
  const { stream, step, used, transcript, workspace, id } = await createStreamedConversation();
  const emit = await step();
  const body = { user: { id: "u-1" } };
  const first = await stream(body, { "Idempotency-Key": "k-1" });
  await emit("Bring ");
  const follower = await new Follower().follow(first, 6);
  await first.drop();
  const second = await stream(body, { "Idempotency-Key": "k-1" });
  const other = await stream({ message: "Something else" }, { "Idempotency-Key": "k-1" });
  expect(other.status).toBe(409);
  await emit("the receipt.", null);
  const joined = await new Follower().follow(second);
  const third = await stream(body, { "Idempotency-Key": "k-1" });
  const replayed = await new Follower().follow(third);
  expect([first, second, third].map(({ headers }) => headers.get("Idempotent-Replayed"))).toEqual([null, "true", "true"]);
  for (const one of [joined, replayed]) {
    expect(one).toMatchObject({ text: "Bring the receipt.", messageId: follower.messageId, done: { answer: "Bring the receipt." } });
  }
  expect(await used()).toBe(1);
  expect(await transcript()).toHaveLength(2);
  const kept = "SELECT conversation_id, response_status, response_body FROM idempotency_records WHERE workspace_id = ? AND key = 'k-1'";
  expect(await query(workspace.id, kept, workspace.id)).toEqual([{ conversation_id: id, response_status: null, response_body: null }]);
});

test("ten requests at once with one key get one answer, streamed or not", async () => {
  const { stream, workspace, path, id, used, transcript } = await createStreamedConversation();
  const answerable = { message: "How long do refunds take?" };
  const streams = await Promise.all(Array.from({ length: 10 }, () => stream(answerable, { "Idempotency-Key": "k-1" })));
  const followers = await Promise.all(streams.map((one) => new Follower().follow(one)));
  expect(new Set(followers.map(({ messageId }) => messageId)).size).toBe(1);
  for (const { text, done } of followers) expect(text).toBe(done.answer);
  const plain = { message: "When are refunds paid?", conversation_id: id };
  const asked = await Promise.all(Array.from({ length: 10 }, () => workspace.call("POST", path, plain, { "Idempotency-Key": "k-2" })));
  expect(asked.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
  expect(new Set(asked.map(({ body }) => body.message_id)).size).toBe(1);
  expect(await transcript()).toHaveLength(4);
  expect(await used()).toBe(2);
});

test("a key outlives the object: the question is answered once", async () => {
  const { stream, step, used, transcript } = await createStreamedConversation();
  const emit = await step();
  const first = await stream({}, { "Idempotency-Key": "k-1" });
  await emit("Bring ");
  const follower = await new Follower().follow(first, 6);
  await abortAllDurableObjects();
  await expect(first.rest()).rejects.toThrow();
  const tellAnew = await step();
  await tellAnew("Come with the receipt.", null);
  const again = await stream({}, { "Idempotency-Key": "k-1" });
  await follower.follow(again);
  expect(again.headers.get("Idempotent-Replayed")).toBe("true");
  expect(follower).toMatchObject({ text: "Come with the receipt.", starts: 2, done: { answer: "Come with the receipt." } });
  expect(await transcript()).toHaveLength(2);
  expect(await used()).toBe(1);
});

test("a refusal and a silent agent's message are repeated for the same key", async () => {
  const { stream, workspace, id } = await createStreamedConversation();
  const unknown = { conversation_id: crypto.randomUUID() };
  expect((await stream(unknown, { "Idempotency-Key": "k-1" })).status).toBe(404);
  const refused = await stream(unknown, { "Idempotency-Key": "k-1" });
  expect([refused.status, refused.headers.get("Idempotent-Replayed")]).toEqual([404, "true"]);
  await workspace.call("PATCH", `/conversations/${id}`, { status: "human_active" });
  const silent = await new Follower().follow(await stream({}, { "Idempotency-Key": "k-2" }));
  const again = await new Follower().follow(await stream({}, { "Idempotency-Key": "k-2" }));
  expect(again.done).toEqual(silent.done);
  expect((await workspace.call("GET", `/conversations/${id}`)).body.message_count).toBe(3);
});
