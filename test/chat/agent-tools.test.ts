import { describe, expect, test, vi } from "vitest";
import { query } from "../harness.ts";
import { channelOf, INJECTIONS, followInjections, ORDER } from "../grounded/injections.ts";
import type { Behaviour } from "../outbound-protocol.ts";
import { RESOLVER, resolveTo } from "../outbound.ts";
import { quotationsOf } from "../stand-ins/openai.ts";
import { SECRET, HANDED_OFF, JSON_TYPE, cancel, asks, says, callThen, lastMessage, createToolAgent, bodyOf } from "./tool-agent.ts";

describe("a tool of an agent", () => {
  test("is called with the model's arguments, and the agent answers from its response", async () => {
    const { run, behave, received, requests } = await createToolAgent(
      callThen({ order: "A 1-x", tags: ["a", "b"] }, says("In Rotterdam.")),
    );
    await behave({ headers: JSON_TYPE, body: '{ "place": "Rotterdam" }' });
    expect(await run()).toMatchObject({ answer: "In Rotterdam.", needs_human: false, citations: [] });
    const [call, ...more] = await received();
    expect(more).toEqual([]);
    expect(call).toMatchObject({ method: "GET", place: expect.stringMatching(/\/orders\/A%201-x\?v=2&tags=a&tags=b$/) });
    expect(call!.headers).toMatchObject({ authorization: SECRET, "user-agent": "Support-Agent-Tools/1.0" });
    expect(call!.headers).not.toHaveProperty("idempotency-key");
    expect(bodyOf(call!)).toBe("");
    const offered = requests[0]!.tools!.map(({ function: tool }) => tool.name);
    expect(offered).toEqual(["search_knowledge", "request_human", "collect_lead", "order_status", "cancel_order"]);
    expect(quotationsOf(requests[1]!).at(-1)).toEqual({ label: "result t1", text: '{"place":"Rotterdam"}' });
  });

  test.each(["POST", "PUT", "PATCH", "DELETE"])("that changes something is a %s with an Idempotency-Key of its own", async (method) => {
    const { run, behave, received } = await createToolAgent(
      callThen({ order: "A1", reason: "late & cold" }, says("Done."), "cancel_order"),
      {
        tools: (host) => [cancel(host, method)],
      },
    );
    await behave({ status: 204 });
    expect(await run()).toMatchObject({ answer: "Done." });
    const [call] = await received();
    const isDelete = method === "DELETE";
    expect(call!.method).toBe(method);
    expect(call!.place.endsWith(isDelete ? "/orders/A1/cancel?reason=late%20%26%20cold" : "/orders/A1/cancel")).toBe(true);
    expect(bodyOf(call!)).toBe(isDelete ? "" : '{"reason":"late & cold"}');
    expect(call!.headers["idempotency-key"]).toMatch(/^[0-9a-f]{64}$/);
    if (!isDelete) expect(call!.headers["content-type"]).toBe("application/json");
  });

  test("gets only what the model wrote, and nothing else about the visitor", async () => {
    const { run, behave, received, agent, workspace, conversationId } = await createToolAgent(callThen({ order: "A1" }, says("There.")));
    await behave({ body: "There." });
    await run();
    const sent = JSON.stringify((await received()).map((call) => ({ ...call, body: bodyOf(call) })));
    for (const word of ["Ann", "ann@example.com", "api:ann", agent.id, workspace.id, conversationId]) expect(sent).not.toContain(word);
  });

  test.each<[string, unknown]>([
    ["too short", { order: "A" }],
    ["missing", {}],
    ["of another type", { order: 7 }],
    ["not declared", { order: "A1", email: "ann@example.com" }],
    ["no object", ["A1"]],
    ["no JSON", '{"order": "A1"'],
    ["out of its place", { order: "../admin" }],
    ["a dot segment", { order: ".." }],
  ])("is not called with an argument that is %s: the model gets the problem, and may correct it", async (_, input) => {
    const { run, behave, received, requests } = await createToolAgent((_, count) =>
      count === 1 ? asks(input) : count === 2 ? asks({ order: "A1" }) : says("There."),
    );
    await behave({ body: "There." });
    expect(await run()).toMatchObject({ answer: "There." });
    expect(await received()).toHaveLength(1);
    expect(requests[1]!.messages.at(-1)!.role).toBe("tool");
    expect(quotationsOf(requests[1]!).some(({ label }) => label.startsWith("result"))).toBe(false);
  });

  test("is called in at most five rounds", async () => {
    const { run, behave, received } = await createToolAgent((request, count) =>
      request.tool_choice === "none" ? { text: ["@unknown"] } : asks({ order: `A${count}` }),
    );
    await behave({ body: "Nothing yet." });
    expect(await run()).toMatchObject({ answer: HANDED_OFF });
    expect(await received()).toHaveLength(5);
  });

  test("is not called by the extractive engine", async () => {
    const { workspace, agent, received, behave } = await createToolAgent({});
    await behave({ body: "There." });
    const asked = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "When are refunds paid?" });
    expect(asked.body.needs_human).toBe(false);
    expect(await received()).toEqual([]);
  });
});

