import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import { continueEvaluation } from "../../src/evaluations/consumer.ts";
import { modelFor } from "../../src/grounded/engine.ts";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { sweep } from "../../src/sweep/sweep.ts";
import { HANDBOOK } from "../chat/handbook.ts";
import { createAgent, createKey, createWorkspace, deliver, envWith, learn, operate, query, send } from "../harness.ts";
import { LIMITS } from "../grounded/converse.ts";
import { behaveAt, newHost, receivedBy } from "../outbound.ts";
import { type ChatRequest, OpenAiStandIn } from "../stand-ins/openai.ts";

const QUEUE = "support-agent-crawls";
const MINUTE_MS = 60_000;

interface Case {
  question: string;
  previous?: string[];
  expect: { source_id?: string; answer_contains?: string; refusal?: boolean };
}

const REFUNDS: Case = { question: "When are refunds paid?", expect: { answer_contains: "Five  Working days" } };
const FRANCE: Case = { question: "What is the capital of France?", expect: { refusal: true } };
const NORWAY: Case = { question: "How long does shipping to Norway take?", expect: { answer_contains: "three days" } };
const SUNDAYS: Case = { question: "Are you open on Sundays?", expect: { answer_contains: "no" } };

async function createFixture(settings: Record<string, unknown> = {}, limits?: Record<string, unknown>) {
  const workspace = await createWorkspace(limits ? { limits } : {});
  const agent = await createAgent(workspace, settings);
  const source = await learn(workspace, agent.id, HANDBOOK);
  const path = `/agents/${agent.id}/evaluations`;
  const create = (cases: Case[], name?: string) => workspace.call("POST", path, { cases, ...(name && { name }) });
  const message = (evaluationId: string) => ({ workspaceId: workspace.id, evaluationId });
  const add = (evaluationId: string, one: Case, search = "") => workspace.call("POST", `${path}/${evaluationId}/cases${search}`, one);
  const read = async (id: string, search = "") => (await workspace.call("GET", `${path}/${id}${search}`)).body;
  const run = async (cases: Case[], name?: string) => {
    const { id } = (await create(cases, name)).body;
    while ((await read(id)).completed_at === null) await deliver(QUEUE, message(id));
    return id as string;
  };
  return { workspace, agent, source, path, create, add, message, read, run };
}

const verdictsOf = ({ cases }: { cases: { verdict: string | null }[] }) => cases.map(({ verdict }) => verdict);

