import { env } from "cloudflare:workers";
import { afterAll, expect } from "vitest";
import { createAgent, createWorkspace } from "../harness.ts";
import { sendUntilAnswered, withEachFault } from "./scenario.ts";

Reflect.set(env, "DATABASE_REGIONS", "0=weur, 1=weur");
afterAll(() => Reflect.set(env, "DATABASE_REGIONS", ""));

await withEachFault("a question from far away", {
  only: /^ENTRY/,
  prepare: async () => {
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace);
    await workspace.call("POST", `/agents/${agent.id}/answers`, { question: "Are you open on Sundays?", answer: "Yes." });
    const ask = () =>
      workspace.call("POST", `/agents/${agent.id}/messages`, { message: "Are you open on Sundays?" }, { "Idempotency-Key": "once" });
    return { workspace, ask, result: {} as Record<string, any> };
  },
  act: async (stage) => {
    stage.result = (await sendUntilAnswered(stage.ask)).body;
  },
  check: async ({ workspace, ask, result }) => {
    expect(result).toMatchObject({ answer: "Yes.", status: "ai_handled" });
    const { body } = await workspace.call("GET", "/conversations");
    expect(body.data).toMatchObject([{ id: result["conversation_id"], message_count: 2 }]);
    expect((await workspace.call("GET", "/usage")).body.usage.messages).toBe(1);
    expect((await ask()).body).toEqual(result);
  },
});
