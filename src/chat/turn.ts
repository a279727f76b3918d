import { waitUntil } from "cloudflare:workers";
import type { AnswerSettings } from "../agents/settings-wire.ts";
import { CallJournal, type JournalStorage } from "../agents/tool-journal.ts";
import { agentTools, type VerifiedVisitor } from "../agents/tools.ts";
import { withVersion } from "../agents/versions.ts";
import type { AgentRow } from "../agents/wire.ts";
import { subjectHashesOf } from "../conversations/persons.ts";
import { isAgentSilent, isForHumans, transitionOn } from "../conversations/status.ts";
import { createApproval } from "../conversations/approval-store.ts";
import { announce } from "../events/live-channel.ts";
import { wakeDeliveries, wakeEmails } from "../events/outbox.ts";
import { exportSpans } from "./spans.ts";
import { smallTalkOf } from "../text/intents.ts";
import { type HistoryMessage, type Model, type Tool, type ToolRound, TurnSuspendedError } from "../models/model.ts";
import { gatheredDb } from "../platform/group-commit.ts";
import { newOperation, type Operation } from "../platform/db/client.ts";
import type { HandoffReason } from "../platform/db/columns.ts";
import type { Statement } from "../platform/db/sql.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import { businessHoursOf } from "../workspaces/business-hours.ts";
import { type Answer, continuing, failureAnswer, handoffAnswer, makeAnswer, type Team } from "./answer.ts";
import { type Redaction, redactionOf } from "../redaction/redaction.ts";
import { approvalWrites, decidedRounds, recordDecisions } from "./approved-calls.ts";
import { builtInTools } from "./built-in-tools.ts";
import { filesForModel } from "./question-files.ts";
import { type Question, toHistoryMessage, visitorMessagesIn } from "./question.ts";
import { isByLimit, type Refusal, refusalOf } from "./refusals.ts";
import { lastQuestions, type Search, searchFor } from "./search.ts";
import { beginTurn, finishTurn, refundQuota, toChatAnswer, type TurnState } from "./store.ts";
import type { StreamStart } from "./stream.ts";
import {
  awaitCaller,
  awaitTeam,
  callsToApprove,
  isDecided,
  isExpired,
  needsTeam,
  suspendedAnswer,
  type SuspendedTurn,
  waitsForCaller,
} from "./suspended-turns.ts";
import { TraceRecorder } from "./trace.ts";
import type { Trace } from "./trace-wire.ts";
import type { Attempt } from "./turn-queue.ts";
import type { ChatAnswer } from "./wire.ts";

export type TurnResult = { outcome: "answered"; answer: ChatAnswer; visitorId: string | null } | Refusal;

/** Receives the progress of a turn. Its methods must not throw. */
export interface TurnListener {
  /** The question is stored and will be answered. Until this is called, the turn may still be refused. */
  onStart(start: StreamStart): void;
  /** The model wrote another piece of the answer. The pieces joined are the beginning of the final answer, and often all of it. */
  onText(text: string): void;
  /** The answer is stored; the trace says how it was made. */
  onTrace(trace: Trace): void;
  /** The turn waits for the results of tools. */
  onSuspend(turn: SuspendedTurn): void;
}

const ignore = () => undefined;
const NO_LISTENER: TurnListener = { onStart: ignore, onText: ignore, onTrace: ignore, onSuspend: ignore };
const NEVER = new AbortController().signal;
const FIRST_ATTEMPT: Attempt = { number: 1, isHandOff: false, isRescue: false };

/** One attempt at a turn. */
interface TurnAttempt extends Attempt {
  /** The turn as it was suspended; undefined if it was not. */
  suspended: SuspendedTurn | undefined;
  /** Whether the conversation was erased since the attempt began. */
  isErased: (() => boolean) | undefined;
  question: Question;
  op: Operation;
  listener: TurnListener;
  trace: TraceRecorder;
  /** Aborted when the attempt is given up. It must write nothing from then on, since another attempt may finish the turn. */
  signal: AbortSignal;
}

type StoredMessage = TurnState["stored"][number];
type ConversationState = NonNullable<TurnState["conversation"]>;

/** A stored question, and what is done with it. */
interface StoredTurn {
  /** The message with its author; undefined if it was erased since it was stored. */
  asked: StoredMessage | undefined;
  conversation: ConversationState;
}

/** An earlier attempt, or the request that this one repeats, has stored the answer: the visitor gets it again. */
interface AnsweredTurn extends StoredTurn {
  plan: "repeat";
  answered: StoredMessage;
}

