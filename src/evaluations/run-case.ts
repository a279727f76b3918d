import { agentTools } from "../agents/tools.ts";
import type { HistoryMessage, Tool } from "../models/model.ts";
import { truncate } from "../platform/text.ts";
import { type AgentUnderTest, askAgent, MAX_TRACE_BYTES, NO_CONVERSATION, writerOf } from "./ask-agent.ts";
import { checksOf, verdictOf } from "./expectations.ts";
import { judge } from "./judge.ts";
import { continueMultiTurnCase } from "./multi-turn-case.ts";
import { boundedChecks, KEPT_ANSWER_LENGTH } from "./results.ts";
import type { CaseResult, StoredCase } from "./store.ts";

/** Runs a case, or the next turn of a case of several turns: its result has no verdict until the last one. */
export function runCase(underTest: AgentUnderTest, one: StoredCase): Promise<CaseResult> {
  const { rehearsal: multiTurn } = one.expect;
  return multiTurn ? continueMultiTurnCase(underTest, one, multiTurn) : runQuestion(underTest, one);
}

/** Asks an agent the question of a case, and compares the answer with what is expected. */
async function runQuestion(underTest: AgentUnderTest, { position, question, previous, expect }: StoredCase): Promise<CaseResult> {
  const { agent } = underTest;
  const history = previous.map((text): HistoryMessage => ({ role: "visitor", text }));
  const { answer, observer, calls } = await askAgent(underTest, question, history, readingAgentTools(underTest));
  const { text, citations, handoff, confidence } = answer;
  const handoffReason = handoff?.reason ?? null;
  const asked = { visitor: question, answer: text, confidence, handoffReason, calls };
  const judged = await judge(writerOf(underTest), expect.criteria ?? [], [asked], "the agent's last reply");
  const checks = [...checksOf(expect, { ...asked, cited: citations.map(({ source_id: id }) => id) }), ...judged];
  return {
    position,
    verdict: verdictOf(expect, handoffReason, checks),
    answer: truncate(text, KEPT_ANSWER_LENGTH),
    confidence,
    sourceFound: expect.source_id === undefined ? null : observer.hasFound(expect.source_id),
    trace: { ...observer.factsOf(answer, agent.confidenceThreshold, MAX_TRACE_BYTES), checks: boundedChecks(checks) },
  };
}

/** The agent's own tools that only read. A case has no conversation, so tools that name one or a visitor are not offered. */
function readingAgentTools({ op, agent, redact }: AgentUnderTest): Tool[] {
  const journal = { once: async () => ({ isKnown: false }) as const };
  const context = { op, conversationId: NO_CONVERSATION, turnId: NO_CONVERSATION, journal, visitor: null, redact, readsOnly: true };
  return agentTools(context, agent);
}