describe("an evaluation", () => {
  test("asks each question as a visitor would, and holds the answer against what is expected", async () => {
    const { create, read, message, source, agent } = await createFixture();
    const found: Case = { question: "What does the warranty cover?", expect: { source_id: source.id, answer_contains: "heating element" } };
    const created = await create([REFUNDS, FRANCE, NORWAY, SUNDAYS, found], "Weekly");
    expect(created.status).toBe(202);
    const { id } = created.body;
    expect(created.body).toMatchObject({ name: "Weekly", agent_id: agent.id, status: "pending", cases_count: 5, done_count: 0 });
    expect(verdictsOf(await read(id))).toEqual([null, null, null, null, null]);
    await deliver(QUEUE, message(id));
    const result = await read(id);
    expect(verdictsOf(result)).toEqual(["right", "right", "wrong", "refused", "right"]);
    expect(result).toMatchObject({ status: "completed", done_count: 5, right_count: 3, wrong_count: 1, refused_count: 1, failed_count: 0 });
    expect(result.metrics).toMatchObject({ accuracy: 0.6, recall: 1, recall_cases: 1, brier: expect.any(Number) });
    const buckets: { cases: number }[] = result.metrics.calibration;
    expect(buckets.map(({ cases }) => cases).reduce((sum, count) => sum + count)).toBe(3);
    expect(result.cases[4]).toMatchObject({ position: 4, source_found: true, change: null, before: null });
    expect(result.cases[0].answer).toContain("within five working days");
    expect(result.cases[0].trace.decision).toMatchObject({ outcome: "answered", reason: "confident", threshold: 0.5 });
    expect(result.cases[0].trace.searches[0].passages[0]).toMatchObject({ source_id: source.id, is_cited: true });
    expect(result.cases[1].trace.decision).toMatchObject({ outcome: "handed_off", reason: "missing_knowledge" });
  });

  test("may be of the draft or of an earlier version, with the scope that reads them", async () => {
    const { workspace, agent, create, message, read } = await createFixture();
    const path = `/agents/${agent.id}`;
    await workspace.call("PATCH", path, { confidence_threshold: 1 });
    await workspace.call("PATCH", `${path}/versions/draft`, { confidence_threshold: 0.4 });
    const thresholdOf = async (version?: number | "draft") => {
      const { body } = await workspace.call("POST", `${path}/evaluations`, { cases: [REFUNDS], ...(version !== undefined && { version }) });
      await deliver(QUEUE, message(body.id));
      const result = await read(body.id);
      return [result.version, result.cases[0].trace.decision.threshold];
    };
    expect(await thresholdOf()).toEqual([null, 1]);
    expect(await thresholdOf(1)).toEqual([1, 0.5]);
    expect(await thresholdOf("draft")).toEqual([0, 0.4]);
    const unknown = await workspace.call("POST", `${path}/evaluations`, { cases: [REFUNDS], version: 9 });
    expect([unknown.status, unknown.body.error.code]).toEqual([404, "not_found"]);
    const { key } = await createKey(workspace, ["knowledge:write"]);
    const body = { cases: [REFUNDS], version: "draft" };
    const refused = await send("POST", `/api/v1${path}/evaluations`, { token: key, body });
    expect([refused.status, refused.body.error]).toMatchObject([403, { code: "insufficient_scope", message: /agents:write/ }]);
    expect((await create([REFUNDS], "Weekly")).body.version).toBeNull();
  });

  test("of a version takes further cases only with that scope, and nothing changes without it", async () => {
    const { workspace, path, create, add, read } = await createFixture();
    const { key } = await createKey(workspace, ["knowledge:write"]);
    const { body: ofDraft } = await workspace.call("POST", path, { cases: [REFUNDS], version: "draft" });
    const { body: ofPublished } = await create([REFUNDS]);
    const addWithout = (id: string) => send("POST", `/api/v1${path}/${id}/cases`, { token: key, body: FRANCE });
    const refused = await addWithout(ofDraft.id);
    expect([refused.status, refused.body.error]).toMatchObject([403, { code: "insufficient_scope", message: /agents:write/ }]);
    expect((await read(ofDraft.id)).cases_count).toBe(1);
    expect((await workspace.call("GET", "/usage")).body.usage.evaluation_cases_today).toBe(2);
    expect((await addWithout(ofPublished.id)).status).toBe(201);
    expect((await add(ofDraft.id, FRANCE)).status).toBe(201);
  });

  test("leaves no conversation, no event, no lead, and uses no message of the quota", async () => {
    const { run, workspace } = await createFixture({}, { messages: 0 });
    await workspace.call("POST", "/webhooks", { url: "https://hooks.example.com/", events: ["*"] });
    const before = await countRows(workspace.id);
    await run([REFUNDS, FRANCE]);
    expect(await countRows(workspace.id)).toEqual(before);
    expect((await workspace.call("GET", "/usage")).body.usage).toMatchObject({ messages: 0, evaluation_cases_today: 2 });
  });

  test("is compared with an earlier one: what became better, and what worse", async () => {
    const { run, read, workspace, agent, source } = await createFixture();
    const first = await run([REFUNDS, SUNDAYS, FRANCE, { ...REFUNDS, previous: ["Hello?"] }]);
    await learn(workspace, agent.id, "# Sundays\n\nNo, we are not open on Sundays.", "Opening hours");
    await workspace.call("DELETE", `/agents/${agent.id}/sources/${source.id}`);
    const second = await run([REFUNDS, SUNDAYS, FRANCE, NORWAY]);
    const { comparison, cases } = await read(second, `?compare_to=${first}`);
    expect(comparison).toEqual({ evaluation_id: first, better: 1, worse: 1, same: 1, new: 1, missing: 1 });
    expect(cases.map(({ before, verdict, change }: any) => [before, verdict, change])).toEqual([
      ["right", "refused", "worse"],
      ["refused", "right", "better"],
      ["right", "right", "same"],
      [null, "refused", "new"],
    ]);
  });

  test("takes the questions before one into account", async () => {
    const { run, read } = await createFixture();
    const followUp = {
      question: "And how long does it take?",
      previous: ["Do you ship to Norway?"],
      expect: { answer_contains: "nine days" },
    };
    const { cases } = await read(await run([followUp]));
    expect(cases[0].trace.searches[0].previous_question).toBe("Do you ship to Norway?");
  });

  test("of another agent or workspace is not found, nor one to compare with", async () => {
    const { run, read, workspace } = await createFixture();
    const other = await createFixture();
    const id = await run([REFUNDS]);
    const theirs = await other.run([REFUNDS]);
    expect((await read(theirs)).error.code).toBe("not_found");
    expect((await read(id, `?compare_to=${theirs}`)).error.code).toBe("not_found");
    const second = await createAgent(workspace, { name: "Second" });
    expect((await workspace.call("GET", `/agents/${second.id}/evaluations/${id}`)).status).toBe(404);
    expect((await workspace.call("DELETE", `/agents/${second.id}/evaluations/${id}`)).status).toBe(404);
  });
});

