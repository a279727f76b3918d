import { expect, test } from "vitest";
import { TurnSuspendedError } from "../../src/models/model.ts";
import { send } from "../harness.ts";
import { Follower } from "../stream-client.ts";
import { createStreamedConversation } from "./stepped-model.ts";

const HANDOFF = "A colleague takes over.";

test("an answer streams: headers, start before the model's first word, deltas as they come, and done", async () => {
  const { stream, step, id, transcript } = await createStreamedConversation();
  const emit = await step();
  const answer = await stream();
  expect(answer.status).toBe(200);
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
    "x-request-id": expect.stringMatching(/^[0-9a-f-]{36}$/),
    "x-ratelimit-limit": "1200",
    "x-ratelimit-remaining": expect.any(String),
    "x-ratelimit-reset": expect.any(String),
  });
  const start = await answer.next();
  expect(start).toMatchObject({ event: "start", data: { conversation_id: id, message_id: expect.any(String) } });
  const deltas = [];
  for (const word of ["Bring ", "the ", "receipt.\n\nWe open\u2028at nine – 9 → 😀"]) {
    await emit(word);
    deltas.push(await answer.next());
  }
  expect(deltas.map((delta) => [delta?.event, delta?.data])).toEqual([
    ["delta", { text: "Bring " }],
    ["delta", { text: "the " }],
    ["delta", { text: "receipt.\n\nWe open\u2028at nine – 9 → 😀" }],
  ]);
  await emit(null);
  const [done, ...more] = await answer.rest();
  const text = "Bring the receipt.\n\nWe open\u2028at nine – 9 → 😀";
  expect(done).toMatchObject({
    event: "done",
    data: {
      answer: text,
      citations: [],
      confidence: 0.9,
      needs_human: false,
      conversation_id: id,
      message_id: start?.data.message_id,
      status: "ai_handled",
    },
  });
  expect(more).toEqual([]);
  expect(await transcript()).toEqual([
    ["user", "And now?"],
    ["assistant", text],
  ]);
  const ids = [start, ...deltas, done].map((event) => event?.id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.map((each) => Number(each?.split("-")[0]))).toEqual([0, 6, 10, text.length, text.length]);
});

test("the answer is the same as without streaming", async () => {
  const { stream, workspace, path } = await createStreamedConversation();
  const { body: plain } = await workspace.call("POST", path, { message: "When are refunds paid?" });
  const { done, text, starts } = await new Follower().follow(
    await stream({ message: "When are refunds paid?", conversation_id: undefined }),
  );
  const ids = { conversation_id: expect.any(String), message_id: expect.any(String) };
  expect(done).toEqual({ ...plain, ...ids });
  expect(text).toBe(plain.answer);
  expect(starts).toBe(1);
});

test("curated answers and hand-offs stream too, and the stream of a silent agent has no text", async () => {
  const { stream, workspace, agent, used } = await createStreamedConversation();
  await workspace.call("POST", `/agents/${agent.id}/answers`, { question: "Are you open on Sundays?", answer: "Yes, till noon." });
  const curated = await new Follower().follow(await stream({ message: "Are you open on Sundays?" }));
  expect(curated).toMatchObject({ text: "Yes, till noon.", done: { citations: [{ type: "answer" }] } });
  const handedOff = await new Follower().follow(await stream({ message: "I want to talk to a human" }));
  expect(handedOff).toMatchObject({ text: HANDOFF, done: { answer: HANDOFF, needs_human: true, status: "needs_human" } });
  expect(await used()).toBe(2);
  const silent = await new Follower().follow(await stream({ message: "Anybody?" }));
  expect(silent).toMatchObject({ messageId: null, text: "", done: { answer: "", message_id: null, needs_human: true, confidence: 0 } });
  expect(await used()).toBe(2);
});

test.for<
  [string, number, string, (streamer: Awaited<ReturnType<typeof createStreamedConversation>>) => Promise<{ status: number; body: any }>]
>([
  ["a key that is none", 401, "invalid_api_key", ({ path }) => ask(path, "sk_live_x", {})],
  ["an empty message", 422, "validation_error", ({ path, workspace }) => ask(path, workspace.key, { message: "" })],
  ["an unknown agent", 404, "not_found", ({ workspace }) => ask(`/agents/${workspace.id}/messages`, workspace.key, {})],
  [
    "an unknown conversation",
    404,
    "not_found",
    ({ path, workspace }) => ask(path, workspace.key, { conversation_id: crypto.randomUUID() }),
  ],
  [
    "another user's conversation",
    409,
    "conflict",
    async ({ path, workspace, id }) => {
      await ask(path, workspace.key, { conversation_id: id, user: { id: "u-1" }, stream: false });
      return ask(path, workspace.key, { conversation_id: id, user: { id: "u-2" } });
    },
  ],
  ["a used up quota", 402, "quota_exceeded", ({ path, workspace }) => ask(path, workspace.key, {})],
])("%s is an ordinary error, before any event", async ([name, status, code, request]) => {
  const streamer = await createStreamedConversation(name === "a used up quota" ? { limits: { messages: 1 } } : {});
  const answer = await request(streamer);
  expect(answer).toMatchObject({ status, body: { error: { code } } });
});

