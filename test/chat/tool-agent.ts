import type { Question } from "../../src/chat/question.ts";
import { TurnRunner } from "../../src/chat/turn.ts";
import { modelFor } from "../../src/grounded/engine.ts";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { createAgent, createWorkspace, envWith, learn, query } from "../harness.ts";
import { LIMITS } from "../grounded/converse.ts";
import type { Behaviour } from "../outbound-protocol.ts";
import { behaveAt, newHost, receivedBy } from "../outbound.ts";
import { type ChatRequest, OpenAiStandIn, type Script } from "../stand-ins/openai.ts";
import { HANDBOOK } from "./handbook.ts";
import { questionOf } from "./question.ts";

export const SECRET = "Bearer s3cr3t-of-the-operator";
export const HANDED_OFF = "A colleague takes over.";
export const JSON_TYPE = { "Content-Type": "application/json" };

/** A tool that looks an order up. */
export const lookUp = (host: string) => ({
  name: "order_status",
  description: "Says where an order is.",
  parameters: {
    type: "object",
    properties: {
      order: { type: "string", minLength: 2, maxLength: 40 },
      detail: { type: "string" },
      tags: { type: "array", items: { type: "string" } },
    },
    required: ["order"],
  },
  method: "GET",
  url: `https://${host}/orders/{order}?v=2`,
  headers: { Authorization: SECRET },
  timeout_seconds: 1,
});

/** A tool that cancels an order. */
export const cancel = (host: string, method = "POST") => ({
  name: "cancel_order",
  description: "Cancels an order.",
  parameters: { type: "object", properties: { order: { type: "string" }, reason: { type: "string" } }, required: ["order"] },
  method,
  url: `https://${host}/orders/{order}/cancel`,
  headers: { Authorization: SECRET },
  timeout_seconds: 1,
});

export type Model = Script | ((request: ChatRequest, count: number) => Script);
export const asks = (input: unknown, name = "order_status"): Script => ({ toolCalls: [{ name, arguments: input }] });
export const says = (text: string): Script => ({ text: [`@sources t1\n${text}`] });
/** Asks for a tool, and then answers. */
export const callThen =
  (input: unknown, then: Script, name?: string): Model =>
  (_, count) =>
    count === 1 ? asks(input, name) : then;
export const lastMessage = (request: ChatRequest | undefined) => String(request?.messages.at(-1)?.content);

export const ANN = {
  anonId: "api:ann",
  externalId: "ann",
  name: "Ann Visitor",
  email: "ann@example.com",
  verified: true,
  isProfileVerified: true,
  joins: null,
};

/** An agent with these tools at a host of its own, whose model does what the script says. */
export async function createToolAgent(
  script: Model,
  {
    tools = (host) => [lookUp(host), cancel(host)],
    bindings = {},
  }: { tools?: (host: string) => object[]; bindings?: Record<string, unknown> } = {},
) {
  const host = newHost();
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace, { handoff_message: HANDED_OFF, tools: tools(host) });
  await learn(workspace, agent.id, HANDBOOK);
  const standIn = new OpenAiStandIn(typeof script === "function" ? script : () => script);
  const withModel = envWith({ OPENAI_BASE_URL: "http://stand-in.test/v1", OPENAI_MODEL: "answer", ...bindings });
  const runnerOf = (model = standIn, storage?: DurableObjectStorage) =>
    new TurnRunner(withModel, modelFor(withModel, { fetch: model.fetch, limits: LIMITS }), storage?.kv);
  const conversationId = newId(shardOf(workspace.id), Date.now());
  const ask = (changes: Partial<Question> = {}) =>
    questionOf(workspace.id, agent.id, {
      conversationId,
      message: "When are refunds paid for my order A1? I am Ann, ann@example.com.",
      visitor: ANN,
      ...changes,
    });
  const run = async (question = ask(), runner = runnerOf()) => {
    const result = await runner.run(question, new Meter());
    if (result.outcome !== "answered") throw new Error(result.outcome);
    return result.answer;
  };
  return {
    host,
    workspace,
    agent,
    conversationId,
    ask,
    run,
    runnerOf,
    requests: standIn.requests,
    behave: (...behaviours: [Behaviour, ...Behaviour[]]) => behaveAt(host, ...behaviours),
    received: () => receivedBy(host),
    reasons: async () =>
      (await query<{ reason: string }>(conversationId, "SELECT reason FROM handoffs WHERE conversation_id = ?", conversationId)).map(
        ({ reason }) => reason,
      ),
  };
}

export const bodyOf = ({ body }: { body: Uint8Array }) => new TextDecoder().decode(body);