describe("a case that is added", () => {
  test("to one that has ended is the only one that runs, and the others keep their results", async () => {
    const { run, read, add, message, workspace } = await createFixture();
    const id = await run([REFUNDS, FRANCE]);
    const added = await add(id, { ...NORWAY, previous: ["Hello?"] });
    expect(added.status).toBe(201);
    expect(added.body).toMatchObject({ position: 2, ...NORWAY, previous: ["Hello?"], verdict: null, trace: null, change: null });
    expect(await read(id)).toMatchObject({ status: "pending", completed_at: null, cases_count: 3, done_count: 2, right_count: 2 });
    const model = modelFor(env);
    let asked = 0;
    const counting = { answer: (request: never) => (asked++, model.answer(request)) };
    expect(await continueEvaluation(env, message(id), new Meter(), counting)).toBe("completed");
    expect(asked).toBe(1);
    const result = await read(id);
    expect(result).toMatchObject({ status: "completed", completed_at: expect.any(String), cases_count: 3, done_count: 3 });
    expect(verdictsOf(result)).toEqual(["right", "right", "wrong"]);
    expect((await workspace.call("GET", "/usage")).body.usage.evaluation_cases_today).toBe(3);
  });

  test("takes the place of the one that asks the same after the same questions", async () => {
    const { run, read, add, message } = await createFixture();
    const followUp = { ...NORWAY, previous: ["Hello?"] };
    const id = await run([NORWAY, FRANCE, followUp]);
    expect((await add(id, { ...NORWAY, expect: { answer_contains: "nine days" } })).body.position).toBe(0);
    expect(await read(id)).toMatchObject({ status: "pending", cases_count: 3, done_count: 2, wrong_count: 1, right_count: 1 });
    expect(await continueEvaluation(env, message(id))).toBe("completed");
    expect(verdictsOf(await read(id))).toEqual(["right", "right", "wrong"]);
  });

  test("stays when colleagues save others at the same time", async () => {
    const { run, read, add } = await createFixture();
    const id = await run([REFUNDS]);
    const positions = await Promise.all([FRANCE, NORWAY, SUNDAYS].map(async (one) => (await add(id, one)).body.position));
    expect(positions.toSorted()).toEqual([1, 2, 3]);
    const { cases, cases_count: count } = await read(id);
    expect([count, cases.length]).toEqual([4, 4]);
  });

  test("in the place of one that is just being asked does not get that one's result", async () => {
    const { create, read, add, message } = await createFixture();
    const { id } = (await create([NORWAY])).body;
    const model = modelFor(env);
    const saving = (one: Case) => ({ answer: async (request: never) => (await add(id, one), model.answer(request)) });
    expect(await continueEvaluation(env, message(id), new Meter(), saving({ ...NORWAY, expect: { answer_contains: "nine" } }))).toBe(
      "nothing_to_do",
    );
    expect(verdictsOf(await read(id))).toEqual([null]);
    expect(await continueEvaluation(env, message(id))).toBe("completed");
    expect(verdictsOf(await read(id))).toEqual(["right"]);
  });

  test("to one that runs waits for its turn", async () => {
    const { create, read, add, message } = await createFixture();
    const { id } = (await create([REFUNDS])).body;
    const model = modelFor(env);
    let isAdded = false;
    const saving = {
      answer: async (request: never) => {
        if (!isAdded) await add(id, FRANCE);
        isAdded = true;
        return model.answer(request);
      },
    };
    expect(await continueEvaluation(env, message(id), new Meter(), saving)).toBe("completed");
    expect(verdictsOf(await read(id))).toEqual(["right", "right"]);
  });

  test("replaces the case at a position, if it names one", async () => {
    const { run, add, read } = await createFixture();
    const id = await run([REFUNDS, NORWAY]);
    const { status, body } = await add(id, FRANCE, "?replaces=1");
    expect([status, body]).toMatchObject([201, { position: 1, question: FRANCE.question, verdict: null }]);
    expect(await read(id)).toMatchObject({ cases_count: 2, cases: [{ verdict: "right" }, { question: FRANCE.question }] });
    expect((await add(id, NORWAY, "?replaces=7")).body.position).toBe(2);
    const wrong = await add(id, NORWAY, "?replaces=-1");
    expect([wrong.status, wrong.body.detail[0].loc]).toEqual([422, ["query", "replaces"]]);
  });

  test("to one that failed also runs what is left of it", async () => {
    const { create, read, add, message } = await createFixture();
    const { id } = (await create([REFUNDS])).body;
    await deliver(`${QUEUE}-dlq`, message(id));
    await add(id, FRANCE);
    expect(await read(id)).toMatchObject({ status: "pending", error: null });
    expect(await continueEvaluation(env, message(id))).toBe("completed");
    expect(verdictsOf(await read(id))).toEqual(["right", "right"]);
  });

  test("is added once by a request that is repeated with its Idempotency-Key", async () => {
    const { run, path, read, workspace } = await createFixture();
    const id = await run([REFUNDS]);
    const again = () => workspace.call("POST", `${path}/${id}/cases`, FRANCE, { "Idempotency-Key": "save-1" });
    const [first, second] = [await again(), await again()];
    expect([first.status, second.status, second.headers.get("Idempotent-Replayed")]).toEqual([201, 201, "true"]);
    expect(second.body).toEqual(first.body);
    expect((await read(id)).cases_count).toBe(2);
  });

  test("beyond what an evaluation, a day, or the unfinished ones may be is refused, and nothing changes", async () => {
    const { create, add, read, run, workspace } = await createFixture({}, { evaluation_cases_per_day: 506 });
    const ended = await run([REFUNDS]);
    const many = Array.from({ length: 500 }, (_, at) => ({ ...FRANCE, question: `Who won in ${at}?` }));
    const { id: full } = (await create(many)).body;
    const beyond = await add(full, FRANCE);
    expect([beyond.status, beyond.body.error]).toMatchObject([409, { code: "conflict", message: expect.stringContaining("500 cases") }]);
    expect((await add(full, many[0]!)).status).toBe(201);
    await create([FRANCE]);
    await create([FRANCE]);
    const unfinished = await add(ended, FRANCE);
    expect([unfinished.status, unfinished.body.error.message]).toEqual([409, expect.stringContaining("3 evaluations are unfinished")]);
    await add(full, many[1]!);
    await add(full, many[2]!);
    const spent = await add(full, many[3]!);
    expect([spent.status, spent.body.error.code]).toEqual([429, "rate_limited"]);
    expect(await read(ended)).toMatchObject({ status: "completed", cases_count: 1 });
    expect(await read(full)).toMatchObject({ status: "pending", cases_count: 500 });
    expect((await workspace.call("GET", "/usage")).body.usage.evaluation_cases_today).toBe(506);
  });

  test("is refused if the questions would take more than 512 KiB together, and a case can still be replaced", async () => {
    const { run, add, read } = await createFixture();
    const id = await run([REFUNDS]);
    const long = (at: number) => ({ ...FRANCE, previous: Array.from({ length: 10 }, () => "語".repeat(1_990) + at) });
    for (let at = 0; at < 8; at++) expect((await add(id, long(at))).status).toBe(201);
    const beyond = await add(id, long(8));
    expect([beyond.status, beyond.body.error]).toMatchObject([409, { code: "conflict", message: expect.stringContaining("512 KiB") }]);
    expect((await add(id, long(7))).status).toBe(201);
    expect((await add(id, FRANCE)).status).toBe(201);
    expect((await read(id)).cases_count).toBe(10);
  });

  test("to one of another agent or workspace is not found", async () => {
    const { workspace, add } = await createFixture();
    const other = await createFixture();
    const theirs = await other.run([REFUNDS]);
    expect((await add(theirs, FRANCE)).status).toBe(404);
    const second = await createAgent(other.workspace, { name: "Second" });
    expect((await other.workspace.call("POST", `/agents/${second.id}/evaluations/${theirs}/cases`, FRANCE)).status).toBe(404);
    expect((await other.read(theirs)).cases_count).toBe(1);
    expect((await workspace.call("GET", "/usage")).body.usage.evaluation_cases_today).toBe(0);
  });
});

