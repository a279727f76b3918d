import { expect, test } from "vitest";
import { createAgent, createWorkspace, learn } from "../harness.ts";

test("a new agent learns a text and answers from it, with its source", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const source = await learn(
    workspace,
    agent.id,
    "# Refunds\n\nRefunds are paid within five working days.\n\n# Shipping\n\nParcels leave our warehouse every evening.",
  );
  expect(source).toMatchObject({ status: "ready", chunks_count: 1 });
  const asked = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "When are refunds paid?" });
  expect(asked.status).toBe(200);
  expect(asked.body).toMatchObject({
    answer: expect.stringContaining("within five working days"),
    needs_human: false,
    status: "ai_handled",
  });
  expect(asked.body.citations).toMatchObject([{ source_id: source.id, type: "text" }]);
});
