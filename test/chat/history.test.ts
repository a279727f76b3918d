import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { beginTurn } from "../../src/chat/store.ts";
import { TurnRunner } from "../../src/chat/turn.ts";
import type { Model } from "../../src/models/model.ts";
import { newOperation } from "../../src/platform/db/client.ts";
import { seededId, shardOf } from "../../src/platform/db/ids.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { createAgent, createWorkspace, query } from "../harness.ts";
import { questionOf } from "./question.ts";

const HOUR_MS = 60 * 60_000;

/** A conversation with one answered question, and what its model is told of the messages before a question. */
async function converse() {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace, { welcome_message: "Hello!" });
  const path = `/agents/${agent.id}/messages`;
  const begun = (await workspace.call("POST", path, { message: "Hello" })).body;
  const id: string = begun.conversation_id;
  const session = env.SESSION.getByName(`${workspace.id}/${id}`);
  const told: string[][] = [];
  const answer: Model["answer"] = async ({ history, question }) => {
    told.push(history.map(({ text }) => text));
    return {
      outcome: "answered",
      confidence: 0.9,
      cited: [],
      text: (async function* () {
        yield `About ${question}.`;
      })(),
    };
  };
  await runInDurableObject(session, (live) => void Object.assign(live, { runner: new TurnRunner(env, { answer }) }));
  const idOf = (ageMs: number) => seededId(shardOf(id), Date.now() - ageMs, crypto.getRandomValues(new Uint8Array(16)));
  const questionAged = (message: string, ageMs: number) => {
    const ids = { conversationId: id, questionId: idOf(ageMs), answerId: idOf(ageMs - 1) };
    return questionOf(workspace.id, agent.id, { ...ids, isNew: false, message });
  };
  return {
    workspace,
    id,
    /** The first question and its answer. */
    begun: ["Hello", begun.answer],
    session,
    told,
    questionAged,
    /** Asks, and gives back the messages before the question that the model is offered. */
    ask: async (message: string) => {
      expect((await workspace.call("POST", path, { message, conversation_id: id })).status).toBe(200);
      return told.at(-1)!;
    },
    /** Asks with identifiers of that age, as a repeated Idempotency-Key or a mail that is delivered again does. */
    askWithOldIds: (message: string, ageMs = HOUR_MS) => session.ask(questionAged(message, ageMs)),
    change: (body: object) => workspace.call("PATCH", `/conversations/${id}`, body),
    transcript: async () =>
      (await workspace.call("GET", `/conversations/${id}`)).body.messages.map(({ content }: { content: string }) => content),
  };
}

test("a message with identifiers older than its turn is in the history and the transcript where its turn ran", async () => {
  const { begun, ask, askWithOldIds, transcript } = await converse();
  expect(await ask("apples")).toEqual(begun);
  await askWithOldIds("pears");
  const history = [...begun, "apples", "About apples.", "pears", "About pears."];
  expect(await ask("plums")).toEqual(history);
  expect(await transcript()).toEqual([...history, "plums", "About plums."]);
});

test("a message that reopens a resolved conversation is in the history of later turns, however old its identifiers are", async () => {
  const { ask, askWithOldIds, change } = await converse();
  await ask("apples");
  await change({ status: "resolved" });
  await askWithOldIds("pears");
  expect(await ask("plums")).toEqual(["pears", "About pears."]);
});

test("a reply of the team that reopens a resolved conversation is in the history of later turns", async () => {
  const { workspace, id, ask, change } = await converse();
  await ask("apples");
  await change({ status: "resolved" });
  await workspace.call("POST", `/conversations/${id}/messages`, { content: "Grace here." });
  await change({ status: "open" });
  expect(await ask("pears")).toEqual(["Grace here."]);
});

test("a question that an earlier attempt stored is not in its own history, and nor is what came after it", async () => {
  const { workspace, begun, told, session, questionAged, ask } = await converse();
  const question = questionAged("apples", HOUR_MS);
  await beginTurn(newOperation(env, new Meter(), workspace.id).db, question);
  expect(await ask("pears")).toEqual([...begun, "apples"]);
  await session.ask(question);
  expect(told.at(-1)).toEqual(begun);
});

test("a question and its answer come after all that is stored, whatever the clocks say", async () => {
  const { id, begun, ask, transcript } = await converse();
  await ask("apples");
  await query(id, "UPDATE messages SET created_at = created_at + 60000 WHERE conversation_id = ?", id);
  await query(id, "UPDATE conversations SET last_message_at = last_message_at + 60000 WHERE id = ?", id);
  expect(await ask("pears")).toEqual([...begun, "apples", "About apples."]);
  expect(await transcript()).toEqual([...begun, "apples", "About apples.", "pears", "About pears."]);
});
