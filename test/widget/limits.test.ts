import { expect, test } from "vitest";
import { createWidget, visitorOf } from "./widget.ts";

const NOBODY = "019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00";

/** The statuses of so many requests, all at once. */
async function statusesOf(count: number, request: () => Promise<{ status: number }>): Promise<Record<number, number>> {
  const answers = await Promise.all(Array.from({ length: count }, request));
  const byStatus = Map.groupBy(answers, ({ status }) => status);
  return Object.fromEntries([...byStatus].map(([status, same]) => [status, same.length]));
}

test("an address may write 60 times a minute, and still read", async () => {
  const visitor = visitorOf(NOBODY);
  expect(await statusesOf(70, () => visitor.write({}))).toEqual({ 404: 60, 429: 10 });
  const refused = await visitor.write({});
  expect(refused.body.error.code).toBe("rate_limited");
  expect(Number(refused.headers.get("Retry-After"))).toBeGreaterThanOrEqual(1);
  expect((await visitor.send("GET", `/agents/${NOBODY}`)).status).toBe(404);
  expect((await visitorOf(NOBODY).write({})).status).toBe(404);
});

test("an address may send 600 requests a minute, preflights included", async () => {
  const visitor = visitorOf(NOBODY);
  expect(await statusesOf(300, () => visitor.send("GET", "/agents/x"))).toEqual({ 422: 300 });
  expect(await statusesOf(310, () => visitor.send("OPTIONS", "/agents/x"))).toEqual({ 204: 300, 429: 10 });
  const refused = await visitor.send("GET", "/agents/x", undefined, { Origin: "https://www.example.com" });
  expect(refused.status).toBe(429);
  // The page may read why.
  expect(refused.headers.get("Access-Control-Allow-Origin")).toBe("https://www.example.com");
});

test("a visitor may send 120 requests and 30 writes a minute, from any address", async () => {
  const { agent, visitor } = await createWidget();
  const { conversation_id: id, visitor_token: token } = (await visitor().write({})).body;
  const rate = () => visitorOf(agent.id).on(token, id, "POST", "csat", { score: 5 });
  expect(await statusesOf(35, rate)).toEqual({ 200: 30, 429: 5 });
  const poll = () => visitorOf(agent.id).on(token, id, "GET", "messages");
  const polled = await statusesOf(120, poll);
  expect(polled[200]).toBe(85);
  expect(Number((await poll()).headers.get("Retry-After"))).toBeGreaterThanOrEqual(1);
  // Another visitor is not held up.
  expect((await visitor().write({})).status).toBe(200);
});
