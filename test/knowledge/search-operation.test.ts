import { expect, test } from "vitest";
import { countRows, createAgent, createWorkspace, learn } from "../harness.ts";

async function createFixture() {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  return {
    workspace,
    agent,
    search: (body: Record<string, unknown>) => workspace.call("POST", `/agents/${agent.id}/search`, body),
  };
}

test("what is found has a source, a title with its heading, its text and a score, best first", async () => {
  const { workspace, agent, search } = await createFixture();
  const source = await learn(
    workspace,
    agent.id,
    "# Refunds\n\nRefunds are paid within five working days.\n\n# Shipping\n\nParcels leave at eight.",
  );
  const found = await search({ query: "When are refunds paid?" });
  expect(found.status).toBe(200);
  expect(found.body).toEqual({
    data: [
      {
        title: "Handbook › Refunds",
        url: null,
        source_id: source.id,
        type: "text",
        content: expect.stringContaining("within five working days"),
        score: expect.any(Number),
      },
    ],
  });
});

test("a title names the headings from the top, and the first one once where the text begins with its own name", async () => {
  const { workspace, agent, search } = await createFixture();
  await learn(workspace, agent.id, "# Handbook\n\n## Money\n\n### Refunds\n\nRefunds are paid within five working days.");
  const { data } = (await search({ query: "When are refunds paid?" })).body;
  expect(data[0].title).toBe("Handbook › Money › Refunds");
});

test("curated answers that match come before texts, and count toward the limit", async () => {
  const { workspace, agent, search } = await createFixture();
  await learn(workspace, agent.id, "# Refunds\n\nWhen are refunds paid? Refunds are paid within five working days.");
  const { body: answer } = await workspace.call("POST", `/agents/${agent.id}/answers`, {
    question: "When are refunds paid?",
    answer: "On Fridays.",
  });
  const { data } = (await search({ query: "When are refunds paid?" })).body;
  expect(data.map(({ type }: { type: string }) => type)).toEqual(["answer", "text"]);
  expect(data[0]).toEqual({ title: answer.question, url: null, source_id: answer.id, type: "answer", content: "On Fridays.", score: 1 });
  expect((await search({ query: "When are refunds paid?", limit: 1 })).body.data).toEqual([data[0]]);
});

test("a curated answer that matches weakly takes its place among the texts, and one that shares no word of meaning has none", async () => {
  const { workspace, agent, search } = await createFixture();
  await learn(workspace, agent.id, "# Refunds\n\nWhen are refunds paid? Refunds are paid within five working days.");
  const put = (question: string) => workspace.call("POST", `/agents/${agent.id}/answers`, { question, answer: "Ask us." });
  await put("Can a colleague get refunds for the flowers in the office?");
  await put("When are you open?");
  const { data } = (await search({ query: "When are refunds paid?" })).body;
  expect(data.map(({ type, title }: { type: string; title: string }) => [type, title])).toEqual([
    ["text", "Handbook › Refunds"],
    ["answer", "Can a colleague get refunds for the flowers in the office?"],
  ]);
});

test("the last line of a query is the question, the lines before it are context", async () => {
  const { workspace, agent, search } = await createFixture();
  await learn(
    workspace,
    agent.id,
    "# Refunds\n\nIt takes five working days until a refund is paid.\n\n# Delivery\n\nIt takes two days until a parcel arrives.",
  );
  const first = async (query: string) => (await search({ query })).body.data[0].title;
  expect(await first("I want a refund\nHow many days does it take?")).toBe("Handbook › Refunds");
  expect(await first("I want a refund\nThanks.\n\nHow many days until a parcel arrives?")).toBe("Handbook › Delivery");
});

test("the limit defaults to 10 and is from 1 to 50", async () => {
  const { workspace, agent, search } = await createFixture();
  const text = Array.from({ length: 60 }, (_, at) => `# Kind ${at}\n\nRefunds of kind ${at} are paid after ${at} days.`).join("\n\n");
  await learn(workspace, agent.id, text);
  const size = async (limit?: number) => (await search({ query: "refunds", ...(limit !== undefined && { limit }) })).body.data.length;
  expect([await size(), await size(1), await size(50)]).toEqual([10, 1, 50]);
  for (const [limit, type] of [
    [0, "greater_than_equal"],
    [51, "less_than_equal"],
  ] as const) {
    const { status, body } = await search({ query: "refunds", limit });
    expect(status).toBe(422);
    expect(body.detail).toMatchObject([{ loc: ["body", "limit"], type }]);
  }
  const scores = (await search({ query: "refunds of kind 7", limit: 50 })).body.data.map(({ score }: { score: number }) => score);
  expect(scores).toEqual(scores.toSorted((a: number, b: number) => b - a));
});

test("nothing found is an empty list, also for an agent that knows nothing", async () => {
  const { workspace, agent, search } = await createFixture();
  expect((await search({ query: "refunds" })).body).toEqual({ data: [] });
  await learn(workspace, agent.id, "Parcels leave at eight.");
  for (const query of ["refunds", "?!", '"', "NEAR(a b)", "title:*"]) {
    const { status, body } = await search({ query });
    expect([query, status, body]).toEqual([query, 200, { data: [] }]);
  }
});

test("a search uses no quota and stores nothing", async () => {
  const { workspace, agent, search } = await createFixture();
  await learn(workspace, agent.id, "Refunds are paid.");
  const before = await countRows();
  await search({ query: "refunds" });
  expect(await countRows()).toEqual(before);
  expect((await workspace.call("GET", "/usage")).body.usage.messages).toBe(0);
});
