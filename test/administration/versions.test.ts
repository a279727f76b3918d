import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { createAgent, createKey, createWorkspace, learn, operate, query, send } from "../harness.ts";
import { visitorOf } from "../widget/widget.ts";

const TOOL = {
  name: "order_status",
  description: "Reads an order.",
  method: "GET",
  url: "https://api.example.com/orders",
  headers: { "X-Key": "MARK-secret" },
};

async function createFixture(settings: Record<string, unknown> = {}) {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace, { instructions: "Be brief.", ...settings });
  const path = `/agents/${agent.id}`;
  const call = async (method: string, at: string, body?: object) => (await workspace.call(method, path + at, body)).body;
  const ask = async (body: Record<string, unknown> = {}) => {
    const { body: answer } = await workspace.call("POST", `${path}/messages`, { message: "When are refunds paid?", ...body });
    const messages = (await workspace.call("GET", `/conversations/${answer.conversation_id}/messages`)).body.data;
    return { ...answer, versions: messages.map(({ agent_version: version }: Record<string, unknown>) => version) };
  };
  return { workspace, agent, path, call, ask };
}

test("a change of settings that shape answers is a version with its author, base and difference", async () => {
  const { workspace, agent, path, call } = await createFixture({ tools: [TOOL] });
  const { key, id } = await createKey(workspace, ["agents:write"]);
  const body = { instructions: "Rhyme.", confidence_threshold: 0.6, languages: { de: {} } };
  expect((await send("PATCH", `/api/v1${path}`, { token: key, body })).body).toMatchObject({ version: 2, rollout: null });
  await operate("PATCH", `/workspaces/${workspace.id}${path}`, { model: "answer-5" });
  const { data, total } = await call("GET", "/versions");
  expect(total).toBe(3);
  expect(data).toMatchObject([
    { number: 3, status: "published", base: 2, changed_fields: ["model"], author: { type: "operator", id: null, name: null } },
    {
      number: 2,
      status: "superseded",
      base: 1,
      changed_fields: ["instructions", "confidence_threshold", "languages"],
      author: { type: "key", id, name: expect.any(String) },
    },
    { number: 1, status: "superseded", base: null, changed_fields: [], share: null, note: null },
  ]);
  const { settings, differences } = await call("GET", "/versions/2");
  expect(settings).toMatchObject({ instructions: "Rhyme.", model: null, languages: { de: {} } });
  expect(settings.tools).toMatchObject([{ name: "order_status", headers: { "X-Key": null } }]);
  expect(differences).toEqual([
    { field: "instructions", before: "Be brief.", after: "Rhyme." },
    { field: "confidence_threshold", before: 0.5, after: 0.6 },
    { field: "languages", before: {}, after: { de: {} } },
  ]);
  expect((await call("GET", "/versions?limit=1&offset=2")).data).toMatchObject([{ number: 1 }]);
  expect(await query(workspace.id, "SELECT 1 FROM agent_versions WHERE agent_id = ? AND settings LIKE '%MARK%'", agent.id)).toEqual([]);
});

test("a change of other settings, and one that changes nothing, is no version", async () => {
  const { call } = await createFixture({ tools: [TOOL] });
  await call("PATCH", "", { name: "Ada", status: "paused", inactivity_minutes: 5 });
  expect(await call("GET", "")).toMatchObject({ name: "Ada", version: 1 });
  const { tools, ...texts } = await call("GET", "");
  expect(await call("PATCH", "", texts)).toMatchObject({ version: 1 });
  // A tool that is read names its type, which the request had left out.
  expect(await call("PATCH", "", { tools })).toMatchObject({ version: 2 });
  expect(await call("PATCH", "", { tools })).toMatchObject({ version: 2 });
  await call("PATCH", "", { instructions: "Be brief." });
  expect((await call("GET", "/versions")).total).toBe(2);
});

test("a change that is refused makes no version", async () => {
  const { workspace, call } = await createFixture();
  await createAgent(workspace, { slug: "taken" });
  expect(await call("PATCH", "", { slug: "taken", instructions: "Rhyme." })).toMatchObject({ error: { code: "conflict" } });
  expect(await call("GET", "/versions")).toMatchObject({ total: 1 });
  expect(await call("GET", "")).toMatchObject({ instructions: "Be brief.", version: 1 });
});

