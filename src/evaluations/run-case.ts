import { agentTools } from "../agents/tools.ts";
import type { AgentRow } from "../agents/wire.ts";
import { makeAnswer } from "../chat/answer.ts";
import { lastQuestions, readingTools, searchFor } from "../chat/built-in-tools.ts";
import { TraceRecorder } from "../chat/trace.ts";
import type { HistoryMessage, Model, Tool } from "../models/model.ts";
import type { Operation } from "../platform/db/client.ts";
import { truncate } from "../platform/text.ts";
import { verdictOf } from "./metrics.ts";
import type { CaseResult, EvaluationCase } from "./store.ts";

const MAX_ANSWER_LENGTH = 1_000;
/** The largest trace of a case. Small, since the traces of up to 500 cases are read at once. */
const MAX_TRACE_BYTES = 3 * 1_024;

/**
 * Asks an agent the question of a case, and compares the answer with what is expected. The question is answered as in a turn, but
 * nothing is stored or counted.
 */
export async function runCase(
  op: Operation,
  model: Model,
  agent: AgentRow,
  { position, ...asked }: EvaluationCase & { position: number },
): Promise<CaseResult> {
  const { question: message, previous, expect } = asked;
  const observer = new TraceRecorder();
  const question = { workspaceId: agent.workspaceId, agentId: agent.id, conversationId: NO_CONVERSATION, message };
  const search = await searchFor({ op, question }, message, lastQuestions(previous));
  observer.searched(search);
  const history = previous.map((text): HistoryMessage => ({ role: "visitor", text }));
  const tools = [...readingTools({ op, question }), ...readingAgentTools(op, agent)];
  const request = { question, agent, history, retrieval: search.retrieval, tools, topics: [], observer };
  const answer = await makeAnswer(model, request, () => undefined);
  const { text, citations, handoff, confidence } = answer;
  const cited = citations.map(({ source_id: id }) => id);
  return {
    position,
    verdict: verdictOf(expect, { answer: text, handoffReason: handoff?.reason ?? null, cited }),
    answer: truncate(text, MAX_ANSWER_LENGTH),
    confidence,
    sourceFound: expect.source_id === undefined ? null : observer.hasFound(expect.source_id),
    trace: observer.factsOf(answer, agent.confidenceThreshold, MAX_TRACE_BYTES),
  };
}

/** A case has no conversation: tools that name a conversation or a visitor are not offered. */
const NO_CONVERSATION = "";

/** The agent's own tools that only read. */
function readingAgentTools(op: Operation, agent: AgentRow): Tool[] {
  const journal = { once: async () => ({ isKnown: false }) as const };
  return agentTools({ op, conversationId: NO_CONVERSATION, turnId: NO_CONVERSATION, journal, visitor: null, readsOnly: true }, agent);
}
