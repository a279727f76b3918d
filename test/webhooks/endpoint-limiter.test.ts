import { expect, test } from "vitest";
import { EndpointLimiter } from "../../src/webhooks/consumer.ts";

/** Deliveries named by endpoint and number: a1, a2, b1. */
const named = (...names: string[]) => names.map((name) => ({ name, webhookId: name[0]! }));

const runAll = (limiter: EndpointLimiter<{ name: string; webhookId: string }>) => {
  const started: string[] = [];
  for (let next = limiter.start(); next; next = limiter.start()) {
    started.push(next.name);
    limiter.finish(next);
  }
  return started;
};

test("endpoints are served round-robin, each in its own order", () => {
  const limiter = new EndpointLimiter(named("a1", "a2", "a3", "a4", "b1", "b2", "c1"), 1);
  expect(runAll(limiter)).toEqual(["a1", "b1", "c1", "a2", "b2", "a3", "a4"]);
});

test("no endpoint has more than its limit running", () => {
  const limiter = new EndpointLimiter(named("a1", "a2", "a3", "b1"), 2);
  const [a1, b1, a2] = [limiter.start()!, limiter.start()!, limiter.start()!];
  expect([a1.name, b1.name, a2.name]).toEqual(["a1", "b1", "a2"]);
  expect(limiter.start()).toBeUndefined();
  limiter.finish(b1);
  expect(limiter.start()).toBeUndefined();
  limiter.finish(a2);
  expect(limiter.start()).toMatchObject({ name: "a3" });
});

test("a blocked endpoint's deliveries are not started and remain", () => {
  const limiter = new EndpointLimiter(named("a1", "a2", "a3", "b1", "b2"), 1);
  limiter.block(limiter.start()!);
  expect(runAll(limiter)).toEqual(["b1", "b2"]);
  expect(limiter.remaining().map(({ name }) => name)).toEqual(["a2", "a3"]);
  expect([limiter.isBlocked("a"), limiter.isBlocked("b")]).toEqual([true, false]);
});