async function countRows(workspaceId: string): Promise<unknown[]> {
  const tables = ["conversations", "messages", "events", "leads", "handoffs", "visitors", "deliveries"];
  const counts = tables.map((table) => `(SELECT count(*) FROM ${table} WHERE workspace_id = ?) AS ${table}`).join();
  return query(workspaceId, `SELECT ${counts}`, ...tables.map(() => workspaceId));
}

describe("what is refused", () => {
  const many = (count: number): Case[] => Array.from({ length: count }, (_, at) => ({ ...FRANCE, question: `Who won in ${at}?` }));

  test.each<[string, object]>([
    ["no case", { cases: [] }],
    ["more than 500 cases", { cases: many(501) }],
    ["a case without a question", { cases: [{ question: "", expect: { refusal: true } }] }],
    ["a case that expects nothing", { cases: [{ question: "Who?", expect: {} }] }],
    ["a refusal that says something", { cases: [{ question: "Who?", expect: { refusal: true, answer_contains: "us" } }] }],
    ["a source that is no id", { cases: [{ question: "Who?", expect: { source_id: "handbook" } }] }],
  ])("%s is 422", async (_, body) => {
    const { workspace, path } = await createFixture();
    expect((await workspace.call("POST", path, body)).status).toBe(422);
  });

  test("an unknown agent is 404", async () => {
    const { workspace } = await createFixture();
    const unknown = newId(shardOf(workspace.id), Date.now());
    expect((await workspace.call("POST", `/agents/${unknown}/evaluations`, { cases: [FRANCE] })).status).toBe(404);
  });

  test("500 cases are taken, and more than the plan allows in a day are not", async () => {
    const { create, workspace } = await createFixture({}, { evaluation_cases_per_day: 501 });
    expect((await create(many(500))).body).toMatchObject({ cases_count: 500 });
    const refused = await create(many(2));
    expect([refused.status, refused.body.error.code]).toEqual([429, "rate_limited"]);
    expect(Number(refused.headers.get("Retry-After"))).toBeGreaterThan(0);
    expect((await create([FRANCE])).status).toBe(202);
    expect((await workspace.call("GET", "/usage")).body.usage.evaluation_cases_today).toBe(501);
  });

  test("a fourth while three are unfinished is 409", async () => {
    const { create, workspace, path } = await createFixture();
    const ids = [];
    for (let at = 0; at < 3; at++) ids.push((await create([FRANCE])).body.id);
    const refused = await create([FRANCE]);
    expect([refused.status, refused.body.error.code]).toEqual([409, "conflict"]);
    expect((await workspace.call("DELETE", `${path}/${ids[0]}`)).status).toBe(204);
    expect((await create([FRANCE])).status).toBe(202);
  });
});