test("the draft is edited in steps, answers only who asks for it, and is published with a note", async () => {
  const { workspace, agent, call, ask } = await createFixture();
  await learn(workspace, agent.id, "# Refunds\n\nRefunds are paid within five working days.");
  const none = await call("GET", "/versions/draft");
  expect(none).toMatchObject({ number: null, status: "draft", base: 1, changed_fields: [], differences: [], created_at: null });
  expect(none.settings.instructions).toBe("Be brief.");
  await call("PATCH", "/versions/draft", { instructions: "Rhyme." });
  const draft = await call("PATCH", "/versions/draft", { confidence_threshold: 1, instructions: null });
  expect(draft).toMatchObject({ changed_fields: ["instructions", "confidence_threshold"], author: { type: "key" } });
  expect(draft.settings).toMatchObject({ instructions: null, confidence_threshold: 1 });
  expect(await call("GET", "")).toMatchObject({ instructions: "Be brief.", version: 1 });

  expect(await ask()).toMatchObject({ needs_human: false, versions: [null, 1] });
  const tried = await ask({ version: "draft" });
  expect(tried).toMatchObject({ handoff_reason: "low_confidence", versions: [null, 0] });
  const trace = await workspace.call("GET", `/conversations/${tried.conversation_id}/messages/${tried.message_id}/trace`);
  expect(trace.body).toMatchObject({ agent_version: 0, decision: { threshold: 1 } });

  // What is published meanwhile stays in the draft's other settings.
  await call("PATCH", "", { model: "answer-5" });
  expect(await call("POST", "/versions/publish", { note: "Stricter" })).toMatchObject({
    number: 3,
    status: "published",
    base: 2,
    note: "Stricter",
    changed_fields: ["instructions", "confidence_threshold"],
  });
  expect(await call("GET", "")).toMatchObject({ instructions: null, confidence_threshold: 1, model: "answer-5", version: 3 });
  expect(await call("GET", "/versions/draft")).toMatchObject({ base: 3, changed_fields: [], created_at: null });
  expect(await ask()).toMatchObject({ handoff_reason: "low_confidence", versions: [null, 3] });
  expect(await call("POST", "/versions/publish")).toMatchObject({ error: { code: "conflict" } });
});

test("a draft is discarded", async () => {
  const { workspace, path, call } = await createFixture();
  await call("PATCH", "/versions/draft", { instructions: "Rhyme." });
  expect((await workspace.call("DELETE", `${path}/versions/draft`)).status).toBe(204);
  expect(await call("GET", "/versions/draft")).toMatchObject({ changed_fields: [], settings: { instructions: "Be brief." } });
});

test("the draft needs the scope that changes agents", async () => {
  const { workspace, path } = await createFixture();
  const { key } = await createKey(workspace, ["chat:write", "agents:read"]);
  const body = { message: "When?", version: "draft" };
  const refused = await send("POST", `/api/v1${path}/messages`, { token: key, body });
  expect([refused.status, refused.body.error]).toMatchObject([403, { code: "insufficient_scope", message: /agents:write/ }]);
});

test("the tools of a draft keep stored header values, and are validated like those of an agent", async () => {
  const { workspace, agent, path, call } = await createFixture({ tools: [TOOL] });
  const stored = async (number: number) => {
    const sql = "SELECT settings ->> '$.tools[0].headers.X-Key' AS value FROM agent_versions WHERE agent_id = ? AND number = ?";
    return (await query<{ value: string }>(workspace.id, sql, agent.id, number))[0]!.value;
  };
  const kept = { ...TOOL, description: "Reads the order.", headers: { "X-Key": null } };
  expect((await call("PATCH", "/versions/draft", { tools: [kept] })).changed_fields).toEqual(["tools"]);
  expect(await stored(0)).toBe(await stored(1));
  const foreign = { ...kept, url: "https://evil.example.com/orders" };
  expect((await workspace.call("PATCH", `${path}/versions/draft`, { tools: [foreign] })).status).toBe(422);
  expect((await workspace.call("PATCH", `${path}/versions/draft`, { confidence_threshold: 2 })).status).toBe(422);
  await call("POST", "/versions/publish");
  const [row] = await query<{ tools: string }>(workspace.id, "SELECT tools FROM agents WHERE id = ?", agent.id);
  expect(JSON.parse(row!.tools)).toMatchObject([{ description: "Reads the order.", headers: { "X-Key": await stored(1) } }]);
});

