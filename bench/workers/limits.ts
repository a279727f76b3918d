import { finishTurn, beginTurn } from "../../src/chat/store.ts";
import service from "../../src/index.ts";
import { knowledgeIndexOf } from "../../src/knowledge/knowledge-index.ts";
import { newOperation } from "../../src/platform/db/client.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { type ApiKeyClaim, verifyApiKey } from "../../src/workspaces/api-key.ts";
import { visitorLimitOf } from "../../src/workspaces/usage-limits.ts";
import { limitsOf } from "../../src/workspaces/plans.ts";

export * from "../../src/index.ts";

/*
 * The service, with what a question goes through of which a workspace has but one: its gate, its agent's index and its
 * database, each called by itself. Only `npm run bench -- --limits` serves it.
 */

interface Caller {
  workspaceId: string;
  agentId: string;
  key: string;
  question: string;
}

interface Prepared extends Caller {
  claim: ApiKeyClaim;
}

type Part = (env: Env, caller: Prepared) => Promise<unknown>;

const ANSWER = "Refunds are paid to the original payment method within five working days after the parcel reaches our warehouse.";

const PARTS: Record<string, Part> = {
  gate: (env, { workspaceId, claim }) => env.GATE.getByName(workspaceId).admit(claim),
  index: (env, { workspaceId, agentId, question }) =>
    knowledgeIndexOf(newOperation(env, new Meter(), workspaceId), agentId).search({ question, previousQuestions: [], limit: 5 }),
  database: async (env, { workspaceId, agentId, question: message }) => {
    const { db, nowMs, newId } = newOperation(env, new Meter(), workspaceId);
    const ids = { conversationId: newId(), questionId: newId(), answerId: newId(), visitorId: newId() };
    const limits = {
      quota: { period: "2026-11", limit: 1e9 },
      maxMessages: 1e9,
      leadLimit: visitorLimitOf(limitsOf("free", {}), "leads", null),
    };
    const question = { ...ids, ...limits, workspaceId, agentId, isNew: true, channel: "api" as const, message, visitor: null, nowMs };
    await beginTurn(db, question);
    const reply = { text: ANSWER, citations: [], confidence: 0.9, handoff: null };
    await finishTurn(db, question, { ...reply, agentName: "Agent", agentVersion: 1, nowMs: nowMs + 1 });
  },
};

export default {
  ...service,
  async fetch(request, env, ctx) {
    const { pathname } = new URL(request.url);
    const part = pathname.startsWith("/limits/") ? PARTS[pathname.slice("/limits/".length)] : undefined;
    if (!part) return service.fetch(request, env, ctx);
    const { times, ...caller } = await request.json<Caller & { times: number }>();
    const claim = await verifyApiKey(caller.key, [env.KEY_SECRET]);
    for (let at = 0; at < times; at++) await part(env, { ...caller, claim: claim! });
    return Response.json({});
  },
} satisfies ExportedHandler<Env>;
