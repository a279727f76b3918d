import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { reciprocalRankFusion } from "../../../src/knowledge/retrieval/hybrid-search.ts";
import { costOf, createAgent, createNeighbour, createWorkspace, evict, learn } from "../../harness.ts";
import { found, ingest, load, newIndex, search, ROOM } from "../agent-index.ts";
import { bind, catchUp, type VectorSetup, setUpVectors } from "./setup.ts";
import { newId } from "../../../src/platform/db/ids.ts";

const TEXTS = {
  refunds: "# Money back\n\nRefunds go to the card of the purchase. A refund takes five working days.",
  shipping: "# Parcels\n\nParcels leave Hamburg each evening and arrive within two days.",
  cars: "# Rental\n\nOur cars are washed before each rental, and every car has a full tank.",
};

afterEach(() => {
  bind({ RERANK_PASSAGES: undefined });
  vi.restoreAllMocks();
});

async function setUpWithTexts(texts: Record<string, string> = TEXTS, index = newIndex()): Promise<VectorSetup> {
  const setup = setUpVectors(index);
  await load(setup.index, texts);
  await catchUp(setup.index);
  return setup;
}

describe("reciprocal rank fusion", () => {
  test("puts ids of both rankings first, then sorts by rank", () => {
    expect(
      reciprocalRankFusion([
        [1, 2, 3],
        [4, 3, 5],
      ]),
    ).toEqual([3, 1, 4, 2, 5]);
    expect(reciprocalRankFusion([[1, 2], []])).toEqual([1, 2]);
    expect(reciprocalRankFusion([[], []])).toEqual([]);
    expect(
      reciprocalRankFusion([
        [1, 2],
        [2, 1],
      ]),
    ).toEqual([1, 2]);
  });

  test("weighs two ranks of 61 more than one first rank, and lower ones less", () => {
    const at = (rank: number, from: number) => Array.from({ length: rank }, (_, before) => (before === rank - 1 ? 2 : from + before));
    const place = (rank: number, id: number) => reciprocalRankFusion([[1], at(rank, 100), at(rank, 1_000)]).indexOf(id);
    expect(place(61, 2)).toBeLessThan(place(61, 1));
    expect(place(63, 2)).toBeGreaterThan(place(63, 1));
  });
});

describe("semantic search", () => {
  test("finds chunks that share no word with the question", async () => {
    const setup = await setUpWithTexts();
    expect(await found(setup.index, "recompense")).toContain("refunds");
    expect((await found(setup.index, "recompense"))[0]).toBe("refunds");
    expect((await found(setup.index, "which automobiles have a full tank"))[0]).toBe("cars");
    const { passages } = await search(setup.index, "recompense");
    for (const { score } of passages) expect(score > 0 && score <= 1).toBe(true);
  });

  test("starts when the vectors are visible; until then search is lexical", async () => {
    const setup = setUpVectors();
    setup.vectors.isPrompt = false;
    await load(setup.index, TEXTS);
    await catchUp(setup.index);
    expect(setup.vectors.waitingCount).toBeGreaterThan(0);
    expect(await found(setup.index, "recompense")).toEqual([]);
    expect((await found(setup.index, "refund"))[0]).toBe("refunds");
    setup.vectors.settle();
    expect((await found(setup.index, "recompense"))[0]).toBe("refunds");
  });

  test("embeds a question that needs context together with the one before it", async () => {
    const setup = await setUpWithTexts();
    setup.ai.clear();
    await search(setup.index, "And how long does that take?", "I want a recompense");
    await search(setup.index, "Where do parcels leave in the evening?", "I want a recompense");
    expect(setup.ai.embedded).toEqual(["I want a recompense\nAnd how long does that take?", "Where do parcels leave in the evening?"]);
  });

  test("embeds the same question once", async () => {
    const setup = await setUpWithTexts();
    setup.ai.clear();
    for (let time = 0; time < 3; time++) expect((await found(setup.index, "recompense"))[0]).toBe("refunds");
    expect(setup.ai.embedded).toEqual(["recompense"]);
  });

  test("does not return deleted chunks whose vectors are still visible", async () => {
    const setup = await setUpWithTexts();
    setup.vectors.isPrompt = false;
    await setup.index.removeSource("refunds");
    expect(await found(setup.index, "recompense")).not.toContain("refunds");
    expect(setup.vectors.visible.size).toBe(3);
  });

  test("does not return chunks of a generation that is being built", async () => {
    const setup = await setUpWithTexts();
    const section = (at: number) => `## Offer ${at}\n\nA reimbursement number ${at} is offered for every purchase that was made today.`;
    await setup.index.stageText("offers", "Offers", Array.from({ length: 150 }, (_, at) => section(at)).join("\n\n"), ROOM);
    await setup.index.ingestText("offers", "run");
    await catchUp(setup.index);
    expect(setup.vectors.visible.size).toBeGreaterThan(50);
    expect(await found(setup.index, "reimbursement number 7")).not.toContain("offers");
    await ingest(setup.index, "offers", "run");
    expect((await found(setup.index, "reimbursement number 7"))[0]).toBe("offers");
  });

  test("does not return chunks of another agent or workspace, even if the vector index mixes them up", async () => {
    const workspaceId = newId(0, Date.now());
    const [own, colleague, stranger] = [`${workspaceId}/${crypto.randomUUID()}`, `${workspaceId}/${crypto.randomUUID()}`, undefined].map(
      (name) => (name === undefined ? newIndex() : env.INDEX.getByName(name)),
    );
    const setup = setUpVectors(own);
    await load(own!, { shipping: TEXTS.shipping });
    await load(colleague!, { secret: TEXTS.refunds });
    await load(stranger!, { secret: TEXTS.refunds, same: TEXTS.shipping });
    for (const index of [own!, colleague!, stranger!]) await catchUp(index);
    const asked = await setup.vectors.query(((await setup.ai.run("@cf/baai/bge-m3", { text: ["refund"] })) as any).data[0], {
      topK: 50,
      namespace: workspaceId,
      filter: { agent: own!.name!.split("/")[1]! },
    });
    expect(asked.matches).toHaveLength(1);
    setup.vectors.leaks = true;
    expect(await found(own!, "recompense")).not.toContain("secret");
    expect(await found(own!, "parcels Hamburg")).toEqual(["shipping"]);
  });
});

