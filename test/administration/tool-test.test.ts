import { expect, test } from "vitest";
import { createAgent, createWorkspace } from "../harness.ts";
import { behaveAt, newHost, receivedBy } from "../outbound.ts";

/** An agent that looks up the orders of the visitor. */
async function createShop() {
  const workspace = await createWorkspace();
  const host = newHost();
  const order = { type: "string", minLength: 2, pattern: "^([A-Z0-9]+)+$" };
  const parameters = { type: "object", properties: { order }, required: ["order"] };
  const common = { description: "Says where an order is.", parameters, method: "GET", headers: { Authorization: "Bearer s3cret" } };
  const { id } = await createAgent(workspace, {
    tools: [
      { ...common, name: "order_status", url: `https://${host}/orders/{order}` },
      { type: "client", name: "cancel_order", description: "Cancels an order.", parameters },
      { ...common, name: "own_order", url: `https://${host}/customers/{visitor.external_id}/orders/{order}` },
    ],
  });
  const call = (tool: string, body: object) => workspace.call("POST", `/agents/${id}/tools/${tool}/test`, body);
  return { host, call };
}

test("a tool is called as the agent would, and its answer is what a model would read", async () => {
  const { host, call } = await createShop();
  await behaveAt(host, { headers: { "Content-Type": "application/json" }, body: '{ "place": "Rotterdam" }' });
  const { status, body } = await call("order_status", { arguments: { order: "A1" } });
  expect(status).toBe(200);
  expect(body).toEqual({ outcome: "answered", status: 200, text: '{"place":"Rotterdam"}', duration_ms: expect.any(Number) });
  const [received] = await receivedBy(host);
  expect(received).toMatchObject({ place: expect.stringContaining("/orders/A1"), headers: { authorization: "Bearer s3cret" } });
});

test("arguments that do not fit are refused, and nothing is sent", async () => {
  const { host, call } = await createShop();
  const { body } = await call("order_status", { arguments: { order: "A" } });
  expect(body).toMatchObject({ outcome: "refused", status: null, text: expect.stringContaining("Nothing was done") });
  expect(await receivedBy(host)).toEqual([]);
});

test("a pattern that a regular expression of JavaScript would match for hours is checked at once", async () => {
  const { host, call } = await createShop();
  const { body } = await call("order_status", { arguments: { order: `${"A".repeat(100)}!` } });
  expect(body).toMatchObject({ outcome: "refused", text: expect.stringContaining("#/properties/order/pattern") });
  expect(await receivedBy(host)).toEqual([]);
});

test("a failure says what the other side answered", async () => {
  const { host, call } = await createShop();
  await behaveAt(host, { status: 500, headers: { "Content-Type": "text/plain" }, body: "database down" });
  const { body } = await call("order_status", { arguments: { order: "A1" } });
  expect(body).toMatchObject({ outcome: "failed", text: "It answered with status 500.\ndatabase down" });
});

test("a tool that names the visitor needs one, and is called for that one", async () => {
  const { host, call } = await createShop();
  const refused = await call("own_order", { arguments: { order: "A1" } });
  expect([refused.status, refused.body.detail[0].loc]).toEqual([422, ["body", "visitor"]]);
  await behaveAt(host, { body: "shipped" });
  const { body } = await call("own_order", { arguments: { order: "A1" }, visitor: { external_id: "ann" } });
  expect(body).toMatchObject({ outcome: "answered", text: "shipped" });
  expect((await receivedBy(host))[0]).toMatchObject({ place: expect.stringContaining("/customers/ann/orders/A1") });
});

test("a tool that the agent does not have, or that only a caller runs, is not found", async () => {
  const { call } = await createShop();
  expect((await call("refund", {})).status).toBe(404);
  expect((await call("cancel_order", { arguments: { order: "A1" }, visitor: { external_id: "ann" } })).status).toBe(404);
});
