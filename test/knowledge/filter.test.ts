import { expect, test } from "vitest";
import { costOf, createAgent, createWorkspace, deliver, type Workspace } from "../harness.ts";
import { wrong } from "../platform/http/items.ts";
import { load, longText, newIndex } from "./agent-index.ts";

async function add(workspace: Workspace, agentId: string, text: string, metadata: Record<string, string>): Promise<string> {
  const body = { type: "text", name: "Prices", text, metadata };
  const { id } = (await workspace.call("POST", `/agents/${agentId}/sources`, body)).body;
  await deliver("support-agent-ingestion", { workspaceId: workspace.id, agentId, sourceId: id });
  return id;
}

async function createShop() {
  const workspace = await createWorkspace();
  const { id: agentId } = await createAgent(workspace);
  const path = `/agents/${agentId}`;
  return {
    workspace,
    agentId,
    path,
    eu: await add(workspace, agentId, "The kettle costs 40 euros.", { region: "eu", product: "kettle" }),
    us: await add(workspace, agentId, "The kettle costs 45 dollars.", { region: "us", product: "kettle" }),
    all: await add(workspace, agentId, "Every kettle has a warranty of three years.", {}),
    search: async (filter?: object, query = "What does the kettle cost?") =>
      (await workspace.call("POST", `${path}/search`, { query, ...(filter && { filter }) })).body.data.map(
        ({ source_id: id }: { source_id: string }) => id,
      ),
    ask: (filter?: object, fields: object = {}) =>
      workspace.call("POST", `${path}/messages`, { message: "What does the kettle cost?", ...(filter && { filter }), ...fields }),
  };
}

test("a search uses the sources that have every key with one of its values", async () => {
  const { search, eu, us, all } = await createShop();
  expect((await search()).toSorted()).toEqual([eu, us, all].toSorted());
  expect(await search({ region: "eu" })).toEqual([eu]);
  expect((await search({ region: ["eu", "us"] })).toSorted()).toEqual([eu, us].toSorted());
  expect(await search({ region: ["us"], product: "kettle" })).toEqual([us]);
  expect(await search({ region: "us", product: "toaster" })).toEqual([]);
  expect(await search({ colour: "red" })).toEqual([]);
  expect((await search({})).toSorted()).toEqual([eu, us, all].toSorted());
});

test("an answer is made of the sources that match, streamed or not", async () => {
  const { ask } = await createShop();
  for (const [region, price] of [
    ["eu", "40 euros"],
    ["us", "45 dollars"],
  ]) {
    const asked = await ask({ region });
    expect(asked.body.answer).toContain(price);
    expect(asked.body.citations).toHaveLength(1);
    expect((await ask({ region }, { stream: true })).body).toContain(price);
  }
  expect((await ask({ region: "jp" })).body).toMatchObject({ citations: [], needs_human: true, handoff_reason: "missing_knowledge" });
});

test("a filter holds for its question alone", async () => {
  const { ask } = await createShop();
  const first = await ask({ region: "us" });
  const next = await ask({ region: "eu" }, { conversation_id: first.body.conversation_id });
  expect(next.body.answer).toContain("40 euros");
});

test("curated answers are matched among those that match the filter", async () => {
  const { workspace, path, search, ask } = await createShop();
  const ids: Record<string, string> = {};
  for (const region of ["eu", "us"]) {
    const answer = { question: "Do you repair kettles?", answer: `Yes, in our ${region} workshop.`, metadata: { region } };
    ids[region] = (await workspace.call("POST", `${path}/answers`, answer)).body.id;
  }
  expect(await search({ region: "us" }, "Do you repair kettles?")).toContain(ids["us"]);
  expect(await search({ region: "us" }, "Do you repair kettles?")).not.toContain(ids["eu"]);
  expect((await ask({ region: "eu" }, { message: "Do you repair kettles?" })).body.answer).toBe("Yes, in our eu workshop.");
  expect(await search({ region: "jp" }, "Do you repair kettles?")).toEqual([]);
});