describe("when embeddings or the vector index fail", () => {
  test.each(["embed", "query"] as const)("search is lexical when %s fails, and logs it once", async (part) => {
    const setup = await setUpWithTexts();
    if (part === "embed") setup.ai.faults.set("embed", "fails");
    else setup.vectors.faults.set("query", "fails");
    const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
    vi.spyOn(Date, "now").mockReturnValue(Date.now() + (part === "embed" ? 1 : 2) * 3_600_000);
    for (const word of ["refund", "refunds", "purchase"]) expect((await found(setup.index, word))[0]).toBe("refunds");
    expect(log.mock.calls.filter(([line]) => String(line).includes("semantic_search_failed"))).toHaveLength(1);
    vi.restoreAllMocks();
    setup.ai.faults.clear();
    setup.vectors.faults.clear();
    expect((await found(setup.index, "recompense"))[0]).toBe("refunds");
  });

  test.each(["embed", "query"] as const)("a slow %s times out, and is skipped for a while", async (part) => {
    const setup = await setUpWithTexts();
    if (part === "embed") setup.ai.faults.set("embed", "hangs");
    else setup.vectors.faults.set("query", "hangs");
    expect((await found(setup.index, "refund"))[0]).toBe("refunds");
    setup.ai.faults.clear();
    setup.vectors.faults.clear();
    setup.ai.clear();
    expect((await found(setup.index, "refunds"))[0]).toBe("refunds");
    expect(setup.ai.embedded).toEqual([]);
  });

  test("an empty index makes no calls", async () => {
    const setup = setUpVectors();
    expect(await found(setup.index, "refund")).toEqual([]);
    expect([setup.ai.batches, setup.vectors.calls]).toEqual([[], []]);
  });
});

describe("reranking", () => {
  const PAIR = {
    one: "# Notes\n\nThe refund, refund, refund of the card. Refund refunds refunded, and a refund of refunds.",
    two: "# Other notes\n\nA refund of a cancelled subscription takes five days, says the bank, when the subscription was new.",
  };
  const QUESTION = "refund of a cancelled subscription that automobile drivers have";

  test("decides the order where it is switched on", async () => {
    bind({ RERANK_PASSAGES: "true" });
    const setup = await setUpWithTexts({ ...PAIR, cars: TEXTS.cars });
    const { passages } = await search(setup.index, QUESTION);
    expect(setup.ai.reranked).toHaveLength(1);
    expect(setup.ai.reranked[0]!.query).toBe(QUESTION);
    expect(passages[0]!.sourceId).toBe("two");
    expect(passages.map(({ score }) => score)).toEqual(passages.map(({ score }) => score).toSorted((a, b) => b - a));
  });

  test.each(["fails", "nonsense", "hangs"] as const)("keeps the order when it %s", async (fault) => {
    bind({ RERANK_PASSAGES: "true" });
    const setup = await setUpWithTexts(PAIR);
    setup.ai.faults.set("rerank", fault);
    const { passages } = await search(setup.index, QUESTION);
    expect(setup.ai.reranked.length).toBe(1);
    bind({ RERANK_PASSAGES: undefined });
    await evict(setup.index);
    expect((await search(setup.index, QUESTION)).passages).toEqual(passages);
    expect(setup.ai.reranked.length).toBe(1);
  });
});

test("semantic search adds no object hops and D1 trips", async () => {
  const workspace = await createWorkspace();
  await createNeighbour(workspace);
  const agent = await createAgent(workspace);
  const setup = setUpVectors(env.INDEX.getByName(`${workspace.id}/${agent.id}`));
  await learn(workspace, agent.id, TEXTS.refunds);
  await catchUp(setup.index);
  const ask = () => workspace.call("POST", `/agents/${agent.id}/search`, { query: "recompense" });
  expect((await ask()).body.data[0].content).toContain("Refunds go to the card");
  expect(await costOf(ask)).toMatchObject({ object_hops: 2, d1_trips: 1 });
});

test("vector ids fill exactly the 64 bytes that Vectorize allows", async () => {
  const setup = await setUpWithTexts();
  const ids = [...setup.vectors.visible.keys()];
  expect(ids.map((id) => new TextEncoder().encode(id).length)).toEqual([64, 64, 64]);
  const tables = await runInDurableObject(setup.index, (_, { storage: { sql } }) => sql.exec("SELECT presence FROM vectors").toArray());
  expect(tables).toEqual([{ presence: "sure" }, { presence: "sure" }, { presence: "sure" }]);
});
