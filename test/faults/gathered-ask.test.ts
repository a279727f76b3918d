import { env } from "cloudflare:workers";
import { afterAll, expect } from "vitest";
import { createAgent, createWorkspace, listen } from "../harness.ts";
import { countBy, evictGate, sendUntilAnswered, withEachFault } from "./scenario.ts";

const QUESTION = "Are you open on Sundays?";
const EVENTS = ["conversation.created", "message.ai_replied"];

// Every batch of a session goes through the object that gathers them, as while the database is busy.
const before = { ...env };
Object.assign(env, { GROUP_COMMIT_AFTER_MS: "0" });
afterAll(() => void Object.assign(env, before));

await withEachFault("two questions whose batches are gathered", {
  // The write that marks a curated answer as indexed happens at any time after it was added.
  only: /^(?:D1 (?!writes answers )|COMMITTER )/,
  prepare: async () => {
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace);
    await workspace.call("POST", `/agents/${agent.id}/answers`, { question: QUESTION, answer: "Yes." });
    await listen(workspace, EVENTS);
    await evictGate(workspace);
    const ask = (user: string) =>
      workspace.call("POST", `/agents/${agent.id}/messages`, { message: QUESTION, user: { id: user } }, { "Idempotency-Key": user });
    return { workspace, ask, answers: [] as any[] };
  },
  act: async ({ ask, answers }) => {
    for (const user of ["ann", "ben"]) answers.push((await sendUntilAnswered(() => ask(user))).body);
  },
  check: async ({ workspace, answers }) => {
    expect(answers).toMatchObject([
      { answer: "Yes.", status: "ai_handled" },
      { answer: "Yes.", status: "ai_handled" },
    ]);
    const { data, total } = (await workspace.call("GET", "/conversations")).body;
    expect([total, data.map((one: any) => one.message_count)]).toEqual([2, [2, 2]]);
    expect((await workspace.call("GET", "/usage")).body.usage.messages).toBe(2);
    for (const [table, kind] of [
      ["events", "type"],
      ["deliveries", "event_type"],
    ] as const)
      expect(await countBy(table, kind, workspace.id)).toEqual({ "conversation.created": 2, "message.ai_replied": 2 });
  },
});