/** Starts conversations, and returns how many of them each version answers. */
async function countVersions(ask: () => Promise<{ versions: number[] }>, conversations: number): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (let at = 0; at < conversations; at++) {
    const [, version] = (await ask()).versions;
    counts[version!] = (counts[version!] ?? 0) + 1;
  }
  return counts;
}

test("a version is rolled out to a share of new conversations, which keep it", async () => {
  const { workspace, agent, path, call, ask } = await createFixture();
  await learn(workspace, agent.id, "# Refunds\n\nRefunds are paid within five working days.");
  const before = await ask();
  await call("PATCH", "/versions/draft", { confidence_threshold: 1 });
  const candidate = await call("POST", "/versions/publish", { note: "Stricter", rollout: 1 });
  expect(candidate).toMatchObject({ number: 2, status: "rolling_out", share: 1, base: 1, changed_fields: ["confidence_threshold"] });
  expect(await call("GET", "")).toMatchObject({ confidence_threshold: 0.5, version: 1, rollout: { version: 2, share: 1 } });
  expect((await call("GET", "/versions")).data).toMatchObject([
    { number: 2, status: "rolling_out" },
    { number: 1, status: "published" },
  ]);
  const begun = await ask();
  expect(begun).toMatchObject({ handoff_reason: "low_confidence", versions: [null, 2] });
  expect((await ask({ conversation_id: before.conversation_id })).versions).toEqual([null, 1, null, 1]);

  // A new share changes no conversation that has begun.
  expect(await call("POST", "/rollout", { share: 0 })).toMatchObject({ number: 2, status: "rolling_out", share: 0 });
  expect(await ask()).toMatchObject({ needs_human: false, versions: [null, 1] });
  expect((await ask({ conversation_id: begun.conversation_id })).versions).toEqual([null, 2, null, 2]);

  expect(await call("POST", "/rollout", { share: 0.5 })).toMatchObject({ share: 0.5 });
  const counts = await countVersions(ask, 24);
  expect(Object.keys(counts)).toEqual(["1", "2"]);

  expect(await call("POST", "/rollout", { end: "drop" })).toMatchObject({ number: 2, status: "superseded", share: null });
  expect((await ask({ conversation_id: begun.conversation_id })).versions).toEqual([null, 2, null, 2, null, 1]);
  expect(await countVersions(ask, 4)).toEqual({ 1: 4 });
  for (const body of [{ share: 0.5 }, { end: "keep" }, { end: "drop" }]) {
    const refused = await workspace.call("POST", `${path}/rollout`, body);
    expect([refused.status, refused.body.error.code]).toEqual([409, "conflict"]);
  }
  for (const body of [{}, { share: 0.5, end: "keep" }, { share: 2 }, { end: "later" }]) {
    expect((await workspace.call("POST", `${path}/rollout`, body)).status).toBe(422);
  }
});

test("a version that is kept answers everybody, by its own number", async () => {
  const { workspace, agent, call, ask } = await createFixture({ tools: [TOOL] });
  await learn(workspace, agent.id, "# Refunds\n\nRefunds are paid within five working days.");
  const before = await ask();
  await call("PATCH", "/versions/draft", { confidence_threshold: 1, languages: { de: {} } });
  await call("POST", "/versions/publish", { rollout: 0 });
  expect(await call("POST", "/rollout", { end: "keep" })).toMatchObject({ number: 2, status: "published", share: null });
  const kept = await call("GET", "");
  expect(kept).toMatchObject({ confidence_threshold: 1, languages: { de: {} }, instructions: "Be brief.", version: 2, rollout: null });
  expect(kept.tools).toMatchObject([{ name: "order_status", headers: { "X-Key": null } }]);
  expect(await ask({ conversation_id: before.conversation_id })).toMatchObject({ versions: [null, 1, null, 2] });
  expect(await call("PATCH", "", { model: "answer-5" })).toMatchObject({ version: 3 });
});