describe("work that is interrupted", () => {
  test("a step whose search fails stores nothing, and the next one runs its cases", async () => {
    const { create, message, read } = await createFixture();
    const { id } = (await create([REFUNDS, FRANCE])).body;
    const failing = { getByName: () => ({ search: () => Promise.reject(new Error("the object is overloaded")) }) };
    await expect(continueEvaluation(envWith({ INDEX: failing }), message(id))).rejects.toThrow("overloaded");
    expect(verdictsOf(await read(id))).toEqual([null, null]);
    expect(await continueEvaluation(env, message(id))).toBe("completed");
    expect(verdictsOf(await read(id))).toEqual(["right", "right"]);
  });

  test("an evaluation whose consumer died is resumed by the sweep once its lease has expired, and loses no result", async () => {
    const { create, message, read, workspace } = await createFixture();
    const { id } = (await create([REFUNDS, FRANCE, NORWAY, SUNDAYS])).body;
    // The model answers one step, and then the consumer dies: it never settles.
    let asked = 0;
    const model = modelFor(env);
    const dying = { answer: (request: never) => (++asked > 3 ? new Promise<never>(() => undefined) : model.answer(request)) };
    void continueEvaluation(env, message(id), new Meter(), dying);
    await vi.waitUntil(async () => (await read(id)).done_count === 3, { timeout: 20_000, interval: 10 });
    const sent: unknown[] = [];
    const queue = { sendBatch: async (messages: Iterable<{ body: unknown }>) => void sent.push(...[...messages].map(({ body }) => body)) };
    const own = () => sent.filter((body) => (body as { workspaceId: string }).workspaceId === workspace.id);
    await sweep(envWith({ CRAWL_QUEUE: queue }), Date.now() + 2 * MINUTE_MS);
    expect(own()).toEqual([]);
    expect(await continueEvaluation(env, message(id))).toBe("nothing_to_do");
    await sweep(envWith({ CRAWL_QUEUE: queue }), Date.now() + 6 * MINUTE_MS);
    expect(own()).toEqual([message(id)]);
    await query(id, "UPDATE evaluations SET lease_until = 1 WHERE id = ?", id);
    expect(await continueEvaluation(env, message(id))).toBe("completed");
    expect(verdictsOf(await read(id))).toEqual(["right", "right", "wrong", "refused"]);
  });

  test("two consumers of one evaluation run each case once", async () => {
    const { create, message, read } = await createFixture();
    const { id } = (await create([REFUNDS, FRANCE, NORWAY, SUNDAYS])).body;
    const model = modelFor(env);
    let asked = 0;
    const counting = { answer: (request: never) => (asked++, model.answer(request)) };
    const outcomes = await Promise.all([1, 2].map(() => continueEvaluation(env, message(id), new Meter(), counting)));
    expect(outcomes.toSorted()).toEqual(["completed", "nothing_to_do"]);
    expect(asked).toBe(4);
    expect((await read(id)).done_count).toBe(4);
  });

  test("an evaluation that keeps failing is set to failed, and keeps the results so far", async () => {
    const { create, message, read } = await createFixture();
    const { id } = (await create([REFUNDS])).body;
    await deliver(`${QUEUE}-dlq`, message(id));
    expect(await read(id)).toMatchObject({ status: "failed", error: expect.stringContaining("run it again"), done_count: 0 });
    expect(await continueEvaluation(env, message(id))).toBe("nothing_to_do");
  });
});

