import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { ApiError, createOperatorClient, paginate } from "../../client/operator.ts";
import { createWidgetClient, type WidgetClientOptions } from "../../client/widget.ts";
import { createAgent, createWorkspace, learn } from "../harness.ts";
import { networkOf } from "./network.ts";

const operatorOf = (between?: Parameters<typeof networkOf>[0]) => {
  const { options, ...network } = networkOf(between);
  return { operator: createOperatorClient({ ...options, token: env.OPERATOR_TOKEN }), ...network };
};

/** A visitor of an agent that knows something. */
async function createVisitor(own: Partial<WidgetClientOptions> = {}, between?: Parameters<typeof networkOf>[0]) {
  const workspace = await createWorkspace();
  const { id: agent_id } = await createAgent(workspace, { name: "Desk", allowed_origins: ["*"] });
  await learn(workspace, agent_id, "# Refunds\n\nRefunds are paid within five working days.");
  const { options, ...network } = networkOf(between);
  const tokens: string[] = [];
  const visitor = createWidgetClient({ ...options, onVisitorToken: (token) => tokens.push(token), ...own });
  return { workspace, agent_id, visitor, tokens, ...network };
}

const QUESTION = { message: "When are refunds paid?" };
const unanswered = () => Promise.reject(new TypeError("The network failed."));

test("an operator makes a workspace with a key and an agent, reads its usage and export, and deletes it", async () => {
  const { operator, sent } = operatorOf();
  const slug = `client-${crypto.randomUUID()}`;
  const { id: workspace_id } = await operator.createWorkspace({ body: { name: "Client", slug, plan: "pro" } });
  const { key } = await operator.createKey({ workspace_id, body: { name: "All", scopes: ["*"] } });
  expect(key).toMatch(/^sk_live_/);
  const { id: agent_id } = await operator.createAgent({ workspace_id, body: { name: "Desk" } });
  expect((await operator.updateWorkspace({ workspace_id, body: { limits: { agents: 7 } } })).limits.agents).toBe(7);
  expect((await operator.getWorkspaceUsage({ workspace_id })).usage.agents).toBe(1);
  const found = [];
  for await (const workspace of paginate(operator.listWorkspaces, { limit: 100 })) if (workspace.slug === slug) found.push(workspace.id);
  expect(found).toEqual([workspace_id]);
  const lines = (await operator.exportWorkspace({ workspace_id })).trim().split("\n");
  expect(lines.map((line) => JSON.parse(line).type)).toEqual(expect.arrayContaining(["agents", "api_keys"]));
  expect(await operator.deleteAgent({ workspace_id, agent_id })).toBeUndefined();
  await operator.deleteWorkspace({ workspace_id });
  await expect(operator.getWorkspace({ workspace_id })).rejects.toMatchObject({ code: "not_found", status: 404 });
  expect(
    sent.every(({ headers }) => headers.get("Authorization") === `Bearer ${env.OPERATOR_TOKEN}` && !headers.has("Idempotency-Key")),
  ).toBe(true);
});

test("an operator's POST that nobody answers is not sent again, and a GET is", async () => {
  const { operator, sent } = operatorOf(unanswered);
  await expect(operator.createWorkspace({ body: { name: "Once", slug: "once" } })).rejects.toThrow("The network failed.");
  expect(sent).toHaveLength(1);
  await expect(operator.getHealth()).rejects.toThrow("The network failed.");
  expect(sent).toHaveLength(4);
  const { options } = networkOf();
  const error = await createOperatorClient({ ...options, token: "no" })
    .getHealth()
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ status: 401 });
});

test("a visitor asks, goes on with the token of the answer, and leaves contact details, a rating and a wish for a human", async () => {
  const { agent_id, visitor, tokens, sent } = await createVisitor();
  expect((await visitor.getWidgetSettings({ agent_id })).name).toBe("Desk");
  const { conversation_id, message_id, visitor_token } = await visitor.sendVisitorMessage({ agent_id, body: QUESTION });
  expect(tokens).toEqual([visitor_token]);
  const again = await visitor.sendVisitorMessage({ agent_id, body: { ...QUESTION, conversation_id } });
  expect(again.conversation_id).toBe(conversation_id);
  const file = await visitor.uploadVisitorAttachment({ agent_id, body: { file: new File(["It says 404."], "error.txt") } });
  expect(file.type).toBe("text/plain");
  expect((await visitor.rateVisitorAnswer({ conversation_id, message_id: message_id!, body: { rating: "up" } })).rating).toBe("up");
  expect((await visitor.sendVisitorLead({ agent_id, body: { email: "ann@example.com", conversation_id } })).conversation_id).toBe(
    conversation_id,
  );
  expect((await visitor.requestVisitorHandoff({ conversation_id })).status).toBe("needs_human");
  expect((await visitor.pollVisitorMessages({ conversation_id })).data.length).toBeGreaterThan(3);
  expect((await visitor.listVisitorConversations()).data.map(({ id }) => id)).toEqual([conversation_id]);
  await visitor.endVisitorSessions();
  await expect(visitor.listVisitorConversations()).rejects.toMatchObject({ code: "invalid_visitor_token" });
  expect(sent[0]!.headers.has("Authorization")).toBe(false);
});

test("a visitor's answer is streamed, and taken up again with the token of its start where the connection breaks", async () => {
  let breaks = 0;
  const { agent_id, visitor, tokens, sent } = await createVisitor({}, async (pass, { path }) => {
    const response = await pass();
    if (!path.endsWith("/messages") || breaks++ > 0) return response;
    // The connection breaks after the first event.
    const [start] = (await response.text()).split("\n\n");
    return new Response(`${start!}\n\n`, response);
  });
  const events = await Array.fromAsync(visitor.streamVisitorMessage({ agent_id, body: QUESTION }));
  expect(events[0]!.type).toBe("start");
  expect(events.at(-1)).toMatchObject({ type: "done", answer: { answer: expect.stringContaining("five working days") } });
  expect(sent.map(({ method, path }) => `${method} ${path.split("/").at(-1)!}`)).toEqual(["POST messages", "GET stream"]);
  expect(tokens.length).toBeGreaterThan(0);
  const done = events.at(-1)!;
  if (done.type !== "done") throw new Error("It is not done.");
  const { conversation_id, message_id } = done.answer;
  const whole = await Array.fromAsync(visitor.resumeVisitorAnswer({ conversation_id, message_id: message_id! }));
  expect(whole.at(-1)).toMatchObject({ type: "done", answer: { message_id } });
});

test("a visitor's question whose answer got lost is sent again and asked once", async () => {
  let lost = 0;
  const { workspace, agent_id, visitor, sent } = await createVisitor({}, async (pass) => {
    const response = await pass();
    return lost++ === 0 ? unanswered() : response;
  });
  const { conversation_id } = await visitor.sendVisitorMessage({ agent_id, body: QUESTION });
  expect(sent).toHaveLength(2);
  const { body } = await workspace.call("GET", `/conversations/${conversation_id}`);
  expect(body.messages).toHaveLength(2);
  expect((await workspace.call("GET", "/conversations")).body.total).toBe(1);
});