test("what is published to everybody ends a rollout; another rollout replaces it", async () => {
  const { call } = await createFixture();
  const rollOut = async (instructions: string) => {
    await call("PATCH", "/versions/draft", { instructions });
    return call("POST", "/versions/publish", { rollout: 0.5 });
  };
  expect(await rollOut("Rhyme.")).toMatchObject({ number: 2 });
  expect(await rollOut("Sing.")).toMatchObject({ number: 3, base: 1 });
  expect(await call("GET", "")).toMatchObject({ version: 1, rollout: { version: 3, share: 0.5 } });
  expect(await call("PATCH", "", { name: "Ada" })).toMatchObject({ version: 1, rollout: { version: 3 } });
  expect(await call("PATCH", "", { model: "answer-5" })).toMatchObject({ version: 4, rollout: null, instructions: "Be brief." });
  expect(await rollOut("Hum.")).toMatchObject({ number: 5 });
  expect(await call("POST", "/versions/1/restore")).toMatchObject({ number: 6, base: 4 });
  expect(await call("GET", "")).toMatchObject({ version: 6, rollout: null, model: null });
});

test("the hand-off message is that of the version which answers", async () => {
  const { call, ask } = await createFixture();
  await call("PATCH", "/versions/draft", { handoff_message: "A colleague of ours writes to you." });
  await call("POST", "/versions/publish", { rollout: 1 });
  expect(await ask({ message: "How is bread baked?" })).toMatchObject({
    answer: "A colleague of ours writes to you.",
    versions: [null, 2],
  });
});

test("the button for a human has the setting and the message of the version which answers the conversation", async () => {
  const { agent, call } = await createFixture({ handoff_message: "A human comes." });
  const ask = async () => {
    const visitor = visitorOf(agent.id);
    const { conversation_id: id, visitor_token: token } = (await visitor.write({ message: "Hello" })).body;
    return async () => (await visitor.on(token, id, "POST", "handoff")).body;
  };
  const pressBefore = await ask();
  await call("PATCH", "/versions/draft", { handoff_message: "A colleague of ours writes to you." });
  await call("POST", "/versions/publish", { rollout: 1 });
  expect(await (await ask())()).toMatchObject({ status: "needs_human", handoff_message: "A colleague of ours writes to you." });
  await call("PATCH", "/versions/draft", { handoff: "off" });
  await call("POST", "/versions/publish", { rollout: 1 });
  expect(await (await ask())()).toMatchObject({ status: "ai_handled", handoff: null });
  expect(await pressBefore()).toMatchObject({ status: "needs_human", handoff_message: "A human comes." });
});

test("restoring a version publishes its settings as a new one, and leaves the draft alone", async () => {
  const { workspace, path, call } = await createFixture({ tools: [TOOL], confidence_threshold: 0.35 });
  await call("PATCH", "", { instructions: "Rhyme.", tools: [], welcome_message: "Ahoy", confidence_threshold: 0.7 });
  await call("PATCH", "/versions/draft", { model: "answer-5" });
  const restored = await call("POST", "/versions/1/restore", { note: "Back" });
  expect(restored).toMatchObject({ number: 3, status: "published", base: 2, note: "Back" });
  expect(restored.changed_fields).toEqual(["instructions", "welcome_message", "confidence_threshold", "tools"]);
  const agent = await call("GET", "");
  expect(agent).toMatchObject({ instructions: "Be brief.", confidence_threshold: 0.35, version: 3, tools: [{ name: "order_status" }] });
  expect((await call("GET", "/versions/3")).settings).toMatchObject({ instructions: "Be brief.", welcome_message: agent.welcome_message });
  expect((await call("GET", "/versions/draft")).changed_fields).toEqual(["model"]);
  expect((await workspace.call("POST", `${path}/versions/9/restore`)).status).toBe(404);
  expect((await workspace.call("POST", `${path}/versions/draft/restore`)).status).toBe(422);
  for (const wrong of ["0", "-1", "1.5", "drafts", "99999999999999999999"]) {
    expect((await workspace.call("GET", `${path}/versions/${wrong}`)).status).toBe(422);
  }
});

