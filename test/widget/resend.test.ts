import { expect, test } from "vitest";
import { DAY_MS } from "../../src/platform/time.ts";
import { newId } from "../../src/platform/db/ids.ts";
import { query } from "../harness.ts";
import { conversationOf, createWidget } from "./widget.ts";

const keyHeader = (key: string) => ({ "Idempotency-Key": key });

async function countMessages(workspaceId: string): Promise<number> {
  const [row] = await query<{ count: number }>(workspaceId, "SELECT count(*) AS count FROM messages WHERE workspace_id = ?", workspaceId);
  return row!.count;
}

test("a question that is sent again with its key is one question of one visitor, with the same answer", async () => {
  const { workspace, agent, visitor } = await createWidget();
  const ada = visitor();
  const key = keyHeader(newId(0, Date.now()));
  const ask = (body: Record<string, unknown>, headers: Record<string, string>) =>
    ada.send("POST", `/agents/${agent.id}/messages`, body, headers);
  const question = { message: "When are refunds paid?" };
  const [first, second] = await Promise.all([ask(question, key), ask(question, key)]);
  const third = await ask(question, key);
  const { visitor_token: _, ...answer } = first.body;
  for (const again of [second, third]) expect(again.body).toMatchObject(answer);
  expect((await conversationOf(workspace, first.body.conversation_id)).message_count).toBe(2);
  // The token of the repeated request is good for the conversation.
  const follow = {
    message: "Do you ship to Norway?",
    conversation_id: first.body.conversation_id,
    visitor_token: third.body.visitor_token,
  };
  const next = keyHeader(newId(0, Date.now()));
  const asked = [await ask(follow, next), await ask(follow, next)];
  expect(asked.map(({ status }) => status)).toEqual([200, 200]);
  expect(asked[0]!.body.message_id).toBe(asked[1]!.body.message_id);
  expect(await countMessages(workspace.id)).toBe(4);
  const usage = (await workspace.call("GET", "/usage")).body.usage;
  expect(usage.messages).toBe(2);
});

test("another question, another visitor and a key of another time are asked anew", async () => {
  const { workspace, agent, visitor } = await createWidget();
  const ada = visitor();
  const ask = (message: string, key: string, token?: string) =>
    ada.send("POST", `/agents/${agent.id}/messages`, { message, visitor_token: token }, keyHeader(key));
  const key = newId(0, Date.now());
  const first = await ask("When are refunds paid?", key);
  const others = [
    await ask("Do you ship to Norway?", key),
    await ask("When are refunds paid?", key, first.body.visitor_token),
    await ask("When are refunds paid?", newId(0, Date.now())),
  ];
  const old = newId(0, Date.now() + 2 * DAY_MS);
  others.push(
    await ask("When are refunds paid?", old),
    await ask("When are refunds paid?", old),
    await ask("When are refunds paid?", "no-uuid"),
  );
  const ids = [first, ...others].map(({ body }) => body.message_id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(await countMessages(workspace.id)).toBe(ids.length * 2);
});
