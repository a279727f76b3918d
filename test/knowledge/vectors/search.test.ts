import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { reciprocalRankFusion } from "../../../src/knowledge/retrieval/hybrid-search.ts";
import { costOf, createAgent, createNeighbour, createWorkspace, learn } from "../../harness.ts";
import { found, ingest, load, newIndex, search } from "../agent-index.ts";
import { bind, catchUp, type Desk, newDesk } from "./desk.ts";

const TEXTS = {
  refunds: "# Money back\n\nRefunds go to the card of the purchase. A refund takes five working days.",
  shipping: "# Parcels\n\nParcels leave Hamburg each evening and arrive within two days.",
  cars: "# Rental\n\nOur cars are washed before each rental, and every car has a full tank.",
};

afterEach(() => {
  bind({ RERANK_PASSAGES: undefined });
  vi.restoreAllMocks();
});

async function taught(texts: Record<string, string> = TEXTS, index = newIndex()): Promise<Desk> {
  const desk = newDesk(index);
  await load(desk.index, texts);
  await catchUp(desk.index);
  return desk;
}

describe("fusion", () => {
  it("puts first what both lists have, and then by rank", () => {
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

  it("lets two ranks of 61 beat a first one, and no lower ones", () => {
    const at = (rank: number, from: number) => Array.from({ length: rank }, (_, before) => (before === rank - 1 ? 2 : from + before));
    const place = (rank: number, id: number) => reciprocalRankFusion([[1], at(rank, 100), at(rank, 1_000)]).indexOf(id);
    expect(place(61, 2)).toBeLessThan(place(61, 1));
    expect(place(63, 2)).toBeGreaterThan(place(63, 1));
  });
});

describe("search by meaning", () => {
  it("finds what the words of the question miss", async () => {
    const desk = await taught();
    expect(await found(desk.index, "reimbursement")).toContain("refunds");
    expect((await found(desk.index, "reimbursement"))[0]).toBe("refunds");
    expect((await found(desk.index, "which automobiles have a full tank"))[0]).toBe("cars");
    const { passages } = await search(desk.index, "reimbursement");
    for (const { score } of passages) expect(score > 0 && score <= 1).toBe(true);
  });

  it("begins when the vectors show; words find all before", async () => {
    const desk = newDesk();
    desk.vectors.isPrompt = false;
    await load(desk.index, TEXTS);
    await catchUp(desk.index);
    expect(desk.vectors.waitingCount).toBeGreaterThan(0);
    expect(await found(desk.index, "reimbursement")).toEqual([]);
    expect((await found(desk.index, "refund"))[0]).toBe("refunds");
    desk.vectors.settle();
    expect((await found(desk.index, "reimbursement"))[0]).toBe("refunds");
  });

  it("has a follow-up embedded with the turn that it leans on, and no other question", async () => {
    const desk = await taught();
    desk.ai.clear();
    await search(desk.index, "And how long does that take?", "I want a reimbursement");
    await search(desk.index, "Where do parcels leave in the evening?", "I want a reimbursement");
    expect(desk.ai.embedded).toEqual(["I want a reimbursement\nAnd how long does that take?", "Where do parcels leave in the evening?"]);
  });

  it("asks the model once for the same question", async () => {
    const desk = await taught();
    desk.ai.clear();
    for (let time = 0; time < 3; time++) expect((await found(desk.index, "reimbursement"))[0]).toBe("refunds");
    expect(desk.ai.embedded).toEqual(["reimbursement"]);
  });

  it("gives nothing that was deleted, though its vector still shows", async () => {
    const desk = await taught();
    desk.vectors.isPrompt = false;
    await desk.index.removeSource("refunds");
    expect(await found(desk.index, "reimbursement")).not.toContain("refunds");
    expect(desk.vectors.visible.size).toBe(3);
  });

  it("gives nothing of an index that is being built", async () => {
    const desk = await taught();
    const section = (at: number) => `## Offer ${at}\n\nA reimbursement number ${at} is offered for every purchase that was made today.`;
    await desk.index.stageText("offers", "Offers", Array.from({ length: 150 }, (_, at) => section(at)).join("\n\n"));
    await desk.index.ingestText("offers", "run");
    await catchUp(desk.index);
    expect(desk.vectors.visible.size).toBeGreaterThan(50);
    expect(await found(desk.index, "reimbursement number 7")).not.toContain("offers");
    await ingest(desk.index, "offers", "run");
    expect((await found(desk.index, "reimbursement number 7"))[0]).toBe("offers");
  });

  it("gives nothing of another agent or workspace, even where the index of vectors mixes them up", async () => {
    const workspaceId = crypto.randomUUID();
    const [own, colleague, stranger] = [`${workspaceId}/${crypto.randomUUID()}`, `${workspaceId}/${crypto.randomUUID()}`, undefined].map(
      (name) => (name === undefined ? newIndex() : env.INDEX.getByName(name)),
    );
    const desk = newDesk(own);
    await load(own!, { shipping: TEXTS.shipping });
    await load(colleague!, { secret: TEXTS.refunds });
    await load(stranger!, { secret: TEXTS.refunds, same: TEXTS.shipping });
    for (const index of [own!, colleague!, stranger!]) await catchUp(index);
    const asked = await desk.vectors.query(((await desk.ai.run("@cf/baai/bge-m3", { text: ["refund"] })) as any).data[0], {
      topK: 50,
      namespace: workspaceId,
      filter: { agent: own!.name!.split("/")[1]! },
    });
    expect(asked.matches).toHaveLength(1);
    desk.vectors.leaks = true;
    expect(await found(own!, "reimbursement")).not.toContain("secret");
    expect(await found(own!, "parcels Hamburg")).toEqual(["shipping"]);
  });
});

describe("without the outside", () => {
  it.each(["embed", "query"] as const)("goes on with words alone when %s fails, and logs it once", async (part) => {
    const desk = await taught();
    if (part === "embed") desk.ai.faults.set("embed", "fails");
    else desk.vectors.faults.set("query", "fails");
    const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
    vi.spyOn(Date, "now").mockReturnValue(Date.now() + (part === "embed" ? 1 : 2) * 3_600_000);
    for (const word of ["refund", "refunds", "purchase"]) expect((await found(desk.index, word))[0]).toBe("refunds");
    expect(log.mock.calls.filter(([line]) => String(line).includes("semantic_search_failed"))).toHaveLength(1);
    vi.restoreAllMocks();
    desk.ai.faults.clear();
    desk.vectors.faults.clear();
    expect((await found(desk.index, "reimbursement"))[0]).toBe("refunds");
  });

  it.each(["embed", "query"] as const)(
    "waits for a slow %s no longer than a visitor would, and then not at all for a while",
    async (part) => {
      const desk = await taught();
      if (part === "embed") desk.ai.faults.set("embed", "hangs");
      else desk.vectors.faults.set("query", "hangs");
      expect((await found(desk.index, "refund"))[0]).toBe("refunds");
      desk.ai.faults.clear();
      desk.vectors.faults.clear();
      desk.ai.clear();
      expect((await found(desk.index, "refunds"))[0]).toBe("refunds");
      expect(desk.ai.embedded).toEqual([]);
    },
  );

  it("asks nobody where nothing is known", async () => {
    const desk = newDesk();
    expect(await found(desk.index, "refund")).toEqual([]);
    expect([desk.ai.batches, desk.vectors.calls]).toEqual([[], []]);
  });
});

describe("reranking", () => {
  const PAIR = {
    one: "# Notes\n\nThe refund, refund, refund of the card. Refund refunds refunded, and a refund of refunds.",
    two: "# Other notes\n\nA refund of a cancelled subscription takes five days, says the bank, when the subscription was new.",
  };
  const QUESTION = "refund of a cancelled subscription that automobile drivers have";

  it("has the last word on the order, where it is switched on", async () => {
    bind({ RERANK_PASSAGES: "true" });
    const desk = await taught({ ...PAIR, cars: TEXTS.cars });
    const { passages } = await search(desk.index, QUESTION);
    expect(desk.ai.reranked).toHaveLength(1);
    expect(desk.ai.reranked[0]!.query).toBe(QUESTION);
    expect(passages[0]!.sourceId).toBe("two");
    expect(passages.map(({ score }) => score)).toEqual(passages.map(({ score }) => score).toSorted((a, b) => b - a));
  });

  it.each(["fails", "nonsense", "hangs"] as const)("leaves the order as it was when it %s", async (fault) => {
    bind({ RERANK_PASSAGES: "true" });
    const desk = await taught(PAIR);
    desk.ai.faults.set("rerank", fault);
    const { passages } = await search(desk.index, QUESTION);
    expect(desk.ai.reranked.length).toBe(1);
    bind({ RERANK_PASSAGES: undefined });
    await evictDurableObject(desk.index);
    expect((await search(desk.index, QUESTION)).passages).toEqual(passages);
    expect(desk.ai.reranked.length).toBe(1);
  });
});

it("costs a question no more hops and trips", async () => {
  const workspace = await createWorkspace();
  await createNeighbour(workspace);
  const agent = await createAgent(workspace);
  const desk = newDesk(env.INDEX.getByName(`${workspace.id}/${agent.id}`));
  await learn(workspace, agent.id, TEXTS.refunds);
  await catchUp(desk.index);
  const ask = () => workspace.call("POST", `/agents/${agent.id}/search`, { query: "reimbursement" });
  expect((await ask()).body.data[0].content).toContain("Refunds go to the card");
  expect(await costOf(ask)).toMatchObject({ object_hops: 2, d1_trips: 1 });
});

it("takes no longer vectors' names than the index does", async () => {
  const desk = await taught();
  const ids = [...desk.vectors.visible.keys()];
  expect(ids.map((id) => new TextEncoder().encode(id).length)).toEqual([64, 64, 64]);
  const tables = await runInDurableObject(desk.index, (_, { storage: { sql } }) => sql.exec("SELECT presence FROM vectors").toArray());
  expect(tables).toEqual([{ presence: "sure" }, { presence: "sure" }, { presence: "sure" }]);
});