describe("what is deleted", () => {
  const rowsOf = (id: string) =>
    query(
      id,
      "SELECT evaluation_id FROM evaluation_cases WHERE evaluation_id = ? UNION ALL SELECT id FROM evaluations WHERE id = ?",
      id,
      id,
    );

  test("an evaluation that is deleted while it runs stops, and does not reappear", async () => {
    const { create, message, workspace, path } = await createFixture();
    const { id } = (await create([REFUNDS, FRANCE])).body;
    const model = modelFor(env);
    const deleting = {
      answer: async (request: never) => {
        await workspace.call("DELETE", `${path}/${id}`);
        return model.answer(request);
      },
    };
    expect(await continueEvaluation(env, message(id), new Meter(), deleting)).toBe("nothing_to_do");
    expect(await rowsOf(id)).toEqual([]);
  });

  test("an agent's evaluations are deleted with it, whether they wait or have ended", async () => {
    const { create, run, workspace, agent, message } = await createFixture();
    const ended = await run([FRANCE]);
    const { id } = (await create([REFUNDS])).body;
    await operate("DELETE", `/workspaces/${workspace.id}/agents/${agent.id}`);
    expect([...(await rowsOf(ended)), ...(await rowsOf(id))]).toEqual([]);
    expect(await continueEvaluation(env, message(id))).toBe("nothing_to_do");
  });

  test("the ten latest runs of an agent are kept, also when another one is refused", async () => {
    const { run, create, workspace, path } = await createFixture({}, { evaluation_cases_per_day: 11 });
    const ids: string[] = [];
    for (let at = 0; at < 11; at++) ids.push(await run([FRANCE]));
    expect((await create([FRANCE])).status).toBe(429);
    const { data, total } = (await workspace.call("GET", `${path}?limit=20`)).body;
    expect([total, data.map(({ id }: { id: string }) => id)]).toEqual([10, ids.toReversed().slice(0, 10)]);
    expect(await rowsOf(ids[0]!)).toEqual([]);
  });
});

