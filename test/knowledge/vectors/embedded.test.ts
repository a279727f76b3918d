import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { EmbeddedVectors, EMBEDDED_TABLE } from "../../../src/knowledge/vectors/embedded-vectors.ts";
import { NEAREST } from "../../../src/knowledge/vectors/vector-index.ts";
import { sketchOf, Sketches } from "../../../src/knowledge/vectors/sketches.ts";
import { costOf, createAgent, createWorkspace, evict, learn } from "../../harness.ts";
import { EmbeddingServerStandIn } from "../../stand-ins/openai-embeddings.ts";
import { dump, found, type Index, ingest, load, newIndex, search, ROOM } from "../agent-index.ts";
import { alarmAt, bind, catchUp, countVisible, makeAllDue, runAlarm, setUpVectors } from "./setup.ts";

const TEXTS = {
  refunds: "# Money back\n\nRefunds go to the card of the purchase. A refund takes five working days.",
  shipping: "# Parcels\n\nParcels leave Hamburg each evening and arrive within two days.",
  cars: "# Rental\n\nOur cars are washed before each rental, and every car has a full tank.",
};

let server: EmbeddingServerStandIn;

beforeEach(() => {
  server = new EmbeddingServerStandIn({ small: 256, large: 512 });
  configure("small");
  const original = globalThis.fetch;
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    const request = new Request(input, init);
    return (await server.answer(request)) ?? original(request);
  });
});

afterEach(() => {
  vi.restoreAllMocks();
  bind({ OPENAI_BASE_URL: "", OPENAI_MODEL: "", OPENAI_EMBEDDING_MODEL: undefined });
  bind({ AI: undefined, VECTORS: undefined, MAX_EMBEDDED_VECTORS: undefined, VECTORS_ROUND: undefined });
});

function configure(model: string): void {
  bind({ OPENAI_BASE_URL: server.baseUrl, OPENAI_MODEL: "writer", OPENAI_EMBEDDING_MODEL: model });
}

async function newTaughtIndex(texts: Record<string, string> = TEXTS): Promise<Index> {
  const index = newIndex();
  await load(index, texts);
  await catchUp(index);
  return index;
}

/** The stored vectors of each version. */
function storedVectors(index: Index): Promise<Record<string, number>> {
  return runInDurableObject(index, (_, { storage: { sql } }) => {
    const query = "SELECT version, count(*) AS count FROM embedded_vectors GROUP BY version";
    const rows = sql.exec<{ version: string; count: number }>(query).toArray();
    return Object.fromEntries(rows.map(({ version, count }) => [version, count]));
  });
}

const SMALL = "object/1/1/small:own";
const LARGE = "object/1/1/large:own";

