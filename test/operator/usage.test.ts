import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { createAgent, createWorkspace, createWorkspaceOn, learn, operate, query, send } from "../harness.ts";

test("the operator reads a workspace's usage as the workspace does", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  await learn(workspace, agent.id, "# Refunds\n\nRefunds are paid within five working days.");
  await workspace.call("POST", `/agents/${agent.id}/answers`, { question: "Who?", answer: "Us." });
  await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "When are refunds paid?" });
  const { workspace: named, ...usage } = await operate("GET", `/workspaces/${workspace.id}/usage`);
  expect(named).toMatchObject({ id: workspace.id, name: "Test" });
  expect(usage).toEqual((await workspace.call("GET", "/usage")).body);
  expect(usage.usage).toMatchObject({ messages: 1, agents: 1, sources: 1, answers: 1 });
});

test("all workspaces' usage is one list, over all databases", async () => {
  const made = [await createWorkspaceOn(0), await createWorkspaceOn(1), await createWorkspaceOn(0)];
  for (const [at, { id }] of made.entries()) {
    await query(id, "INSERT INTO usage_periods (workspace_id, period, messages) VALUES (?, '2026-01', ?)", id, at + 5);
  }
  const page = await operate("GET", "/usage?period=2026-01&limit=100");
  expect(page.total).toBeGreaterThanOrEqual(3);
  const messages = new Map(page.data.map((one: any) => [one.workspace.id, one.usage.messages]));
  expect(made.map(({ id }) => messages.get(id))).toEqual([5, 6, 7]);
  expect(page.data[0].period).toEqual({ start: "2026-01-01T00:00:00.000Z", end: "2026-02-01T00:00:00.000Z" });
  const second = await operate("GET", "/usage?period=2026-01&limit=1&offset=1");
  expect(second.data).toEqual([page.data[1]]);
});

test("a period is a month", async () => {
  for (const period of ["2026", "2026-13", "2026-1"]) {
    const answer = await send("GET", `/operator/v1/usage?period=${period}`, { token: env.OPERATOR_TOKEN });
    expect(answer.status, period).toBe(422);
  }
});