describe("with a language model", () => {
  const tool = (host: string, name: string, method: string, url: string) => ({
    name,
    description: "A tool of the shop.",
    parameters: { type: "object", properties: { order: { type: "string" } }, required: ["order"] },
    method,
    url: `https://${host}${url}`,
    timeout_seconds: 1,
  });

  async function runWith(
    script: (
      request: ChatRequest,
      count: number,
    ) => { text?: string[]; toolCalls?: { name: string; arguments: unknown }[]; status?: number },
  ) {
    const [host, shop] = [newHost(), newHost()];
    await behaveAt(shop, { mcp: { tools: [{ name: "find_order", annotations: { readOnlyHint: true } }, { name: "refund_order" }] } });
    const fixture = await createFixture({
      tools: [
        { type: "mcp", name: "shop", url: `https://${shop}/mcp`, requires_verified_visitor: false },
        tool(host, "order_status", "GET", "/orders/{order}"),
        { ...tool(host, "cancel_order", "POST", "/orders/{order}/cancel"), requires_verified_visitor: false },
        tool(host, "own_orders", "GET", "/customers/{visitor.external_id}/orders/{order}"),
      ],
    });
    await behaveAt(host, { body: "It is in Rotterdam." });
    const standIn = new OpenAiStandIn(script);
    const withModel = envWith({ OPENAI_BASE_URL: "http://stand-in.test/v1", OPENAI_MODEL: "answer" });
    const { id } = (await fixture.create([{ question: "Where is my order A1?", expect: { answer_contains: "rotterdam" } }])).body;
    const model = modelFor(withModel, { fetch: standIn.fetch, limits: LIMITS });
    await continueEvaluation(withModel, fixture.message(id), new Meter(), model);
    return { ...(await fixture.read(id)), requests: standIn.requests, received: await receivedBy(host) };
  }

  test("tools that change something, or act for a visitor, are not offered; others are called", async () => {
    const { cases, requests, received } = await runWith((_, count) =>
      count === 1 ? { toolCalls: [{ name: "order_status", arguments: { order: "A1" } }] } : { text: ["@sources t1\nIt is in Rotterdam."] },
    );
    const offered = requests[0]!.tools!.map(({ function: { name } }: { function: { name: string } }) => name);
    expect(offered).toEqual(["search_knowledge", "request_human", "shop_find_order", "order_status"]);
    expect(received).toHaveLength(1);
    expect(cases[0]).toMatchObject({ verdict: "right", trace: { tool_calls: [{ name: "order_status", outcome: "answered" }] } });
  });

  test("a case whose model fails says nothing about the knowledge", async () => {
    const result = await runWith(() => ({ status: 401 }));
    expect(result).toMatchObject({ status: "completed", failed_count: 1, metrics: { accuracy: null } });
    expect(result.cases[0]).toMatchObject({ verdict: "failed", trace: { decision: { reason: "model_failure" } } });
  });
});