test("a repeated publication publishes once, also when its response was lost", async () => {
  const { workspace, path, call } = await createFixture();
  const once = { "Idempotency-Key": "once" };
  const lose = () =>
    query(workspace.id, "UPDATE idempotency_records SET response_status = NULL, lease_until = 0 WHERE workspace_id = ?", workspace.id);
  await call("PATCH", "/versions/draft", { instructions: "Rhyme." });
  const publish = async () => (await workspace.call("POST", `${path}/versions/publish`, {}, once)).body;
  expect(await publish()).toMatchObject({ number: 2 });
  await lose();
  await call("PATCH", "/versions/draft", { instructions: "Sing." });
  expect(await publish()).toMatchObject({ number: 2 });
  expect(await call("GET", "/versions")).toMatchObject({ total: 2 });
  expect((await call("GET", "/versions/draft")).settings.instructions).toBe("Sing.");
});

test("at most a hundred versions are kept, and fewer where they are large", async () => {
  const { workspace, agent, call } = await createFixture();
  const copy = `INSERT INTO agent_versions (id, workspace_id, agent_id, number, settings, base, created_at)
    SELECT ? || substr('000' || value, -3), workspace_id, agent_id, value, settings, value - 1, created_at
      FROM agent_versions, json_each((WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 104) SELECT json_group_array(i) FROM n))
     WHERE agent_id = ? AND number = 1`;
  await query(workspace.id, copy, agent.id.slice(0, -3), agent.id);
  await query(workspace.id, "UPDATE agents SET version = 104 WHERE id = ?", agent.id);
  const evaluated = await call("POST", "/evaluations", { version: 3, cases: [{ question: "Who?", expect: { refusal: true } }] });
  expect(await call("PATCH", "", { instructions: "Rhyme." })).toMatchObject({ version: 105 });
  const { total } = await call("GET", "/versions");
  expect(total).toBe(101);
  expect((await call("GET", "/versions?limit=2&offset=99")).data).toMatchObject([{ number: 6 }, { number: 3 }]);
  await call("DELETE", `/evaluations/${evaluated.id}`);
  expect((await call("GET", "/versions/6")).differences).toBeNull();
  await query(
    workspace.id,
    "UPDATE agent_versions SET settings = json_set(settings, '$.model', hex(zeroblob(300000))) WHERE agent_id = ?",
    agent.id,
  );
  await call("PATCH", "", { instructions: "Sing." });
  expect((await call("GET", "/versions")).total).toBe(9);
});

test("an agent from before versions gets its first one by the migration, with the same settings", async () => {
  const { workspace, agent, call } = await createFixture({ tools: [TOOL], languages: { de: {} }, confidence_threshold: 0.35 });
  const settingsOf = "SELECT settings FROM agent_versions WHERE agent_id = ?";
  const made = await query(workspace.id, settingsOf, agent.id);
  await query(workspace.id, "DELETE FROM agent_versions WHERE agent_id = ?", agent.id);
  const statement = env.TEST_MIGRATIONS.flatMap(({ queries }) => queries).find((sql) => sql.includes("INSERT INTO agent_versions"))!;
  await query(workspace.id, `${statement.replace(/;\s*$/, "")} WHERE id = ?`, agent.id);
  const addition = env.TEST_MIGRATIONS.flatMap(({ queries }) => queries).find((sql) => sql.includes("UPDATE agent_versions"))!;
  await query(workspace.id, `${addition.replace(/;\s*$/, "")} AND agent_id = ?`, agent.id);
  expect(await query(workspace.id, settingsOf, agent.id)).toEqual(made);
  expect(await call("GET", "/versions")).toMatchObject({ data: [{ number: 1, status: "published", author: null }], total: 1 });
});

test("the versions of a deleted agent are deleted", async () => {
  const { workspace, path, agent, call } = await createFixture();
  await call("PATCH", "/versions/draft", { instructions: "Rhyme." });
  await workspace.call("DELETE", path);
  expect(await query(workspace.id, "SELECT id FROM agent_versions WHERE agent_id = ?", agent.id)).toEqual([]);
  expect((await workspace.call("GET", `${path}/versions`)).status).toBe(404);
});
