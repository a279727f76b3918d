import { expect, test } from "vitest";
import { call } from "./browser.ts";

test("the demo has conversations of three days, in each status that people look at, and a lead", async () => {
  const { daily } = await call<{ daily: { conversations: number }[] }>("GET", "/analytics/overview?days=7");
  expect(daily.filter(({ conversations }) => conversations > 0).length).toBeGreaterThanOrEqual(3);
  for (const status of ["needs_human", "human_active", "ai_handled", "resolved"]) {
    expect((await call<{ total: number }>("GET", `/conversations?status=${status}`)).total, status).toBeGreaterThan(0);
  }
  expect((await call<{ total: number }>("GET", "/leads?q=mary@example.com")).total).toBe(1);
});
