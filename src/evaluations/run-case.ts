import { agentTools } from "../agents/tools.ts";
import type { AgentRow } from "../agents/wire.ts";
import { lastQuestions, readingTools, searchFor } from "../chat/built-in-tools.ts";
import { generateReply } from "../chat/reply.ts";
import { TraceRecorder } from "../chat/trace.ts";
import type { HistoryMessage, Model, Tool } from "../models/model.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import { truncate } from "../platform/text.ts";
import type { CaseResult, EvaluationCase } from "./store.ts";
import { verdictOf } from "./verdict.ts";

const MAX_ANSWER_LENGTH = 1_000;
/** Of a case's trace: that of 500 cases is read at once. */
const MAX_TRACE_BYTES = 3 * 1_024;

/** What the cases of an evaluation run with. */
export interface CaseContext {
  env: Env;
  meter: Meter;
  model: Model;
  agent: AgentRow;
}

/** Asks an agent a case's question as a turn does, of which nothing is stored or counted, and holds the answer against what is expected. */
export async function runCase(context: CaseContext, { position, ...asked }: EvaluationCase & { position: number }): Promise<CaseResult> {
  const { env, meter, model, agent } = context;
  const { question, previous, expect } = asked;
  const observer = new TraceRecorder();
  const turn = { workspaceId: agent.workspaceId, agentId: agent.id, conversationId: NO_CONVERSATION, message: question };
  const search = await searchFor({ env, meter, turn }, question, lastQuestions(previous));
  observer.searched(search);
  const history = previous.map((text): HistoryMessage => ({ role: "visitor", text }));
  const tools = [...readingTools({ env, meter, turn }), ...readingAgentTools(context)];
  const request = { turn, agent, history, retrieval: search.retrieval, tools, topics: [], observer };
  const reply = await generateReply(model, request, () => undefined);
  const { text, citations, handoff, confidence } = reply;
  const cited = citations.map(({ source_id: id }) => id);
  return {
    position,
    verdict: verdictOf(expect, { answer: text, handoffReason: handoff?.reason ?? null, cited }),
    answer: truncate(text, MAX_ANSWER_LENGTH),
    confidence,
    sourceFound: expect.source_id === undefined ? null : observer.hasFound(expect.source_id),
    trace: observer.factsOf(reply, agent.confidenceThreshold, MAX_TRACE_BYTES),
  };
}

/** A case is no conversation: tools that name one, or a visitor, are not offered. */
const NO_CONVERSATION = "";

/** The agent's tools that change nothing. */
function readingAgentTools({ env, meter, agent }: CaseContext): Tool[] {
  const { workspaceId } = agent;
  const journal = { once: async () => ({ isKnown: false }) as const };
  const ids = { workspaceId, conversationId: NO_CONVERSATION, turnId: NO_CONVERSATION };
  return agentTools({ env, meter, ...ids, journal, visitor: null, readsOnly: true }, agent);
}
