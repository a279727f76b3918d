import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { newOperation } from "../../src/platform/db/client.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { exportPerson } from "../../src/privacy/export.ts";
import { createAgent, createWorkspace, query } from "../harness.ts";

/** The number of messages in each conversation: few, exactly as many as are read at once, and several pages. */
const LENGTHS = [...Array.from({ length: 118 }, (_, at) => at % 5), 20, 1_100];

test("a person with many conversations is exported completely, in few round trips", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const first = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "Hello", user: { id: "u-1" } });
  const { visitor } = (await workspace.call("GET", `/conversations/${first.body.conversation_id}`)).body;
  const addConversations = `INSERT INTO conversations (id, workspace_id, agent_id, channel, status, visitor_id, last_message_at, created_at, updated_at)
    SELECT 'talk-' || printf('%03d', key), ?, ?, 'api', 'open', ?, 1, 1, 1 FROM json_each(?)`;
  await query(workspace.id, addConversations, workspace.id, agent.id, visitor.id, JSON.stringify(LENGTHS));
  const addMessages = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1100)
    INSERT INTO messages (id, workspace_id, conversation_id, role, author_type, content, needs_human, created_at)
    SELECT 'message-' || key || printf('-%05d', i), ?, 'talk-' || printf('%03d', key), 'user', 'visitor', 'No. ' || i, 0, i
    FROM json_each(?), n WHERE i <= value`;
  await query(workspace.id, addMessages, workspace.id, JSON.stringify(LENGTHS));

  const meter = new Meter();
  let text = "";
  const op = { ...newOperation(env, meter, workspace.id), actor: "operator" };
  for await (const piece of exportPerson(op, { type: "external_id", value: "u-1" }, async (messages) => [...messages])) text += piece;
  const { conversations } = JSON.parse(text) as { conversations: { id: string; messages: { content: string }[] }[] };
  const contents = new Map(conversations.map(({ id, messages }) => [id, messages.map(({ content }) => content)]));
  expect(contents.size).toBe(LENGTHS.length + 1);
  for (const [at, length] of LENGTHS.entries()) {
    const wanted = Array.from({ length }, (_, message) => `No. ${message + 1}`);
    expect(contents.get(`talk-${String(at).padStart(3, "0")}`)).toEqual(wanted);
  }
  // Visitors, leads, two for each 20 conversations, one for each 400 messages that follow the first 20.
  expect(meter.cost.d1Trips).toBeLessThan(22);
});
