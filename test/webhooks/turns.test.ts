import { expect, test } from "vitest";
import { Turns } from "../../src/webhooks/send-order.ts";

/** Deliveries named by endpoint and number: a1, a2, b1. */
const named = (...names: string[]) => names.map((name) => ({ name, webhookId: name[0]! }));

const takeAll = (turns: Turns<{ name: string; webhookId: string }>) => {
  const taken: string[] = [];
  for (let next = turns.take(); next; next = turns.take()) {
    taken.push(next.name);
    turns.end(next);
  }
  return taken;
};

test("endpoints take turns, each in its own order", () => {
  expect(takeAll(new Turns(named("a1", "a2", "a3", "a4", "b1", "b2", "c1"), 1))).toEqual(["a1", "b1", "c1", "a2", "b2", "a3", "a4"]);
});

test("no endpoint has more open than it may", () => {
  const turns = new Turns(named("a1", "a2", "a3", "b1"), 2);
  const [a1, b1, a2] = [turns.take()!, turns.take()!, turns.take()!];
  expect([a1.name, b1.name, a2.name]).toEqual(["a1", "b1", "a2"]);
  expect(turns.take()).toBeUndefined();
  turns.end(b1);
  expect(turns.take()).toBeUndefined();
  turns.end(a2);
  expect(turns.take()).toMatchObject({ name: "a3" });
});

test("an endpoint that is left gets no more turns; what it would have had is the rest", () => {
  const turns = new Turns(named("a1", "a2", "a3", "b1", "b2"), 1);
  turns.leave(turns.take()!);
  expect(takeAll(turns)).toEqual(["b1", "b2"]);
  expect(turns.rest().map(({ name }) => name)).toEqual(["a2", "a3"]);
  expect([turns.isLeft("a"), turns.isLeft("b")]).toEqual([true, false]);
});
