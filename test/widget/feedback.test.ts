import { expect, test } from "vitest";
import { query } from "../harness.ts";
import { createWidget, visitorOf } from "./widget.ts";

/** A visitor with an answer, and how they rate it. */
async function createAnswer(widget: Awaited<ReturnType<typeof createWidget>>) {
  const ada = widget.visitor();
  const { conversation_id: id, message_id: messageId, visitor_token: token, anon_id: anonId } = (await ada.write({})).body;
  const rate = (body: unknown, of = messageId) => ada.on(token, id, "POST", `messages/${of}/feedback`, body);
  return { ada, id, messageId, token, anonId, rate };
}

test("the last rating of an answer counts, on the day of the first", async () => {
  const widget = await createWidget();
  const { id, messageId, rate } = await createAnswer(widget);
  const first = await rate({ rating: "up" });
  expect(first.status).toBe(200);
  expect(first.body).toMatchObject({
    agent_id: widget.agent.id,
    conversation_id: id,
    message_id: messageId,
    author: "visitor",
    rating: "up",
  });
  expect(first.body.comment).toBeNull();
  const second = await rate({ rating: "down", comment: "Which days?" });
  expect(second.body).toMatchObject({ id: first.body.id, rating: "down", comment: "Which days?", created_at: first.body.created_at });
  await (await createAnswer(widget)).rate({ rating: "up" });
  const overview = await widget.workspace.call("GET", `/analytics/overview?days=1&agent_id=${widget.agent.id}`);
  expect(overview.body.feedback).toEqual({ up: 1, down: 1 });
  expect((await widget.workspace.call("GET", "/analytics/overview?days=1")).body.feedback).toEqual({ up: 1, down: 1 });
});

test("only answers of the visitor's own conversation can be rated", async () => {
  const widget = await createWidget();
  const { ada, id, token, rate } = await createAnswer(widget);
  const other = await createAnswer(widget);
  const messages = (await ada.on(token, id, "GET", "messages")).body.data;
  const question = messages.find(({ role }: { role: string }) => role === "user").id;
  for (const answer of [
    await rate({ rating: "up" }, question),
    await rate({ rating: "up" }, other.messageId),
    await rate({ rating: "up" }, crypto.randomUUID()),
    await ada.on(token, other.id, "POST", `messages/${other.messageId}/feedback`, { rating: "up" }),
  ]) {
    expect(answer.body.error.code).toBe("not_found");
  }
  expect((await rate({ rating: "sideways" })).status).toBe(422);
  expect((await rate({ rating: "up", comment: "x".repeat(2001) })).status).toBe(422);
  const anybody = visitorOf(widget.agent.id);
  expect((await anybody.send("POST", `/conversations/${id}/messages/${question}/feedback`, { rating: "up" })).status).toBe(401);
});

test("ratings are in the export of a person, and erased with their conversation", async () => {
  const widget = await createWidget();
  const { anonId, messageId, rate } = await createAnswer(widget);
  await rate({ rating: "down", comment: "My name is Ada." });
  const exported = await widget.workspace.call("GET", `/privacy/export?anon_id=${anonId}`);
  const [conversation] = (typeof exported.body === "string" ? JSON.parse(exported.body) : exported.body).conversations;
  expect(conversation.feedback).toMatchObject([{ message_id: messageId, rating: "down", comment: "My name is Ada." }]);
  const erased = await widget.workspace.call("DELETE", `/privacy/visitors?anon_id=${anonId}`);
  expect(erased.body.deleted.message_feedback).toBe(1);
  expect(await query(widget.agent.id, "SELECT 1 FROM message_feedback WHERE agent_id = ?", widget.agent.id)).toEqual([]);
});