interface OpenTurn extends StoredTurn {
  /**
   * - `answer`: the agent answers.
   * - `handOff`: the service failed for too long, or a limit was reached since the question was asked. A human gets it, and it does
   *   not count.
   * - `staySilent`: humans have the conversation, for whom the question is kept, or they resolved it and the turn has waited in vain.
   */
  plan: "answer" | "handOff" | "staySilent";
  agent: AgentRow;
  /** The messages before the question, oldest first. */
  history: HistoryMessage[];
  /** Masks texts; undefined if the workspace has nothing masked. */
  redaction: Redaction | undefined;
  /** The names of some of the agent's sources. */
  topics: string[];
  team: Team;
}

type Turn = OpenTurn | AnsweredTurn;

/** A search that starts before the conversation is read, with the previous questions that this runner remembers. */
interface EarlySearch {
  previousQuestions: string[];
  search: Promise<Search>;
}

/**
 * Runs the turns of one conversation: a D1 batch stores the question while the search runs, and another stores the answer. An
 * attempt may follow one that was interrupted at any point: the batches write nothing twice, a stored answer is given again, and the
 * journal records which tools were called.
 */
export class TurnRunner {
  /** The visitor's messages that this runner has seen. The first batch of a turn shows whether there are others. */
  private visitorMessages: string[] = [];
  private readonly journal: CallJournal;

  /** @param storage keeps the journal of tool calls; without it, the journal lives only as long as this runner. */
  constructor(
    private readonly env: Env,
    private readonly model: Model,
    storage?: JournalStorage,
  ) {
    this.journal = new CallJournal(storage);
  }

  /**
   * Stores a question, if it may be asked, and answers it.
   * @param attempt has the suspended turn, if an earlier attempt waits for the results of tools, and whether the conversation was erased
   *   since the attempt began.
   * @param signal ends the attempt.
   */
  async run(
    question: Question,
    meter: Meter,
    attempt: Attempt & Partial<Pick<TurnAttempt, "suspended" | "isErased">> = FIRST_ATTEMPT,
    listener = NO_LISTENER,
    signal = NEVER,
  ): Promise<TurnResult> {
    const { workspaceId, nowMs } = question;
    const op = newOperation(this.env, meter, workspaceId, nowMs, gatheredDb(this.env, workspaceId, meter));
    const { suspended, isErased } = attempt;
    const result = await this.attempt({ ...attempt, suspended, isErased, question, op, listener, trace: new TraceRecorder(), signal });
    // An attempt that fails, or is suspended, leaves the journal to the next one.
    if (!(result.outcome === "answered" && result.answer.required_action)) this.journal.close(question.answerId);
    return result;
  }

  private async attempt(attempt: TurnAttempt): Promise<TurnResult> {
    const { question, op, listener, signal, suspended } = attempt;
    const { workspaceId, conversationId, answerId } = question;
    if (suspended && isDecided(suspended)) await recordDecisions(op, suspended);
    if (suspended && waitsForCaller(suspended, Date.now())) {
      listener.onStart({ conversationId, messageId: answerId, visitorId: suspended.visitorId });
      return { outcome: "answered", answer: suspendedAnswer(suspended), visitorId: suspended.visitorId };
    }
    // A hand-off does not search, since the agent's index may be what failed. A suspended turn has the result of its search.
    const early = attempt.isHandOff || suspended ? undefined : this.searchEarly(attempt);
    const turn = await this.storeQuestion(attempt);
    signal.throwIfAborted();
    if ("outcome" in turn) return turn;
    const visitorId = turn.asked?.authorId ?? null;
    listener.onStart({ conversationId, messageId: turn.plan === "staySilent" ? null : answerId, visitorId });
    const answer = await this.carryOut(turn, attempt, early);
    announce(op.env, workspaceId, { kind: "conversation", id: conversationId });
    return { outcome: "answered", answer, visitorId };
  }

  private searchEarly({ question, op }: TurnAttempt): EarlySearch {
    const previousQuestions = lastQuestions(question.earlier ? visitorMessagesIn(question.earlier) : this.visitorMessages);
    const search = searchFor({ op, question }, question.message, previousQuestions);
    // Only a turn that the agent answers awaits the search, and fails with it.
    search.catch(() => undefined);
    return { previousQuestions, search };
  }