describe("without Vectorize", () => {
  test("a question in other words finds its passage", async () => {
    const index = await newTaughtIndex();
    expect((await found(index, "recompense"))[0]).toBe("refunds");
    expect((await found(index, "automobiles"))[0]).toBe("cars");
    expect(await storedVectors(index)).toEqual({ [SMALL]: 3 });
  });

  test("vectors survive an eviction, and no text is embedded twice", async () => {
    const index = await newTaughtIndex();
    await evict(index);
    server.embedded.length = 0;
    expect((await found(index, "recompense"))[0]).toBe("refunds");
    await catchUp(index);
    expect(server.embedded).toEqual([{ model: "small", text: "recompense" }]);
  });

  test("texts that are added after a search are found by the next", async () => {
    const index = await newTaughtIndex({ shipping: TEXTS.shipping });
    expect(await found(index, "recompense")).not.toContain("refunds");
    await load(index, { refunds: TEXTS.refunds });
    await catchUp(index);
    expect((await found(index, "recompense"))[0]).toBe("refunds");
  });

  test("removing a source removes its vectors", async () => {
    const index = await newTaughtIndex();
    expect((await found(index, "recompense"))[0]).toBe("refunds");
    await index.removeSource("refunds");
    expect(await found(index, "recompense")).not.toContain("refunds");
    await catchUp(index);
    expect(await storedVectors(index)).toEqual({ [SMALL]: 2 });
    const names = await runInDurableObject(index, (_, { storage: { sql } }) => sql.exec("SELECT name FROM vectors").toArray());
    expect(names).toHaveLength(2);
  });

  test("vectors of a removed source are deleted even after the model was switched off", async () => {
    const index = await newTaughtIndex();
    bind({ OPENAI_EMBEDDING_MODEL: "" });
    await evict(index);
    await index.removeSource("refunds");
    expect(await alarmAt(index)).not.toBe(null);
    await runAlarm(index);
    expect(await storedVectors(index)).toEqual({ [SMALL]: 2 });
  });

  test("erasing leaves nothing", async () => {
    const index = await newTaughtIndex();
    await index.erase();
    const { sqlite_sequence: _, ...tables } = await runInDurableObject(index, (_, { storage }) => dump(storage.sql));
    expect(tables).toEqual({});
    expect(await found(index, "recompense")).toEqual([]);
  });

  test("chunks of a generation that is being built are not found", async () => {
    const index = await newTaughtIndex();
    const section = (at: number) => `## Offer ${at}\n\nA reimbursement number ${at} is offered for every purchase that was made today.`;
    await index.stageText("offers", "Offers", Array.from({ length: 150 }, (_, at) => section(at)).join("\n\n"), ROOM);
    await index.ingestText("offers", "run");
    await catchUp(index);
    expect(await found(index, "reimbursement number 7")).not.toContain("offers");
    await ingest(index, "offers", "run");
    expect((await found(index, "reimbursement number 7"))[0]).toBe("offers");
  });

  test("an object that is full embeds no more, and the other chunks are found by their words", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
    bind({ MAX_EMBEDDED_VECTORS: "2" });
    const index = await newTaughtIndex({ refunds: TEXTS.refunds, shipping: TEXTS.shipping });
    await load(index, { cars: TEXTS.cars });
    await catchUp(index);
    expect(await storedVectors(index)).toEqual({ [SMALL]: 2 });
    expect(log.mock.calls.some(([line]) => String(line).includes("vectors_full"))).toBe(true);
    expect((await found(index, "cars"))[0]).toBe("cars");
    await index.removeSource("refunds");
    await makeAllDue(index);
    await catchUp(index);
    expect((await found(index, "automobiles"))[0]).toBe("cars");
  });

  test("a question costs no more round trips", async () => {
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace);
    await learn(workspace, agent.id, TEXTS.refunds);
    await catchUp(env.INDEX.getByName(`${workspace.id}/${agent.id}`));
    const ask = () => workspace.call("POST", `/agents/${agent.id}/search`, { query: "recompense" });
    expect((await ask()).body.data[0].content).toContain("Refunds go to the card");
    expect(await costOf(ask)).toMatchObject({ object_hops: 2, d1_trips: 1 });
  });
});

describe("when the server fails", () => {
  test("search is lexical while it is down, and the log says so once", async () => {
    const index = await newTaughtIndex();
    server.isDown = true;
    const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
    vi.spyOn(Date, "now").mockReturnValue(Date.now() + 9 * 3_600_000);
    for (const word of ["refund", "refunds", "purchase"]) expect((await found(index, word))[0]).toBe("refunds");
    expect(log.mock.calls.filter(([line]) => String(line).includes("semantic_search_failed"))).toHaveLength(1);
  });

  test("vectors of other dimensions are not stored, and a question of other dimensions is answered by words", async () => {
    const index = await newTaughtIndex();
    server.models.set("small", 300);
    const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
    await load(index, { more: "# Vans\n\nA van is an automobile with much room." });
    await runAlarm(index);
    expect(await storedVectors(index)).toEqual({ [SMALL]: 3 });
    expect(log.mock.calls.some(([line]) => /vectors_failed.*WrongDimensionsError/.test(String(line)))).toBe(true);
    expect(await found(index, "vans")).toEqual(["more"]);
    bind({ VECTORS_ROUND: "2" });
    await evict(index);
    await found(index, "vans");
    await catchUp(index);
    expect(await storedVectors(index)).toEqual({ "object/1/2/small:own": 4 });
    expect((await found(index, "recompense"))[0]).toBe("refunds");
  });
});