test("what a tool reads is never taken from a cache", async () => {
  const { run, behave, received } = await createToolAgent(callThen({ order: "A1" }, says("There.")));
  await behave({ headers: { "Cache-Control": "public, max-age=3600" }, body: "There." });
  await run();
  expect((await received())[0]!.headers).toMatchObject({ "cache-control": "no-cache" });
});

describe("a tool's response", () => {
  test.each<[string, Behaviour, string | RegExp]>([
    ["nothing", { status: 204 }, "Status 204."],
    ["text", { headers: { "Content-Type": "text/plain" }, body: "In Rotterdam" }, "In Rotterdam"],
    ["HTML", { headers: { "Content-Type": "text/html" }, body: "<p>In Rotterdam</p>" }, "<p>In Rotterdam</p>"],
    [
      "that there is none",
      { status: 404, headers: JSON_TYPE, body: '{"error": "no such order"}' },
      'Status 404. {"error":"no such order"}',
    ],
    ["that it will not", { status: 422, body: "too late" }, "Status 422. too late"],
    ["too much", { body: "long ".repeat(1_000), times: 2_000 }, /^(?:long )+l?o?n?g?…$/],
    ["too much, compressed", { body: "long ".repeat(1_000), times: 2_000, gzip: true }, /^(?:long )+l?o?n?g?…$/],
  ])("%s is quoted as data", async (_, behaviour, text) => {
    const { run, behave, requests } = await createToolAgent(callThen({ order: "A1" }, says("So it is.")));
    await behave(behaviour);
    expect(await run()).toMatchObject({ answer: "So it is." });
    const quoted = quotationsOf(requests[1]!).at(-1)!;
    expect(quoted).toEqual({ label: "result t1", text: text instanceof RegExp ? expect.stringMatching(text) : text });
    expect(quoted.text.length).toBeLessThan(3_100);
  });

  describe("cannot give the model instructions", () => {
    test.each(Object.entries(INJECTIONS))("%s", async (_, injection) => {
      const { run, behave, received, requests } = await createToolAgent((request, count) =>
        count === 1 ? asks({ order: "A1" }) : followInjections(request),
      );
      await behave({ headers: { "Content-Type": "text/plain; charset=utf-8" }, body: injection.replaceAll("\0", "") });
      expect(await run()).toMatchObject({ answer: "Refunds are paid within five working days." });
      expect(channelOf(requests[1]!)).not.toContain(ORDER);
      expect(quotationsOf(requests[1]!).at(-1)!.text).toContain(ORDER);
      expect(await received()).toHaveLength(1);
    });

    test("cannot give the model instructions when it fails either", async () => {
      const injection = INJECTIONS["the end of the quotation"]!;
      const { run, behave, requests } = await createToolAgent((request, count) =>
        count === 1 ? asks({ order: "A1" }) : followInjections(request),
      );
      await behave({ status: 500, body: injection });
      await run();
      expect(channelOf(requests[1]!)).not.toContain(ORDER);
      expect(quotationsOf(requests[1]!).at(-1)).toMatchObject({ label: "failure", text: expect.stringContaining(ORDER) });
    });
  });
});