  /** Stores the question, if it may be asked. A later attempt finds it stored. */
  private async storeQuestion({ question, op, isHandOff, isRescue, suspended }: TurnAttempt): Promise<Turn | Refusal> {
    const { message, workspaceId, visitor } = question;
    const isSmallTalk = smallTalkOf(message, "") !== undefined;
    // The visitor may have been erased while the question waited, when no row named them yet.
    const subjectHashes = isRescue && visitor ? await subjectHashesOf(op.env, workspaceId, visitor) : undefined;
    for (let ignoresLimits = isHandOff; ; ignoresLimits = true) {
      const state = await beginTurn(op.db, question, { isSmallTalk, ignoresLimits, subjectHashes });
      // The answer does not wait for the queue.
      waitUntil(wakeDeliveries(op.env, state.written));
      const refusal = refusalOf(question, state, ignoresLimits);
      const kept = { isHandOff: ignoresLimits, suspended };
      if (!refusal) return toTurn(question, state, kept, await redactionOf(op.env, workspaceId, state.redaction));
      // The caller of a rescued question was told that it will be answered: a limit reached since then does not refuse it.
      if (!isRescue || !isByLimit(refusal)) return refusal;
    }
  }

  private async carryOut(turn: Turn, attempt: TurnAttempt, early: EarlySearch | undefined): Promise<ChatAnswer> {
    const { question, op } = attempt;
    switch (turn.plan) {
      case "repeat":
        return toChatAnswer(turn.answered, turn.conversation.status);
      case "staySilent":
        // An attempt that was interrupted before a human took over may have counted the question.
        if (turn.asked?.quotaPeriod && !isAfterDecision(attempt)) await op.db.batch(refundQuota(op.db, question));
        // Approved calls are made, although a member of the team has taken over meanwhile.
        if (isAfterDecision(attempt)) await this.rounds(attempt, this.toolsOf(turn, attempt));
        return silentAnswer(turn.conversation, question);
      case "handOff":
        return this.storeAnswer(turn, attempt, failureAnswer({ ...turn, question }));
      case "answer":
        return this.answerOrSuspend(turn, attempt, early);
    }
  }

  private async answerOrSuspend(turn: OpenTurn, attempt: TurnAttempt, early: EarlySearch | undefined): Promise<ChatAnswer> {
    const { suspended } = attempt;
    // An earlier attempt has asked the team and was interrupted.
    if (suspended?.approvals && !suspended.isSettled) return this.askTeam(turn, attempt, suspended);
    if (suspended && isExpired(suspended)) {
      // Other calls of the answer may have been approved.
      await this.rounds(attempt, this.toolsOf(turn, attempt));
      return this.handOver(turn, attempt, suspended.approvals ? "approval_expired" : "tool_failure");
    }
    const search = suspended?.search ?? (await this.searchResult(turn, attempt, early!));
    try {
      return await this.storeAnswer(turn, attempt, await this.answer(turn, attempt, search));
    } catch (error) {
      if (!(error instanceof TurnSuspendedError)) throw error;
      return this.suspend(turn, attempt, { search, rounds: error.rounds, text: error.text });
    }
  }

  private handOver(turn: OpenTurn, attempt: TurnAttempt, reason: HandoffReason): Promise<ChatAnswer> {
    return this.storeAnswer(turn, attempt, handoffAnswer({ ...turn, question: attempt.question }, reason, 0));
  }

  private async suspend(
    turn: OpenTurn,
    attempt: TurnAttempt,
    made: Pick<SuspendedTurn, "search" | "rounds" | "text">,
  ): Promise<ChatAnswer> {
    const { question, listener, op, signal } = attempt;
    signal.throwIfAborted();
    const { asked, conversation } = turn;
    const state = {
      ...made,
      question,
      visitorId: asked?.authorId ?? null,
      status: transitionOn("visitor_wrote")(conversation.status),
      journaled: this.journal.keys,
    };
    const isForTeam = needsTeam(made.rounds.at(-1)!);
    const suspended = isForTeam ? awaitTeam(state, op.newId, Date.now()) : awaitCaller(state, Date.now());
    listener.onSuspend(suspended);
    return isForTeam ? this.askTeam(turn, attempt, suspended) : suspendedAnswer(suspended);
  }