describe("another model", () => {
  test("embeds everything again while the vectors of the old one serve", async () => {
    const index = await newTaughtIndex();
    configure("large");
    server.isDown = "large";
    await evict(index);
    expect((await found(index, "recompense"))[0]).toBe("refunds");
    await runAlarm(index);
    server.embedded.length = 0;
    expect((await found(index, "automobiles"))[0]).toBe("cars");
    expect(server.embedded).toEqual([{ model: "small", text: "automobiles" }]);
    // A source that is removed meanwhile is removed from the old vectors too.
    await index.removeSource("cars");
    expect(await found(index, "automobiles")).not.toContain("cars");
    server.isDown = false;
    await makeAllDue(index);
    await catchUp(index);
    expect(await storedVectors(index)).toEqual({ [LARGE]: 2 });
    server.embedded.length = 0;
    expect((await found(index, "recompense"))[0]).toBe("refunds");
    expect(server.embedded).toEqual([{ model: "large", text: "recompense" }]);
  });

  test("search is lexical until the new vectors are there, where the server no longer has the old model", async () => {
    const index = await newTaughtIndex();
    configure("large");
    server.models.delete("small");
    server.isDown = "large";
    await evict(index);
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    expect(await found(index, "recompense")).toEqual([]);
    expect((await found(index, "refund"))[0]).toBe("refunds");
    server.isDown = false;
    await makeAllDue(index);
    await catchUp(index);
    expect((await found(index, "recompense"))[0]).toBe("refunds");
    expect(await storedVectors(index)).toEqual({ [LARGE]: 3 });
  });

  test("a return to the old model embeds nothing", async () => {
    const index = await newTaughtIndex();
    configure("large");
    server.isDown = "large";
    await evict(index);
    await found(index, "refund");
    await runAlarm(index);
    configure("small");
    await evict(index);
    server.embedded.length = 0;
    await found(index, "recompense");
    await makeAllDue(index);
    await catchUp(index);
    expect(server.embedded).toEqual([{ model: "small", text: "recompense" }]);
    expect(await storedVectors(index)).toEqual({ [SMALL]: 3 });
    expect((await found(index, "automobiles"))[0]).toBe("cars");
  });
});

describe("with Vectorize", () => {
  test("a small agent never calls it", async () => {
    const setup = setUpVectors();
    bind({ OPENAI_EMBEDDING_MODEL: "", MAX_EMBEDDED_VECTORS: "" });
    await load(setup.index, TEXTS);
    await catchUp(setup.index);
    expect((await found(setup.index, "recompense"))[0]).toBe("refunds");
    expect(setup.vectors.calls).toEqual([]);
  });

  test("an agent moves to it when it has become too large, and back at half of that", async () => {
    const setup = setUpVectors();
    bind({ OPENAI_EMBEDDING_MODEL: "", MAX_EMBEDDED_VECTORS: "2" });
    const { shipping, refunds, cars } = TEXTS;
    await load(setup.index, { shipping, refunds });
    await catchUp(setup.index);
    expect(countVisible(setup)).toBe(0);
    setup.vectors.faults.set("upsert", "fails");
    await load(setup.index, { cars });
    await runAlarm(setup.index);
    await runAlarm(setup.index);
    expect((await found(setup.index, "recompense"))[0]).toBe("refunds");
    expect(setup.vectors.calls.map(({ name }) => name)).not.toContain("query");
    setup.vectors.faults.clear();
    await makeAllDue(setup.index);
    await catchUp(setup.index);
    expect(countVisible(setup)).toBe(3);
    expect(await storedVectors(setup.index)).toEqual({});
    expect((await found(setup.index, "recompense"))[0]).toBe("refunds");
    expect(setup.vectors.calls.map(({ name }) => name)).toContain("query");
    await setup.index.removeSource("cars");
    await catchUp(setup.index);
    expect(countVisible(setup)).toBe(2);
    await setup.index.removeSource("shipping");
    await catchUp(setup.index);
    await catchUp(setup.index);
    await makeAllDue(setup.index);
    await catchUp(setup.index);
    expect(countVisible(setup)).toBe(0);
    expect(Object.values(await storedVectors(setup.index))).toEqual([1]);
    expect((await found(setup.index, "recompense"))[0]).toBe("refunds");
  });

  test("an agent whose vectors are in Vectorize keeps them there until it may have them in its object", async () => {
    const setup = setUpVectors();
    bind({ OPENAI_EMBEDDING_MODEL: "" });
    await load(setup.index, TEXTS);
    await catchUp(setup.index);
    await evict(setup.index);
    setup.ai.clear();
    expect((await found(setup.index, "recompense"))[0]).toBe("refunds");
    await setup.index.removeSource("refunds");
    await catchUp(setup.index);
    expect(countVisible(setup)).toBe(2);
    expect(setup.ai.embedded).toEqual(["recompense"]);
    bind({ MAX_EMBEDDED_VECTORS: "10" });
    await evict(setup.index);
    await search(setup.index, "automobiles");
    await catchUp(setup.index);
    expect((await found(setup.index, "automobiles"))[0]).toBe("cars");
    expect(countVisible(setup)).toBe(0);
  });
});

