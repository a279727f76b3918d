import { describe, expect, test } from "vitest";
import type { Question } from "../../src/chat/question.ts";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import { query } from "../harness.ts";
import { SECRET, lookUp, cancel, type Model, says, callThen, ANN, createToolAgent, bodyOf } from "./tool-agent.ts";

/** A tool that lists the visitor's own orders, whatever the model writes. */
const ownOrders = (host: string) => ({
  name: "own_orders",
  description: "Lists the visitor's orders.",
  parameters: { type: "object", properties: { state: { type: "string" }, customer: { type: "string" } } },
  method: "POST",
  url: `https://${host}/customers/{visitor.external_id}/orders?email={visitor.email}&ref={conversation.id}`,
  headers: { Authorization: SECRET, "X-Customer": "id={visitor.external_id}; role=customer", "X-Format": '{"v":1}' },
  body: { asked_by: "{visitor.email}", nested: { list: ["<{visitor.external_id}>", 7, "{other}"] } },
  timeout_seconds: 1,
});
const orderOf = (host: string) => ({ ...lookUp(host), requires_verified_visitor: true });

describe("a tool acts for the visitor", () => {
  const BUILT_IN = ["search_knowledge", "request_human", "collect_lead"];
  const calls = callThen({ state: "open", customer: "{visitor.email}" }, says("There."), "own_orders");
  const createOwnFixture = async (script: Model = calls) => {
    const fixture = await createToolAgent(script, { tools: (host) => [ownOrders(host), orderOf(host)] });
    await fixture.behave({ body: "There." });
    const asVisitor = (visitor: object | null, changes: Partial<Question> = {}) =>
      fixture.ask({ visitor: visitor && { ...ANN, ...visitor }, ...changes });
    const offered = () =>
      fixture.requests
        .at(-1)!
        .tools!.map(({ function: tool }) => tool.name)
        .slice(BUILT_IN.length);
    return { ...fixture, asVisitor, offered };
  };
  const anonymous = { anonId: "anon_1", externalId: null, verified: false, isProfileVerified: false };

  test("with what the service knows of them, which the model neither sees nor writes", async () => {
    const { run, received, requests, conversationId } = await createOwnFixture();
    expect(await run()).toMatchObject({ answer: "There." });
    const [call, ...more] = await received();
    expect(more).toEqual([]);
    expect(call!.place).toMatch(new RegExp(`/customers/ann/orders\\?email=ann%40example\\.com&ref=${conversationId}$`));
    expect(call!.headers).toMatchObject({ authorization: SECRET, "x-customer": "id=ann; role=customer", "x-format": '{"v":1}' });
    expect(JSON.parse(bodyOf(call!))).toEqual({
      state: "open",
      customer: "{visitor.email}",
      asked_by: "ann@example.com",
      nested: { list: ["<ann>", 7, "{other}"] },
    });
    expect(JSON.stringify(requests[0]!.tools)).not.toMatch(/visitor\.|conversation\.id|ann/);
  });

  test("with values that stay in their place", async () => {
    const { run, received, asVisitor } = await createOwnFixture();
    await run(asVisitor({ anonId: "api:x", externalId: 'é"; role=admin, %\u2028{visitor.email}', email: 'a"b&c=d@example.com' }));
    const [call] = await received();
    const id = "%C3%A9%22%3B%20role%3Dadmin%2C%20%25%E2%80%A8%7Bvisitor.email%7D";
    expect(call!.place).toContain(`/customers/${id}/orders?email=a%22b%26c%3Dd%40example.com&ref=`);
    expect(call!.headers["x-customer"]).toBe("id=%C3%A9%22%3B%20role=admin%2C%20%25%E2%80%A8{visitor.email}; role=customer");
    expect(JSON.parse(bodyOf(call!))).toMatchObject({ asked_by: 'a"b&c=d@example.com' });
  });

  test.each<[string, object | null]>([
    ["who is nobody", null],
    ["who is anonymous", { ...anonymous, email: null }],
    ["whose address somebody typed", { ...anonymous, email: "ann@example.com" }],
  ])("and is not there for a visitor %s, so that the model cannot call it", async (_, visitor) => {
    const { run, received, asVisitor, offered, requests } = await createOwnFixture((_, count) =>
      count === 1
        ? { toolCalls: ["own_orders", "order_status"].map((name) => ({ name, arguments: { order: "A1" } })) }
        : { text: ["@sources p1\nWithin five working days."] },
    );
    expect(await run(asVisitor(visitor))).toMatchObject({ answer: "Within five working days." });
    expect(offered()).toEqual([]);
    expect(JSON.stringify(requests[1]!.messages)).toContain("There is no tool of that name");
    expect(await received()).toEqual([]);
  });

  test("and is not there for a visitor who is not verified if it changes something, unless the team decides otherwise", async () => {
    const decided = (host: string) => ({ ...cancel(host), name: "cancel_any", requires_verified_visitor: false });
    const { run, ask, requests } = await createToolAgent(
      { text: ["@sources p1\nWithin five working days."] },
      { tools: (host) => [cancel(host), decided(host), lookUp(host)] },
    );
    await run(ask({ visitor: { ...ANN, ...anonymous, email: null } }));
    expect(requests[0]!.tools!.map(({ function: tool }) => tool.name).slice(BUILT_IN.length)).toEqual(["cancel_any", "order_status"]);
  });

  test("and is not there where one of its variables is not known, or cannot stand in its path", async () => {
    const { run, asVisitor, offered } = await createOwnFixture({ text: ["@sources p1\nWithin five working days."] });
    const next = () => ({ conversationId: newId(shardOf(newId(0, 0)), Date.now()) });
    await run(asVisitor({ anonId: "api:no-email", externalId: "no-email", email: null }, next()));
    expect(offered()).toEqual(["order_status"]);
    await run(asVisitor({ anonId: "api:a/b", externalId: "../admin" }, next()));
    expect(offered()).toEqual(["order_status"]);
    await run(asVisitor({ anonId: "user:typed", externalId: "typed", isProfileVerified: false }, next()));
    expect(offered()).toEqual(["order_status"]);
    await run(asVisitor({ anonId: "user:typed", externalId: "typed" }, next()));
    expect(offered()).toEqual(["own_orders", "order_status"]);
  });

  test("in later turns too, by what was proven before; the token that a visitor had before does not prove them", async () => {
    const { run, asVisitor, offered } = await createOwnFixture({ text: ["@sources p1\nWithin five working days."] });
    const continued = { isNew: false };
    await run(asVisitor({ ...anonymous, email: null }));
    const [{ id } = { id: "" }] = await query<{ id: string }>(
      asVisitor(null).workspaceId,
      "SELECT id FROM visitors WHERE workspace_id = ? AND anon_id = 'anon_1'",
      asVisitor(null).workspaceId,
    );
    await run(asVisitor({ anonId: "user:ann", joins: id }, continued));
    expect(offered()).toEqual(["own_orders", "order_status"]);
    await run(asVisitor({ anonId: "user:ann", email: null, isProfileVerified: false }, continued));
    expect(offered()).toEqual(["own_orders", "order_status"]);
    await run(asVisitor({ anonId: "user:ann", email: "eve@example.com", isProfileVerified: false }, continued));
    expect(offered()).toEqual(["own_orders", "order_status"]);
    await run(asVisitor(null, continued));
    expect(offered()).toEqual(["own_orders", "order_status"]);
    await run(asVisitor({ ...anonymous, email: null }, continued));
    expect(offered()).toEqual([]);
  });
});