  /** Tells the visitor that a colleague is asked, and asks the team to approve the calls. */
  private askTeam(turn: OpenTurn, attempt: TurnAttempt, { expiresAtMs, ...suspended }: SuspendedTurn): Promise<ChatAnswer> {
    const { question, op } = attempt;
    const { agentId, answerId } = question;
    const requests = callsToApprove({ expiresAtMs, ...suspended }).flatMap(({ id, tool, input }) => {
      const approval = { id, agentId, messageId: answerId, tool, arguments: input, expiresAt: expiresAtMs };
      return createApproval(op.db, question, approval, Date.now());
    });
    const answer = continuing(suspended.text ?? "", handoffAnswer({ ...turn, question }, "approval_required", 0));
    return this.storeAnswer(turn, attempt, answer, requests);
  }

  /** Returns the result of the early search, or of another one if the visitor's previous questions are not those that it assumed. */
  private async searchResult({ history }: OpenTurn, { question, op }: TurnAttempt, early: EarlySearch): Promise<Search> {
    const previousQuestions = lastQuestions(visitorMessagesIn(history));
    const isEarlyRight = isSame(previousQuestions, early.previousQuestions);
    return isEarlyRight ? early.search : searchFor({ op, question }, question.message, previousQuestions);
  }

  private async answer(turn: OpenTurn, attempt: TurnAttempt, search: Search): Promise<Answer> {
    const { question, op, listener, trace, signal } = attempt;
    const { agent, history, topics, asked, team } = turn;
    this.visitorMessages = [...visitorMessagesIn(history), question.message];
    trace.searched(search);
    signal.throwIfAborted();
    const tools = [
      ...builtInTools({ op, question, visitorId: asked?.authorId ?? null, visitorMessages: this.visitorMessages }),
      ...this.toolsOf(turn, attempt),
    ];
    const rounds = await this.rounds(attempt, tools);
    const files = asked?.attachments.length ? await filesForModel(op, asked.attachments, this.model.seesImages === true) : [];
    const request = { question, files, agent, history, retrieval: search.retrieval, tools, rounds, topics, team, observer: trace };
    const answer = await makeAnswer(this.model, request, (text) => listener.onText(text));
    signal.throwIfAborted();
    return answer;
  }

  /** Returns the rounds with which the answer begins. Calls that the team has approved are made. */
  private async rounds({ suspended, op, signal }: TurnAttempt, tools: readonly Tool[]): Promise<ToolRound[] | undefined> {
    return suspended && isDecided(suspended) ? decidedRounds(op, suspended, tools, signal) : suspended?.rounds;
  }

  /** Returns the agent's own tools, and starts the journal of their calls. */
  private toolsOf({ agent, asked, redaction }: OpenTurn, { question, op, signal, suspended, isErased }: TurnAttempt): Tool[] {
    const { conversationId, answerId, clientTools } = question;
    this.journal.open(answerId, suspended?.journaled, isErased);
    const once: CallJournal["once"] = async (key, make) => {
      signal.throwIfAborted();
      return this.journal.once(key, make);
    };
    const visitor = verifiedVisitor(question, asked);
    const asksTeam = question.channel !== "playground" && agent.handoff === "on";
    const journal = { once };
    const redact = redaction?.text;
    return agentTools({ op, conversationId, turnId: answerId, journal, visitor, clientTools, asksTeam, redact }, agent);
  }

  /** @param requests statements that ask the team to approve tool calls. */
  private async storeAnswer({ agent }: OpenTurn, attempt: TurnAttempt, answer: Answer, requests: Statement[] = []): Promise<ChatAnswer> {
    const { question, op, listener, trace } = attempt;
    const { conversationId, answerId } = question;
    const nowMs = Math.max(Date.now(), question.nowMs + 1);
    const isFollowUp = isAfterDecision(attempt);
    const handoff = answer.handoff?.isOff ? null : answer.handoff;
    const furtherWrites = requests.length > 0 ? requests : approvalWrites(op.db, question, { isFollowUp, handoff, nowMs });
    const given = { ...answer, agentName: agent.name, agentVersion: agent.version, nowMs };
    const { status, openReason, written } = await finishTurn(op.db, question, given, furtherWrites);
    // Nobody waits for an answer that follows a decision of the team.
    if (isFollowUp && question.channel === "email") waitUntil(wakeEmails(op.env, [{ messageId: answerId }]));
    const subject = {
      message_id: answerId,
      conversation_id: conversationId,
      agent_id: agent.id,
      agent_version: agent.version,
      changed_settings: Object.keys(question.settings ?? {}) as (keyof AnswerSettings)[],
    };
    if (status !== undefined) listener.onTrace(trace.traceOf(subject, answer, agent.confidenceThreshold));
    waitUntil(wakeDeliveries(op.env, written));
    const { startedMs: startMs, steps } = trace;
    const handoffReason = handoff?.reason ?? null;
    waitUntil(exportSpans(this.env, { agentId: agent.id, conversationId, answerId, startMs, handoffReason, steps }));
    const { text, citations, confidence } = answer;
    return {
      answer: text,
      citations,
      confidence,
      needs_human: handoff !== null,
      conversation_id: conversationId,
      message_id: answerId,
      // A conversation that was erased during the turn has no status. The visitor gets the answer, and none of it is stored.
      status: status ?? "resolved",
      // A hand-off that was already pending keeps its reason, unless it asked for an approval.
      handoff_reason: handoff && (openReason && openReason !== "approval_required" ? openReason : handoff.reason),
      required_action: null,
    };
  }
}