describe("a tool that fails", () => {
  test.each<[string, Behaviour, string]>([
    ["fails", { status: 500, body: "stack trace" }, "It answered with status 500."],
    ["is not let in", { status: 401, body: "who are you" }, "It answered with status 401."],
    ["is asked too often", { status: 429 }, "It answered with status 429."],
    [
      "redirects to the inside",
      { status: 302, headers: { Location: "http://169.254.169.254/latest/meta-data" } },
      "It answered with status 302.",
    ],
    ["redirects to itself", { status: 307, headers: { Location: "/orders/A1" } }, "It answered with status 307."],
    ["answers with a picture", { headers: { "Content-Type": "image/png" }, bytes: "iVBORw0KGgo=" }, "with a body that is not text"],
    ["breaks off", { fails: "reset" }, "It could not be reached."],
    ["breaks off in its answer", { body: "In Rot", fails: "reset_in_body" }, "It could not be reached."],
    ["says nothing", { fails: "silent" }, "It did not answer in time."],
    ["trickles", { body: ".", times: 1_000, everyMs: 100 }, "It did not answer in time."],
  ])("by %s is reported to the model, and hands off when it fails again", async (_, behaviour, problem) => {
    const { run, behave, received, requests, reasons } = await createToolAgent((_, count) => asks({ order: `A${count}` }));
    await behave(behaviour);
    expect(await run()).toMatchObject({ answer: HANDED_OFF, needs_human: true, citations: [] });
    expect(lastMessage(requests[1])).toContain(problem);
    expect(requests).toHaveLength(2);
    expect(await received()).toHaveLength(2);
    expect(await reasons()).toEqual(["tool_failure"]);
  });

  test.each(["@unknown", "@unsupported", "@sources t1\nIn Rotterdam."])("hands off when the model then says %s", async (text) => {
    const { run, behave, reasons } = await createToolAgent(callThen({ order: "A1" }, { text: [text] }));
    await behave({ status: 503 });
    expect(await run()).toMatchObject({ answer: HANDED_OFF });
    expect(await reasons()).toEqual(["tool_failure"]);
  });

  test("hands off in the middle of an answer too", async () => {
    const { run, behave, reasons } = await createToolAgent((_, count) =>
      count === 1 ? { text: ["@sources p1\nLet me look."], ...asks({ order: "A1" }) } : { text: ["@unknown"] },
    );
    await behave({ status: 503 });
    expect((await run()).answer).toContain(HANDED_OFF);
    expect(await reasons()).toEqual(["tool_failure"]);
  });

  test("does not keep the model from answering from the passages, nor the visitor from a human", async () => {
    const passages = await createToolAgent(callThen({ order: "A1" }, { text: ["@sources p1\nWithin five working days."] }));
    await passages.behave({ status: 503 });
    expect(await passages.run()).toMatchObject({ answer: "Within five working days.", needs_human: false });
    const human = await createToolAgent(callThen({ order: "A1" }, { text: ["@human"] }));
    await human.behave({ status: 503 });
    await human.run();
    expect(await human.reasons()).toEqual(["customer_request"]);
  });

  test("may work the second time", async () => {
    const { run, behave } = await createToolAgent((_, count) => (count <= 2 ? asks({ order: "A1" }) : says("There.")));
    await behave({ status: 503 }, { body: "There." });
    expect(await run()).toMatchObject({ answer: "There." });
  });

  test("because its host now resolves to a private address is not called", async () => {
    const { run, host, behave, received, requests } = await createToolAgent(
      (_, count) => (count === 1 ? asks({ order: "A1" }) : { text: ["@unknown"] }),
      {
        bindings: { DNS_OVER_HTTPS_URL: RESOLVER },
      },
    );
    await behave({ body: "There." });
    await resolveTo(host, { A: ["10.0.0.7"] });
    await run();
    expect(lastMessage(requests[1])).toContain("It may not be called.");
    expect(await received()).toEqual([]);
  });

  test("because its secret was encrypted with a key that is gone hands off", async () => {
    const { run, received, reasons } = await createToolAgent(callThen({ order: "A1" }, says("There.")), {
      bindings: { ENCRYPTION_KEY: "another key" },
    });
    await run();
    expect([await received(), await reasons()]).toEqual([[], ["tool_failure"]]);
  });
});

test("the log has the tool, its status and its duration, but no arguments, secrets or responses", async () => {
  const logs = (["log", "error", "warn"] as const).map((level) => vi.spyOn(console, level).mockReturnValue());
  const { run, behave, workspace, conversationId } = await createToolAgent((_, count) =>
    count === 1
      ? asks({ order: "PRIVATE-1" })
      : count === 2
        ? asks({ order: "A1", reason: "PRIVATE-2" }, "cancel_order")
        : { text: ["@unknown"] },
  );
  await behave({ body: "PRIVATE-3" }, { status: 500, body: "PRIVATE-4" });
  await run();
  const lines = logs.flatMap(({ mock }) => mock.calls.map(([line]) => String(line)));
  for (const log of logs) log.mockRestore();
  const calls = lines.filter((line) => line.includes('"tool_call"')).map((line) => JSON.parse(line));
  const who = {
    event: "tool_call",
    workspace_id: workspace.id,
    conversation_id: conversationId,
    outcome: "answered",
    duration_ms: expect.any(Number),
  };
  expect(calls).toEqual([
    { ...who, tool: "order_status", status: 200 },
    { ...who, tool: "cancel_order", status: 500 },
  ]);
  expect(lines.join("\n")).not.toMatch(/PRIVATE|s3cr3t|\/orders/);
});

test("a header's value is sent only to the tool's host", async () => {
  const { run, behave, requests, workspace, conversationId, agent } = await createToolAgent(callThen({ order: "A1" }, says("There.")));
  await behave({ body: "There." });
  await run();
  const transcript = await workspace.call("GET", `/conversations/${conversationId}`);
  const exported = await workspace.call("GET", "/privacy/export?external_id=ann");
  const rows = await query(agent.id, "SELECT * FROM agents WHERE id = ?", agent.id);
  expect(JSON.stringify([requests, transcript.body, exported.body, rows])).not.toContain("s3cr3t");
  expect(exported.body.visitors).toHaveLength(1);
});
