import { expect, test } from "vitest";
import { createAgent, createWorkspace, learn, listen } from "../harness.ts";
import { eraseWhole, exportWorkspace, importFile } from "./file.ts";

test("x", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace, { email_address: `${crypto.randomUUID()}@example.com` });
  await listen(workspace);
  await learn(workspace, agent.id, "# Refunds\n\nRefunds are paid within five working days.");
  await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "When are refunds paid?", user: { id: "ada" } });
  const file = await exportWorkspace(workspace.id, 1);
  console.log(file.end, file.answers);
  await eraseWhole(workspace.id);
  console.log(await importFile(file));
  expect((await workspace.call("GET", "/me")).status).toBe(200);
  expect((await exportWorkspace(workspace.id)).end).toEqual(file.end);
});
