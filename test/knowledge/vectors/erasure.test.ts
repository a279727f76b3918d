import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { createAgent, createWorkspace, deliver, evict, learn, operate, query } from "../../harness.ts";
import { dump, found, load } from "../agent-index.ts";
import { alarmAt, bind, catchUp, countVisible, type VectorSetup, makeAllDue, setUpVectors, runAlarm } from "./setup.ts";

const TEXTS = {
  refunds: "# Refunds\n\nRefunds are paid to the card of the purchase within five working days.",
  shipping: "# Shipping\n\nParcels are sent from Hamburg on the day of the order, Sundays apart.",
};

/** All stored rows, without SQLite's own table of sequences. */
async function stored({ index }: VectorSetup): Promise<Record<string, unknown[]>> {
  const { sqlite_sequence: _, ...tables } = await runInDurableObject(index, (_, { storage }) => dump(storage.sql));
  return tables;
}

async function finish(setup: VectorSetup): Promise<void> {
  await makeAllDue(setup.index);
  await catchUp(setup.index);
  await makeAllDue(setup.index);
  await catchUp(setup.index);
}

/** Neither the object nor the vector index has anything left. */
async function expectNothing(setup: VectorSetup): Promise<void> {
  expect(countVisible(setup)).toBe(0);
  expect(await stored(setup)).toEqual({});
  expect(await alarmAt(setup.index)).toBe(null);
}

test("erasing deletes all content immediately, and the names of vectors once these are deleted", async () => {
  const setup = setUpVectors();
  await load(setup.index, TEXTS);
  await setup.index.putAnswer({ id: "a", question: "Where are you?", answer: "In Bern." });
  await catchUp(setup.index);
  setup.vectors.faults.set("deleteByIds", "fails");
  await setup.index.erase();
  await runAlarm(setup.index);
  expect(Object.keys(await stored(setup)).toSorted()).toEqual(["vector_state", "vectors"]);
  expect(await found(setup.index, "refunds")).toEqual([]);
  expect(await alarmAt(setup.index)).not.toBe(null);
  await evict(setup.index);
  await setup.index.erase();
  expect(countVisible(setup)).toBe(2);
  setup.vectors.faults.clear();
  await makeAllDue(setup.index);
  await catchUp(setup.index);
  expect(countVisible(setup)).toBe(0);
  await finish({ ...setup });
  await expectNothing(setup);
});

test("erasing deletes everything immediately where no vector was sent", async () => {
  const setup = setUpVectors();
  setup.ai.faults.set("embed", "fails");
  await load(setup.index, TEXTS);
  await runAlarm(setup.index);
  await setup.index.erase();
  await expectNothing(setup);
  await setup.index.erase();
  await runAlarm(setup.index);
  await expectNothing(setup);
});

test("vectors that are being written during an erasure are deleted too", async () => {
  const setup = setUpVectors();
  await load(setup.index, TEXTS);
  setup.vectors.isPrompt = false;
  await runAlarm(setup.index);
  await setup.index.erase();
  await runAlarm(setup.index);
  setup.vectors.settle();
  setup.vectors.isPrompt = true;
  await finish(setup);
  await expectNothing(setup);
});

test("an agent can be taught again while its erasure is under way", async () => {
  const setup = setUpVectors();
  await load(setup.index, TEXTS);
  await catchUp(setup.index);
  await setup.index.erase();
  await load(setup.index, { refunds: TEXTS.refunds });
  await catchUp(setup.index);
  await finish(setup);
  expect(countVisible(setup)).toBe(1);
  expect(await found(setup.index, "refunds")).toEqual(["refunds"]);
});

test("without a vector index the names are kept until there is one again", async () => {
  const setup = setUpVectors();
  await load(setup.index, TEXTS);
  await catchUp(setup.index);
  bind({ AI: undefined, VECTORS: undefined });
  await evict(setup.index);
  await setup.index.erase();
  expect(Object.keys(await stored(setup)).toSorted()).toEqual(["vector_state", "vectors"]);
  expect((await alarmAt(setup.index))!).toBeGreaterThan(Date.now() + 3_600_000);
  await evict(setup.index);
  bind({ AI: setup.ai, VECTORS: setup.vectors });
  await catchUp(setup.index);
  await finish(setup);
  await expectNothing(setup);
});

test("what was written after an erasure is erased by the next one, also while there is no vector index", async () => {
  const setup = setUpVectors();
  await load(setup.index, TEXTS);
  await catchUp(setup.index);
  bind({ AI: undefined, VECTORS: undefined });
  await evict(setup.index);
  await setup.index.erase();
  await load(setup.index, { refunds: TEXTS.refunds });
  await setup.index.putAnswer({ id: "a", question: "Where are you?", answer: "In Bern." });
  await setup.index.erase();
  expect(Object.keys(await stored(setup)).toSorted()).toEqual(["vector_state", "vectors"]);
  bind({ AI: setup.ai, VECTORS: setup.vectors });
  await evict(setup.index);
  await finish(setup);
  await expectNothing(setup);
});

test.each(["agent", "workspace"])("no vector of an erased %s stays, even if the vector index is down at first", async (what) => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const setup = setUpVectors(env.INDEX.getByName(`${workspace.id}/${agent.id}`));
  expect(await learn(workspace, agent.id, TEXTS.refunds)).toMatchObject({ status: "ready" });
  await catchUp(setup.index);
  expect(countVisible(setup)).toBe(1);
  setup.vectors.faults.set("deleteByIds", "fails");
  if (what === "agent") await operate("DELETE", `/workspaces/${workspace.id}/agents/${agent.id}`);
  else {
    await operate("DELETE", `/workspaces/${workspace.id}`);
    await deliver("support-agent-erasure", { workspaceId: workspace.id });
    await deliver("support-agent-erasure", { workspaceId: workspace.id });
  }
  expect(await query(agent.id, "SELECT id FROM agents WHERE id = ?", agent.id)).toEqual([]);
  await runAlarm(setup.index);
  expect(await alarmAt(setup.index)).not.toBe(null);
  setup.vectors.faults.clear();
  await makeAllDue(setup.index);
  await catchUp(setup.index);
  expect(countVisible(setup)).toBe(0);
  await finish(setup);
  await expectNothing(setup);
});
