import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { createAgent, createWorkspace, deliver, learn, operate, query } from "../../harness.ts";
import { dump, found, load } from "../agent-index.ts";
import { alarmOf, bind, catchUp, countVisible, type Desk, letTimePass, newDesk, runAlarm } from "./desk.ts";

const TEXTS = {
  refunds: "# Refunds\n\nRefunds are paid to the card of the purchase within five working days.",
  shipping: "# Shipping\n\nParcels are sent from Hamburg on the day of the order, Sundays apart.",
};

/** What is stored, but for SQLite's own count of numbers given. */
async function stored({ index }: Desk): Promise<Record<string, unknown[]>> {
  const { sqlite_sequence: _, ...tables } = await runInDurableObject(index, (_, { storage }) => dump(storage.sql));
  return tables;
}

async function finish(desk: Desk): Promise<void> {
  await letTimePass(desk.index);
  await catchUp(desk.index);
  await letTimePass(desk.index);
  await catchUp(desk.index);
}

/** Nothing is left, inside or outside. */
async function expectNothing(desk: Desk): Promise<void> {
  expect(countVisible(desk)).toBe(0);
  expect(await stored(desk)).toEqual({});
  expect(await alarmOf(desk.index)).toBe(null);
}

it("forgets all content at once, and the names of vectors when the outside has forgotten them", async () => {
  const desk = newDesk();
  await load(desk.index, TEXTS);
  await desk.index.putAnswer({ id: "a", question: "Where are you?", answer: "In Bern." });
  await catchUp(desk.index);
  desk.vectors.faults.set("deleteByIds", "fails");
  await desk.index.erase();
  await runAlarm(desk.index);
  expect(Object.keys(await stored(desk)).toSorted()).toEqual(["vector_state", "vectors"]);
  expect(await found(desk.index, "refunds")).toEqual([]);
  expect(await alarmOf(desk.index)).not.toBe(null);
  await evictDurableObject(desk.index);
  await desk.index.erase();
  expect(countVisible(desk)).toBe(2);
  desk.vectors.faults.clear();
  await letTimePass(desk.index);
  await catchUp(desk.index);
  expect(countVisible(desk)).toBe(0);
  await finish({ ...desk });
  await expectNothing(desk);
});

it("forgets at once where no vector was ever sent", async () => {
  const desk = newDesk();
  desk.ai.faults.set("embed", "fails");
  await load(desk.index, TEXTS);
  await runAlarm(desk.index);
  await desk.index.erase();
  await expectNothing(desk);
  await desk.index.erase();
  await runAlarm(desk.index);
  await expectNothing(desk);
});

it("removes what is on its way to the outside while all is erased", async () => {
  const desk = newDesk();
  await load(desk.index, TEXTS);
  desk.vectors.isPrompt = false;
  await runAlarm(desk.index);
  await desk.index.erase();
  await runAlarm(desk.index);
  desk.vectors.settle();
  desk.vectors.isPrompt = true;
  await finish(desk);
  await expectNothing(desk);
});

it("serves an agent that is taught again while its erasure goes on", async () => {
  const desk = newDesk();
  await load(desk.index, TEXTS);
  await catchUp(desk.index);
  await desk.index.erase();
  await load(desk.index, { refunds: TEXTS.refunds });
  await catchUp(desk.index);
  await finish(desk);
  expect(countVisible(desk)).toBe(1);
  expect(await found(desk.index, "refunds")).toEqual(["refunds"]);
});

it("keeps the names where the deployment has no index of vectors any more, until it has one", async () => {
  const desk = newDesk();
  await load(desk.index, TEXTS);
  await catchUp(desk.index);
  bind({ AI: undefined, VECTORS: undefined });
  await evictDurableObject(desk.index);
  await desk.index.erase();
  expect(Object.keys(await stored(desk)).toSorted()).toEqual(["vector_state", "vectors"]);
  expect((await alarmOf(desk.index))!).toBeGreaterThan(Date.now() + 3_600_000);
  await evictDurableObject(desk.index);
  bind({ AI: desk.ai, VECTORS: desk.vectors });
  await catchUp(desk.index);
  await finish(desk);
  await expectNothing(desk);
});

it.each(["agent", "workspace"])("leaves no vector of an erased %s, though the index is down when it is erased", async (what) => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const desk = newDesk(env.INDEX.getByName(`${workspace.id}/${agent.id}`));
  expect(await learn(workspace, agent.id, TEXTS.refunds)).toMatchObject({ status: "ready" });
  await catchUp(desk.index);
  expect(countVisible(desk)).toBe(1);
  desk.vectors.faults.set("deleteByIds", "fails");
  if (what === "agent") await operate("DELETE", `/workspaces/${workspace.id}/agents/${agent.id}`);
  else {
    await operate("DELETE", `/workspaces/${workspace.id}`);
    await deliver("support-agent-erasure", { workspaceId: workspace.id });
    await deliver("support-agent-erasure", { workspaceId: workspace.id });
  }
  expect(await query(agent.id, "SELECT id FROM agents WHERE id = ?", agent.id)).toEqual([]);
  await runAlarm(desk.index);
  expect(await alarmOf(desk.index)).not.toBe(null);
  desk.vectors.faults.clear();
  await letTimePass(desk.index);
  await catchUp(desk.index);
  expect(countVisible(desk)).toBe(0);
  await finish(desk);
  await expectNothing(desk);
});