/** Whether an attempt goes on after the team has decided about tool calls. */
function isAfterDecision({ suspended }: TurnAttempt): boolean {
  return suspended !== undefined && isDecided(suspended);
}

function toTurn(
  question: Question,
  state: TurnState,
  { isHandOff, suspended }: Pick<TurnAttempt, "isHandOff" | "suspended">,
  redaction: Redaction | undefined,
): Turn | Refusal {
  const { agent, topics } = state;
  const conversation = state.conversation!;
  const asked = state.stored.find(({ id }) => id === question.questionId);
  const answered = state.stored.find(({ id }) => id === question.answerId);
  if (answered) return { plan: "repeat", asked, conversation, answered };
  // The agent was deleted after an earlier attempt had stored the question.
  if (!agent) return { outcome: "agent_not_found" };
  // The messages before a resolution are not the context of the new question.
  const before = conversation.status === "resolved" ? [] : state.history.map(toHistoryMessage);
  // Nobody waits any more for a turn that expires in a resolved conversation.
  const isOver = conversation.status === "resolved" && suspended !== undefined && isExpired(suspended);
  const plan = isOver || isLeftToHumans(conversation, asked) ? "staySilent" : isHandOff ? "handOff" : "answer";
  // Earlier messages may have been stored before the workspace had anything masked.
  const stored = redaction ? before.map(({ role, text }) => ({ role, text: redaction.storedText(text) })) : before;
  const history = [...(question.earlier ?? []), ...stored.reverse()];
  const answering = withVersion(agent, state.stored[0]?.version ?? null);
  const hours = businessHoursOf(state.stored[0]?.businessHours ?? {});
  const team = { hours, hasContact: Boolean(asked?.hasContact), nowMs: Date.now() };
  return { plan, asked, conversation, agent: withSettings(answering, question.settings), history, redaction, topics, team };
}

/** Whether humans have the conversation, or it waits for them and the agent may not answer until then. */
function isLeftToHumans({ status, pendingReason }: ConversationState, asked: StoredMessage | undefined): boolean {
  return isAgentSilent(status, pendingReason) || (status === "needs_human" && !asked?.quotaPeriod);
}

/** Returns the empty answer that callers get while the agent stays silent. No message of the agent is stored. */
function silentAnswer({ status, openReason }: ConversationState, { conversationId }: Question): ChatAnswer {
  const silence = { answer: "", citations: [], confidence: 0, message_id: null, required_action: null };
  return { ...silence, needs_human: isForHumans(status), conversation_id: conversationId, status, handoff_reason: openReason };
}

/**
 * Returns the author of the question, if their identity is proven; otherwise null. The channel proves it or, for a question that names
 * nobody, an earlier message did. The token of an anonymous visitor does not prove the person that the visitor was merged into.
 */
function verifiedVisitor({ visitor }: Question, asked: StoredMessage | undefined): VerifiedVisitor | null {
  // The author may have been erased since, and then has no `verified`.
  if (!asked || asked.verified === null || !(visitor ?? asked).verified) return null;
  return { externalId: asked.externalId, email: asked.emailVerified ? asked.email : null };
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, at) => text === b[at]);
}

/** Returns the agent with the settings that a question tries out instead of the agent's own. */
function withSettings(agent: AgentRow, settings: AnswerSettings = {}): AgentRow {
  const { confidence_threshold: confidenceThreshold = agent.confidenceThreshold, instructions = agent.instructions } = settings;
  const { model = agent.model } = settings;
  return { ...agent, confidenceThreshold, instructions, model };
}