test("changed metadata count for the next question", async () => {
  const { workspace, path, search, eu, us } = await createShop();
  await workspace.call("PATCH", `${path}/sources/${us}`, { metadata: { region: "eu" } });
  expect((await search({ region: "eu" })).toSorted()).toEqual([eu, us].toSorted());
  expect(await search({ region: "us" })).toEqual([]);
});

test("a filter costs one trip to D1 more, and no hop", async () => {
  const { ask, search } = await createShop();
  const [plain, filtered] = [await costOf(() => search()), await costOf(() => search({ region: "eu" }))];
  expect([filtered.object_hops, filtered.d1_trips]).toEqual([plain.object_hops, plain.d1_trips + 1]);
  const [asked, askedFiltered] = [await costOf(() => ask()), await costOf(() => ask({ region: "eu" }))];
  expect([askedFiltered.object_hops, askedFiltered.d1_trips]).toEqual([asked.object_hops, asked.d1_trips + 1]);
});

test("metadata and filters beyond their bounds are refused", async () => {
  const { workspace, path, eu } = await createShop();
  const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`key${at}`, "value"]));
  const patch = (metadata: unknown) => workspace.call("PATCH", `${path}/sources/${eu}`, { metadata });
  const search = (filter: unknown) => workspace.call("POST", `${path}/search`, { query: "kettle", filter });
  expect((await patch(pairs(16))).status).toBe(200);
  expect((await patch(pairs(17))).body.detail).toEqual([wrong("body.metadata", pairs(17), "give at most 16 keys")]);
  expect((await patch({ "": "x" })).body.detail).toEqual([wrong("body.metadata", { "": "x" }, "give each key 1 to 40 characters")]);
  expect((await patch({ ["k".repeat(41)]: "x" })).status).toBe(422);
  expect((await patch({ key: "v".repeat(501) })).body.detail).toMatchObject([
    { loc: ["body", "metadata", "key"], type: "string_too_long" },
  ]);
  expect((await patch({ key: 1 })).body.detail).toMatchObject([{ loc: ["body", "metadata", "key"], type: "string_type" }]);
  expect((await search(pairs(17))).status).toBe(422);
  expect((await search({ key: [] })).status).toBe(422);
  expect((await search({ key: { deep: "x" } })).body.detail).toEqual([
    wrong("body.filter.key", { deep: "x" }, "give a string, or a list of 1 to 20 strings"),
  ]);
  expect((await search({ key: Array.from({ length: 21 }, () => "x") })).status).toBe(422);
});

test("keys and values may be any characters", async () => {
  const { workspace, agentId, search } = await createShop();
  const odd = { '"$.a[0]': `it's "x"`, Größe: "50 %", __proto: "{}" };
  const id = await add(workspace, agentId, "The kettle costs nothing.", odd);
  for (const [key, value] of Object.entries(odd)) expect(await search({ [key]: value })).toEqual([id]);
});

test("a part of a large index is found although its words are common in the rest", async () => {
  const index = newIndex();
  await load(index, { large: longText(2_500), small: "The zebra sleeps in the barn." });
  const only = { sources: ["small"], answers: [] };
  const question = "Where does the zebra of the section sleep?";
  const { passages } = await index.search({ question, previousQuestions: [], limit: 5, only });
  expect(passages.map(({ sourceId }) => sourceId)).toEqual(["small"]);
  const others = await index.search({ question, previousQuestions: [], limit: 5, only: { sources: ["large"], answers: [] } });
  expect(new Set(others.passages.map(({ sourceId }) => sourceId))).toEqual(new Set(["large"]));
  const none = await index.search({ question, previousQuestions: [], limit: 5, only: { sources: [], answers: [] } });
  expect(none.passages).toEqual([]);
});

test("what another workspace calls the same is not searched", async () => {
  const [mine, yours] = [await createShop(), await createShop()];
  expect(await mine.search({ region: "eu" })).toEqual([mine.eu]);
  expect(await yours.search({ region: "eu" })).toEqual([yours.eu]);
});