async function ask(path: string, token: string, body: Record<string, unknown>) {
  const answer = await send("POST", `/api/v1${path}`, { token, body: { message: "And now?", stream: true, ...body } });
  expect(answer.headers.get("Content-Type")).toMatch(/^application\/json/);
  return answer;
}

test("a client that hangs up does not stop the answer", async () => {
  const { stream, step, resume, transcript, used } = await createStreamedConversation();
  const emit = await step();
  const answer = await stream();
  await emit("One, ");
  const follower = new Follower();
  await follower.follow(answer, 5);
  await answer.drop();
  await emit("two.", null);
  await (await resume(follower.messageId!)).rest();
  expect(await transcript()).toEqual([
    ["user", "And now?"],
    ["assistant", "One, two."],
  ]);
  expect(await used()).toBe(1);
});

test("an error in the middle ends the answer with the hand-off message, and the deltas joined are still the answer", async () => {
  const { stream, step, used, transcript } = await createStreamedConversation();
  const emit = await step();
  const answer = await stream();
  await emit("Refunds are ", new Error("The model broke off"));
  const { text, done } = await new Follower().follow(answer);
  expect(text).toBe(`Refunds are \n\n${HANDOFF}`);
  expect(done).toMatchObject({ answer: text, needs_human: true, status: "needs_human" });
  expect((await transcript())[1]).toEqual(["assistant", text]);
  expect(await used()).toBe(0);
});

test("an answer that asks the team for an approval keeps what was streamed of it", async () => {
  const { stream, step, transcript } = await createStreamedConversation();
  const emit = await step();
  const answer = await stream();
  const call = { id: "1", name: "refund", input: "{}" };
  const usage = { input: null, output: null };
  const report = { model: "stepped", durationMs: 1, firstTokenMs: 1, usage, finish: "tool-calls" as const, failure: null };
  const calls = [{ call, outcome: { kind: "awaited" as const, from: "team" as const }, durationMs: 0 }];
  await emit("A1 can be refunded.", new TurnSuspendedError([{ text: "", reasoning: "", report, calls }]));
  const { text, done } = await new Follower().follow(answer);
  expect(text).toBe(`A1 can be refunded.\n\n${HANDOFF}`);
  expect(done).toMatchObject({ answer: text, handoff_reason: "approval_required" });
  expect((await transcript())[1]).toEqual(["assistant", text]);
});

test("streamed and plain questions of one conversation are answered in the order of their arrival", async () => {
  const { stream, step, ask, transcript } = await createStreamedConversation();
  const emit = await step();
  const first = await stream({ message: "first" });
  const second = ask("second");
  const third = stream({ message: "third" });
  await emit("1", null, "2", null, "3", null);
  expect((await new Follower().follow(first)).text).toBe("1");
  const answers = [(await second).body.answer, (await new Follower().follow(await third)).text];
  const spoken = await transcript();
  expect(spoken.map(([role]) => role)).toEqual(["user", "assistant", "user", "assistant", "user", "assistant"]);
  expect(spoken.slice(0, 2).map(([, text]) => text)).toEqual(["first", "1"]);
  // The network decides which of the two reaches the session first.
  expect(answers.toSorted()).toEqual(["2", "3"]);
});

test("a hundred streams at once, and a hundred readers of one, get the same answer", async () => {
  const { stream, step, resume } = await createStreamedConversation();
  const emit = await step();
  const answer = await stream();
  const start = await answer.next();
  const readers = await Promise.all(Array.from({ length: 100 }, () => resume(start!.data.message_id)));
  const followers = Promise.all(readers.map((reader) => new Follower().follow(reader)));
  await emit("All ", "hear ", "this.", null);
  for (const { text, done } of await followers) expect([text, done.answer]).toEqual(["All hear this.", "All hear this."]);
  const many = await Promise.all(
    Array.from({ length: 100 }, async () =>
      new Follower().follow(await stream({ conversation_id: undefined, message: "When are refunds paid?" })),
    ),
  );
  for (const { text, done } of many) expect(text).toBe(done.answer);
});
