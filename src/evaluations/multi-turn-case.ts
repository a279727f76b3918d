import { stubbedTools } from "../agents/tools.ts";
import { LEAD_KEPT, leadTool } from "../chat/built-in-tools.ts";
import { isAgentSilent } from "../conversations/status.ts";
import { MAX_ANSWER_LENGTH, MAX_HISTORY_MESSAGES } from "../models/limits.ts";
import type { HistoryMessage, Tool, ToolOutcome } from "../models/model.ts";
import type { Expectation, HandoffReason, MultiTurnCase, Verdict } from "../platform/db/columns.ts";
import { truncate } from "../platform/text.ts";
import { type AgentUnderTest, askAgent, MAX_TRACE_BYTES, type Write, writerOf } from "./ask-agent.ts";
import type { MultiTurnResult } from "./case-wire.ts";
import { checksOf, toCheck, verdictOf, worstOf } from "./expectations.ts";
import { judge } from "./judge.ts";
import { boundedResult, KEPT_ANSWER_LENGTH, type PlacedCheck } from "./results.ts";
import { nextMessage } from "./simulated-visitor.ts";
import type { CaseResult, StoredCase } from "./store.ts";
import type { CaseTurn } from "./transcript.ts";

/*
 * A case of several turns. Each step of an evaluation runs one turn, and stores the conversation so far in the case's `trace`: so a step
 * takes about as long as an answer, however many turns a case has, and a crash repeats one turn.
 */

/** The conversation so far. */
interface Progress {
  turns: CaseTurn[];
  checks: PlacedCheck[];
  verdicts: Verdict[];
  /** The ids of the sources and curated answers that all answers, and the last answer, cite. */
  cited: string[];
  lastCited: string[];
  /** Whether a search found the source that is expected at the end. */
  sourceFound: boolean;
  /** The trace of the last answer. */
  facts: object;
}

const START: Progress = { turns: [], checks: [], verdicts: [], cited: [], lastCited: [], sourceFound: false, facts: {} };

type End = MultiTurnResult["end"];

/** Runs the next turn of a case. The result has a verdict if the conversation has ended. */
export async function continueMultiTurnCase(underTest: AgentUnderTest, one: StoredCase, multiTurn: MultiTurnCase): Promise<CaseResult> {
  const { setting, turns: expectations } = multiTurn;
  const { progress = START } = one.trace as { progress?: Progress };
  const write = writerOf(underTest);
  const script = setting.persona ? undefined : [...one.previous, one.question];
  const next = script ? { message: script[progress.turns.length]! } : await personaMessage(write, setting.persona!, progress.turns);
  if ("end" in next) return endOf(write, one, progress, next.end);
  const turned = await runTurn(underTest, { message: next.message, progress, setting, expect: one.expect });
  const checked = await checkTurn(write, turned, expectations[progress.turns.length] ?? {});
  const end = endAfter(checked.turns, script);
  if (end) return endOf(write, one, checked, end);
  return { position: one.position, verdict: null, answer: null, confidence: null, sourceFound: null, trace: { progress: checked } };
}

/** Returns the next message of the persona, or how the conversation ends before it. */
async function personaMessage(
  write: Write,
  persona: NonNullable<MultiTurnCase["setting"]["persona"]>,
  turns: readonly CaseTurn[],
): Promise<{ message: string } | { end: End }> {
  try {
    const next = await nextMessage(write, persona, turns);
    if ("isReached" in next) return { end: next.isReached ? "goal_reached" : "gave_up" };
    return turns.length < persona.max_turns ? next : { end: "max_turns" };
  } catch {
    return { end: "failed" };
  }
}

interface TurnRun {
  message: string;
  progress: Progress;
  setting: MultiTurnCase["setting"];
  /** The expectations of the whole conversation. */
  expect: Expectation;
}

/** Asks the agent, or leaves the message to humans who have the conversation. Returns the conversation with the turn. */
async function runTurn(underTest: AgentUnderTest, { message, progress, setting, expect }: TurnRun): Promise<Progress> {
  const { turns } = progress;
  const pending = handoffOf(turns);
  if (pending && isAgentSilent("needs_human", pending)) {
    const silent = { visitor: message, answer: "", confidence: 0, handoffReason: pending, calls: [] };
    return { ...progress, turns: [...turns, silent], lastCited: [] };
  }
  const unexpected = new Set<string>();
  const tools = toolsOf(underTest, setting.tools, unexpected);
  const { answer, observer, calls } = await askAgent(underTest, message, historyOf(turns), tools);
  const { text, confidence, handoff, citations } = answer;
  const lastCited = citations.map(({ source_id: id }) => id);
  const turn = { visitor: message, answer: truncate(text, MAX_ANSWER_LENGTH), confidence, handoffReason: handoff?.reason ?? null, calls };
  const refused = [...unexpected].map((name) => ({ ...toCheck("unexpected_tool", `no call of ${name}`, false), turn: turns.length }));
  return {
    turns: [...turns, turn],
    checks: [...progress.checks, ...refused],
    verdicts: [...progress.verdicts, ...refused.map((): Verdict => "wrong")],
    cited: [...new Set([...progress.cited, ...lastCited])],
    lastCited,
    sourceFound: progress.sourceFound || (expect.source_id !== undefined && observer.hasFound(expect.source_id)),
    facts: observer.factsOf(answer, underTest.agent.confidenceThreshold, MAX_TRACE_BYTES),
  };
}

