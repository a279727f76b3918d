import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { restoreDemo } from "../../scripts/dev/past-days.ts";
import { addSamples } from "../../scripts/dev/samples.ts";
import { type Client, createClient } from "../../scripts/shared/service.ts";
import { call, operate, send, service } from "./browser.ts";

test("the demo has conversations of three days, in each status that people look at, and a lead", async () => {
  const { daily } = await call<{ daily: { conversations: number }[] }>("GET", "/analytics/overview?days=7");
  expect(daily.filter(({ conversations }) => conversations > 0).length).toBeGreaterThanOrEqual(3);
  for (const status of ["needs_human", "human_active", "ai_handled", "resolved"]) {
    expect((await call<{ total: number }>("GET", `/conversations?status=${status}`)).total, status).toBeGreaterThan(0);
  }
  expect((await call<{ total: number }>("GET", "/leads?q=mary@example.com")).total).toBe(1);
});

test("the samples are there once, though the starts that added them were killed", async () => {
  const slug = `demo-${crypto.randomUUID().slice(0, 8)}`;
  const { id } = await operate<{ id: string }>("POST", "/workspaces", { name: slug, slug, plan: "enterprise" });
  const agent = await operate<{ id: string }>("POST", `/workspaces/${id}/agents`, { name: "Demo agent" });
  const { key: apiKey } = await operate<{ key: string }>("POST", `/workspaces/${id}/keys`, { name: "Demo key", scopes: ["*"] });
  const client = createClient(service.url, apiKey);
  const folder = await mkdtemp(join(tmpdir(), "demo-"));
  const file = join(folder, "backup.ndjson");
  const start = async (own: Client) => {
    await restoreDemo(service, file);
    await addSamples(service, own, { apiKey, agentId: agent.id }, file);
  };
  const killedAt = (person: string): Client => ({
    send: (method, path, body) => {
      if (JSON.stringify(body)?.includes(person)) throw new Error("killed");
      return client.send(method, path, body);
    },
  });
  // The start is killed while the past days are filled, and after them.
  for (const person of ["sample-radia", "sample-alan"]) await expect(start(killedAt(person))).rejects.toThrow("killed");
  await start(client);
  expect(existsSync(file)).toBe(false);
  await rm(folder, { recursive: true });
  const { total } = await send<{ total: number }>("GET", "/api/v1/conversations", apiKey);
  const { daily } = await send<{ daily: { conversations: number }[] }>("GET", "/api/v1/analytics/overview?days=7", apiKey);
  expect([total, daily.map(({ conversations }) => conversations).slice(-4)]).toEqual([18, [0, 4, 8, 6]]);
  expect((await send<{ total: number }>("GET", "/api/v1/leads", apiKey)).total).toBe(1);
});
