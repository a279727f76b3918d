import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import type { Question } from "../../src/chat/question.ts";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import { d1WithFailingBatches, unfinishedIn } from "../harness.ts";
import type { Behaviour } from "../outbound-protocol.ts";
import { type ChatRequest, OpenAiStandIn, type Script } from "../stand-ins/openai.ts";
import { HANDED_OFF, type Model, asks, says, createToolAgent } from "./tool-agent.ts";

describe("a call that changes something is made once", () => {
  /** The turn in the conversation's own object, as the ask operation begins it. */
  async function createSession(first: Model, later: Model, bindings: Record<string, unknown> = {}) {
    const fixture = await createToolAgent(first, { bindings });
    const { workspace, conversationId, runnerOf } = fixture;
    const session = () => env.SESSION.getByName(`${workspace.id}/${conversationId}`);
    const runWith = (standIn?: OpenAiStandIn) =>
      runInDurableObject(session(), (live, { storage }) => void Object.assign(live, { runner: runnerOf(standIn, storage) }));
    const second = new OpenAiStandIn(typeof later === "function" ? later : () => later);
    await runWith();
    return {
      ...fixture,
      ask: async (changes: Partial<Question> = {}) => session().ask(fixture.ask(changes)),
      until: async (isReached: () => boolean | Promise<boolean>) => {
        // Each poll is a round trip, in which the object can run.
        while (!(await isReached())) await fixture.received();
      },
      /** The object dies; the next one runs what was left. */
      dieAndResume: async () => {
        await abortAllDurableObjects();
        await runWith(second);
        await runDurableObjectAlarm(session());
      },
      answers: async () => {
        const { messages } = (await workspace.call("GET", `/conversations/${conversationId}`)).body;
        return messages.slice(1).map(({ content }: { content: string }) => content);
      },
      storage: () => unfinishedIn(workspace.id, conversationId),
    };
  }
  const cancelled = asks({ order: "A1", reason: "late" }, "cancel_order");

  test("when the object dies after it: the next attempt gets the same response", async () => {
    const hangs = (_: ChatRequest, count: number): Script => (count === 1 ? cancelled : { text: ["x"], hangAt: 0 });
    const { ask, behave, received, requests, until, dieAndResume, answers, storage } = await createSession(
      hangs,
      // The same arguments, in another order.
      (_, count) => (count === 1 ? asks({ reason: "late", order: "A1" }, "cancel_order") : says("Cancelled.")),
    );
    await behave({ body: "It is cancelled." });
    const caller = ask().catch(() => undefined);
    await until(() => requests.length === 2);
    expect((await storage()).entries.map(([name]) => name.split(":")[0])).toEqual(["call", "turn"]);
    await dieAndResume();
    await caller;
    expect(await answers()).toEqual(["Cancelled."]);
    expect(await received()).toHaveLength(1);
    expect(await storage()).toEqual({ entries: [], alarm: null });
  });

  test("when two attempts fail after it, and the client repeats its request: a human takes over, rather than call in other words", async () => {
    // A turn has two batches: the first stores its question, the second its answer.
    const { ask, behave, received, answers, reasons, workspace } = await createSession(
      (_, count) =>
        count === 1 ? cancelled : count === 3 ? asks({ order: "A1", reason: "too late" }, "cancel_order") : says("Cancelled."),
      says("Cancelled."),
      d1WithFailingBatches(2, 3),
    );
    await behave({ body: "It is cancelled." });
    const [questionId, answerId] = [newId(shardOf(workspace.id), Date.now()), newId(shardOf(workspace.id), Date.now())];
    await expect(ask({ questionId, answerId })).rejects.toThrow();
    // The repeated request waits for the attempt before it, which fails too.
    await ask({ questionId, answerId });
    expect(await received()).toHaveLength(1);
    expect(await answers()).toEqual([HANDED_OFF]);
    expect(await reasons()).toEqual(["tool_failure"]);
  });

  test.each<[string, Script]>([
    ["the same", cancelled],
    ["the same in other words", asks({ order: "A1", reason: "too late" }, "cancel_order")],
  ])("when the object dies during it: a human takes over, even if the model asks for %s", async (_, again) => {
    const { ask, behave, received, until, dieAndResume, answers, reasons, storage } = await createSession(cancelled, again);
    await behave({ fails: "silent" });
    const caller = ask().catch(() => undefined);
    await until(async () => (await received()).length === 1);
    await dieAndResume();
    await caller;
    expect(await answers()).toEqual([HANDED_OFF]);
    expect(await reasons()).toEqual(["tool_failure"]);
    expect(await received()).toHaveLength(1);
    expect(await storage()).toEqual({ entries: [], alarm: null });
  });

  test("when an attempt fails after it, in the same object", async () => {
    const { run, runnerOf, ask, behave, received } = await createToolAgent(
      (_, count) => (count % 2 === 1 ? asks({ order: "A1" }, "cancel_order") : says("Cancelled.")),
      { bindings: d1WithFailingBatches(2) },
    );
    await behave({ body: "It is cancelled." });
    const [runner, question] = [runnerOf(), ask()];
    await expect(run(question, runner)).rejects.toThrow("D1_ERROR");
    expect(await run(question, runner)).toMatchObject({ answer: "Cancelled." });
    expect(await received()).toHaveLength(1);
  });

  test("when the model asks for it repeatedly", async () => {
    const { run, behave, received, requests } = await createToolAgent((_, count) =>
      count <= 3 ? { toolCalls: [...cancelled.toolCalls!, ...cancelled.toolCalls!] } : says("Cancelled."),
    );
    await behave({ body: "It is cancelled." });
    expect(await run()).toMatchObject({ answer: "Cancelled." });
    expect(requests).toHaveLength(4);
    expect(await received()).toHaveLength(1);
  });

  test.each<[string, Behaviour]>([
    ["no answer came", { fails: "silent" }],
    ["the connection broke", { fails: "reset" }],
  ])("when %s: a human takes over", async (_, behaviour) => {
    const { run, behave, received, requests, reasons } = await createToolAgent(() => cancelled);
    await behave(behaviour);
    expect(await run()).toMatchObject({ answer: HANDED_OFF });
    expect([(await received()).length, requests.length, await reasons()]).toEqual([1, 1, ["tool_failure"]]);
  });

  test("in each turn, with a key of its own", async () => {
    const { run, ask, behave, received } = await createToolAgent((_, count) => (count % 2 === 1 ? cancelled : says("Cancelled.")));
    await behave({ body: "It is cancelled." });
    await run();
    await run(ask({ isNew: false }));
    const keys = (await received()).map(({ headers }) => headers["idempotency-key"]);
    expect(new Set(keys).size).toBe(2);
  });
});
