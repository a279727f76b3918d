import { expect, test } from "vitest";
import { createAgent, query } from "../harness.ts";
import { createWidget, visitorOf } from "./widget.ts";

const list = (ada: ReturnType<typeof visitorOf>, token: string) =>
  ada.send("GET", "/conversations", undefined, { Authorization: `Bearer ${token}` });

test("a visitor lists their own conversations with the agent, latest first, and nobody else's", async () => {
  const { workspace, visitor } = await createWidget();
  const [ada, bob] = [visitor(), visitor()];
  const first = await ada.write({});
  const { visitor_token: token } = first.body;
  const second = await ada.write({ visitor_token: token, message: "Do you ship to Norway?" });
  await bob.write({});
  const other = await createAgent(workspace);
  await visitorOf(other.id).write({});
  const { status, body } = await list(ada, token);
  expect(status).toBe(200);
  expect(body.data.map(({ id }: { id: string }) => id)).toEqual([second.body.conversation_id, first.body.conversation_id]);
  expect(body.data[0]).toEqual({
    id: second.body.conversation_id,
    status: "ai_handled",
    last_message_preview: second.body.answer.slice(0, 200),
    last_message_at: expect.stringMatching(/Z$/),
    created_at: expect.stringMatching(/Z$/),
  });
});

test("the list of past conversations needs a valid token and an allowed origin", async () => {
  const { agent, visitor } = await createWidget();
  const ada = visitor();
  const { visitor_token: token } = (await ada.write({})).body;
  expect((await ada.send("GET", "/conversations")).body.error.code).toBe("missing_visitor_token");
  expect((await list(ada, `${token}x`)).body.error.code).toBe("invalid_visitor_token");
  const foreign = await ada.send("GET", "/conversations", undefined, { Authorization: `Bearer ${token}`, Origin: "https://evil.example" });
  expect(foreign.body.error.code).toBe("origin_not_allowed");
  await ada.send("POST", "/sessions/end", undefined, { Authorization: `Bearer ${token}` });
  expect((await list(ada, token)).status).toBe(401);
  expect(await query(agent.id, "SELECT id FROM conversations WHERE agent_id = ?", agent.id)).toHaveLength(1);
});