describe("the scan", () => {
  const random = (seed: number) => {
    let state = seed;
    return () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32 - 0.5;
  };
  const vectorsNear = (subject: number, count: number) => {
    const [base, own] = [random(subject * 7_919 + 1), random(subject * 104_729 + 3)];
    const center = Array.from({ length: 100 }, base);
    return Array.from({ length: count }, () => center.map((value) => value + 0.7 * own()));
  };
  const set = { workspaceId: "", agentId: "", version: "one" };

  test("finds the nearest of many vectors, whose dimensions are no multiple of eight", async () => {
    await runInDurableObject(newIndex(), async (_, { storage: { sql } }) => {
      sql.exec(EMBEDDED_TABLE);
      const vectors = new EmbeddedVectors(sql);
      for (let subject = 0; subject < 20; subject++) {
        const named = vectorsNear(subject, 60).map((values, at) => ({ name: `${subject}/${at}`, values }));
        await vectors.upsert(set, named);
      }
      for (const subject of [0, 7, 19]) {
        const [question] = vectorsNear(subject, 1);
        const nearest = await vectors.nearest(set, question!, { count: NEAREST });
        expect(nearest).toHaveLength(50);
        expect(nearest[0]).toMatchObject({ name: `${subject}/0` });
        expect(nearest[0]!.cosine).toBeGreaterThan(0.999);
        expect(nearest.every(({ name }) => name.startsWith(`${subject}/`))).toBe(true);
      }
      await vectors.delete(set, ["7/0", "7/1"]);
      expect((await vectors.nearest(set, vectorsNear(7, 1)[0]!, { count: NEAREST })).map(({ name }) => name)).not.toContain("7/0");
      expect(await vectors.nearest({ ...set, version: "other" }, vectorsNear(7, 1)[0]!, { count: NEAREST })).toEqual([]);
      await expect(vectors.nearest(set, [1, 2, 3], { count: NEAREST })).rejects.toThrow("3 dimensions");
      await expect(vectors.upsert(set, [{ name: "x", values: [1, 2] }])).rejects.toThrow("2 dimensions");
      await expect(
        vectors.upsert({ ...set, version: "long" }, [{ name: "x", values: Array.from({ length: 5_000 }, () => 1) }]),
      ).rejects.toThrow("4096");
    });
  });

  test("gives the memory of agents that were not searched lately to others", () => {
    const large = () => {
      const sketches = new Sketches(4_096);
      const sketch = sketchOf(Int8Array.from({ length: 4_096 }, () => 1));
      for (let at = 0; at < 30_000; at++) sketches.add(at, sketch);
      return sketches;
    };
    const [first, second] = [large(), large()];
    first.markUsed();
    second.markUsed();
    first.markUsed();
    const third = large();
    third.markUsed();
    expect([first.isReleased, second.isReleased, third.isReleased]).toEqual([false, true, false]);
    first.release();
    third.release();
  });
});