/** Returns the agent's tools, which answer as the case says. @param unexpected receives the names of others that are called. */
function toolsOf({ agent }: AgentUnderTest, answers: Record<string, unknown>, unexpected: Set<string>): Tool[] {
  const answerOf = (name: string): ToolOutcome | undefined => {
    if (!Object.hasOwn(answers, name)) return undefined;
    const given = answers[name];
    return { kind: "data", text: truncate(typeof given === "string" ? given : JSON.stringify(given), MAX_ANSWER_LENGTH) };
  };
  const own = stubbedTools(agent, ({ name, requiresApproval }) => {
    const outcome = answerOf(name);
    if (outcome) return outcome;
    if (requiresApproval) return { kind: "handed_off", reason: "approval_required" };
    unexpected.add(name);
    return { kind: "note", text: "This tool cannot be used here. Nothing was done." };
  });
  return [...own, leadTool(async () => answerOf("collect_lead") ?? LEAD_KEPT)];
}

function historyOf(turns: readonly CaseTurn[]): HistoryMessage[] {
  const messages = turns.flatMap(({ visitor, answer }): HistoryMessage[] => [
    { role: "visitor", text: visitor },
    ...(answer === "" ? [] : [{ role: "agent" as const, text: answer }]),
  ]);
  return messages.slice(-MAX_HISTORY_MESSAGES);
}

/** The reason of the hand-off: a later one does not replace it. Null if there is none. */
function handoffOf(turns: readonly CaseTurn[]): HandoffReason | null {
  return turns.find(({ handoffReason }) => handoffReason !== null)?.handoffReason ?? null;
}

/** Holds the last turn against what is expected of it. */
async function checkTurn(write: Write, progress: Progress, expect: Expectation): Promise<Progress> {
  const { turns, checks, verdicts, lastCited: cited } = progress;
  const turn = turns.at(-1)!;
  const judged = await judge(write, expect.criteria ?? [], turns, "the agent's last reply");
  const own = [...checksOf(expect, { ...turn, cited }), ...judged];
  const placed = own.map((check) => ({ ...check, turn: turns.length - 1 }));
  return { ...progress, checks: [...checks, ...placed], verdicts: [...verdicts, verdictOf(expect, turn.handoffReason, own)] };
}

/** Returns how the conversation ends with its last turn; undefined if it goes on. */
function endAfter(turns: readonly CaseTurn[], script: readonly string[] | undefined): End | undefined {
  if (turns.at(-1)!.handoffReason === "model_failure") return "failed";
  if (script) return turns.length === script.length ? "all_turns" : undefined;
  const pending = handoffOf(turns);
  return pending && isAgentSilent("needs_human", pending) ? "handed_off" : undefined;
}

/** Holds a conversation that has ended against what is expected of it, and returns the result of its case. */
async function endOf(write: Write, { position, expect }: StoredCase, progress: Progress, end: End): Promise<CaseResult> {
  const { turns, cited } = progress;
  const handoffReason = handoffOf(turns);
  const isFailed = end === "failed";
  const judged = isFailed ? [] : await judge(write, expect.criteria ?? [], turns, "the whole conversation");
  const outcome = {
    answer: turns.map(({ answer }) => answer).join("\n"),
    handoffReason,
    cited,
    calls: turns.flatMap(({ calls }) => calls),
  };
  const { goal_reached: isReached } = expect;
  const goal = isReached === undefined ? [] : [toCheck("goal_reached", String(isReached), (end === "goal_reached") === isReached)];
  const own = [...checksOf(expect, outcome), ...goal, ...judged];
  const verdict = isFailed ? "failed" : worstOf([...progress.verdicts, verdictOf(expect, handoffReason, own)]);
  const checks = [...progress.checks, ...own.map((check) => ({ ...check, turn: null }))];
  const last = turns.at(-1);
  return {
    position,
    verdict,
    answer: last ? truncate(last.answer, KEPT_ANSWER_LENGTH) : null,
    confidence: null,
    sourceFound: expect.source_id === undefined ? null : progress.sourceFound,
    trace: { ...progress.facts, ...boundedResult(end, turns, checks) },
  };
}
