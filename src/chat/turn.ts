import { waitUntil } from "cloudflare:workers";
import type { AnswerSettings } from "../agents/settings-wire.ts";
import { CallJournal, type JournalStorage } from "../agents/tool-journal.ts";
import { handoffMessageOf } from "../agents/messages.ts";
import { agentTools, type VerifiedVisitor } from "../agents/tools.ts";
import type { AgentRow } from "../agents/wire.ts";
import { subjectHashesOf } from "../conversations/persons.ts";
import { isAgentSilent } from "../conversations/status.ts";
import { announce } from "../events/live-channel.ts";
import { wakeDeliveries } from "../events/outbox.ts";
import { smallTalkOf } from "../text/intents.ts";
import type { Model, HistoryMessage } from "../models/model.ts";
import { newOperation, type Operation } from "../platform/db/client.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import { type Answer, failureAnswer, lastWritten, makeAnswer, visitorLanguage } from "./answer.ts";
import { builtInTools, lastQuestions, searchFor } from "./built-in-tools.ts";
import type { Question } from "./question.ts";
import { isByLimit, type Refusal, refusalOf } from "./refusals.ts";
import { beginTurn, finishTurn, refundQuota, type StoredAnswer, toChatAnswer, type TurnState } from "./store.ts";
import type { StreamStart } from "./stream.ts";
import { type Search, TraceRecorder } from "./trace.ts";
import type { Trace } from "./trace-wire.ts";
import type { Attempt } from "./turn-queue.ts";
import type { ChatAnswer } from "./wire.ts";

export type TurnResult = { outcome: "answered"; answer: ChatAnswer; visitorId: string | null } | Refusal;

/** Is called while an answer is made. It must not throw. */
export interface TurnListener {
  /** The question is stored and will be answered. Until this is called, the turn may still be refused. */
  onStart(start: StreamStart): void;
  /** A piece of the answer as the model writes it. All pieces joined are the beginning of the final answer, and often all of it. */
  onText(text: string): void;
  /** The answer is stored, and came about in this way. */
  onTrace(trace: Trace): void;
}

const NO_LISTENER: TurnListener = { onStart: () => undefined, onText: () => undefined, onTrace: () => undefined };
const NEVER = new AbortController().signal;
const FIRST_ATTEMPT: Attempt = { number: 1, isHandOff: false, isRescue: false };

/** One attempt at a turn. */
interface TurnAttempt extends Attempt {
  question: Question;
  op: Operation;
  listener: TurnListener;
  trace: TraceRecorder;
  /** Aborted once the attempt was given up: then it does nothing more, since another one may have finished the turn. */
  signal: AbortSignal;
}

/** What happens to a stored question that has no answer yet. */
type Plan =
  /** The agent answers it. */
  | "answer"
  /** Our side failed for too long, or a limit was reached since: a human gets it, and it counts nothing. */
  | "handOff"
  /** Humans have the conversation: it is kept for them, and the agent says nothing. */
  | "keepForHuman";

/** A question that is stored, with its author; undefined where it was erased since. */
type StoredQuestion = TurnState["stored"][number] | undefined;

/** A stored question with what answering it needs. */
interface OpenTurn {
  plan: Plan;
  stored: StoredQuestion;
  conversation: ConversationState;
  agent: AgentRow;
  /** The messages before it, oldest first. */
  history: HistoryMessage[];
  /** Names of what the agent knows about. */
  topics: string[];
}

/** A question whose answer is stored, by an earlier attempt or by a request that this one repeats: it is given again. */
interface AnsweredTurn {
  plan: "repeat";
  stored: StoredQuestion;
  conversation: ConversationState;
  answered: StoredAnswer;
}

type Turn = OpenTurn | AnsweredTurn;

type ConversationState = NonNullable<TurnState["conversation"]>;

/** A search that starts before the conversation is read, and the earlier questions that it was given. */
interface EarlySearch {
  previousQuestions: string[];
  search: Promise<Search>;
}

/**
 * Runs the turns of one conversation: one D1 batch in, beside the search, and one out. An attempt may follow another that
 * died at any point: the batches write nothing twice, a stored answer is repeated, and the journal knows which tools were
 * called.
 */
export class TurnRunner {
  /** The visitor's messages, as far as this runner saw them; the first batch of a turn says whether these are all. */
  private written: string[] = [];

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
   * @param signal ends the attempt.
   */
  async run(question: Question, meter: Meter, attempt = FIRST_ATTEMPT, listener = NO_LISTENER, signal = NEVER): Promise<TurnResult> {
    const op = newOperation(this.env, meter, question.workspaceId, question.nowMs);
    const result = await this.attempt({ ...attempt, question, op, listener, trace: new TraceRecorder(), signal });
    this.journal.close(question.answerId);
    return result;
  }

  private async attempt(attempt: TurnAttempt): Promise<TurnResult> {
    const { question, listener, signal } = attempt;
    const { workspaceId, conversationId, answerId } = question;
    // A hand-off does not search, since the agent's index may be what failed.
    const early = attempt.isHandOff ? undefined : this.searchEarly(attempt);
    const turn = await this.begin(attempt);
    signal.throwIfAborted();
    if ("outcome" in turn) return turn;
    const visitorId = turn.stored?.authorId ?? null;
    listener.onStart({ conversationId, messageId: turn.plan === "keepForHuman" ? null : answerId, visitorId });
    const answer = await this.follow(turn, attempt, early);
    announce(this.env, workspaceId, { kind: "conversation", id: conversationId });
    return { outcome: "answered", answer, visitorId };
  }

  /** Stores the question, if it may be asked. A later attempt finds it stored. */
  private async begin({ question, op, number, isHandOff, isRescue }: TurnAttempt): Promise<Turn | Refusal> {
    const isSmallTalk = smallTalkOf(question.message, "") !== undefined;
    // An erasure of its visitor that took place while the question waited did not find it.
    const { workspaceId, visitor } = question;
    const subjectHashes = isRescue && visitor ? await subjectHashesOf(this.env, workspaceId, visitor) : undefined;
    for (let ignoresLimits = isHandOff; ; ignoresLimits = true) {
      const state = await beginTurn(op.db, question, { isSmallTalk, ignoresLimits, subjectHashes });
      // The answer waits for no queue.
      waitUntil(wakeDeliveries(this.env, state.written));
      const refusal = refusalOf(question, state, ignoresLimits);
      if (!refusal) return toTurn(question, state, ignoresLimits);
      // Since an attempt failed, the caller knows that the question is kept: a limit that was reached since does not refuse it.
      if (number === 1 || !isByLimit(refusal)) return refusal;
    }
  }

  private async follow(turn: Turn, attempt: TurnAttempt, early: EarlySearch | undefined): Promise<ChatAnswer> {
    const { question, op } = attempt;
    switch (turn.plan) {
      case "repeat":
        return toChatAnswer(turn.answered, turn.conversation.status);
      case "keepForHuman":
        // It was counted by an attempt that died before a human took over.
        if (turn.stored?.quotaPeriod) await op.db.batch([refundQuota(op.db, question)]);
        return silentAnswer(turn, question);
      case "handOff":
        return this.finish(turn, attempt, failureAnswer({ ...turn, question }));
      case "answer":
        return this.finish(turn, attempt, await this.answer(turn, attempt, early!));
    }
  }

  private async answer(turn: OpenTurn, attempt: TurnAttempt, early: EarlySearch): Promise<Answer> {
    const { question, op, listener, trace, signal } = attempt;
    const { agent, history, topics, stored } = turn;
    const before = writtenIn(history);
    this.written = [...before, question.message];
    const previousQuestions = lastQuestions(before);
    // The early search counts if it was given the right questions.
    const isRight = isSame(previousQuestions, early.previousQuestions);
    const search = await (isRight ? early.search : searchFor({ op, question }, question.message, previousQuestions));
    trace.searched(search);
    signal.throwIfAborted();
    const tools = [
      ...builtInTools({ op, question, visitorId: stored?.authorId ?? null, written: this.written }),
      ...this.agentTools(attempt, agent, verifiedVisitor(question, stored)),
    ];
    const request = { question, agent, history, retrieval: search.retrieval, tools, topics, observer: trace };
    const answer = await makeAnswer(this.model, request, (text) => listener.onText(text));
    signal.throwIfAborted();
    return answer;
  }

  /** Searches beside the first batch, with the earlier questions that this runner saw. */
  private searchEarly({ question, op }: TurnAttempt): EarlySearch {
    const previousQuestions = lastQuestions(question.earlier ? writtenIn(question.earlier) : this.written);
    const search = searchFor({ op, question }, question.message, previousQuestions);
    // Only a turn that the agent answers awaits the search, and fails there.
    search.catch(() => undefined);
    return { previousQuestions, search };
  }

  private agentTools({ question, op, signal }: TurnAttempt, agent: AgentRow, visitor: VerifiedVisitor | null) {
    const { conversationId, answerId } = question;
    this.journal.open(answerId);
    const once: CallJournal["once"] = async (key, make) => {
      signal.throwIfAborted();
      return this.journal.once(key, make);
    };
    return agentTools({ op, conversationId, turnId: answerId, journal: { once }, visitor }, agent);
  }

  private async finish({ agent }: OpenTurn, { question, op, listener, trace }: TurnAttempt, answer: Answer): Promise<ChatAnswer> {
    const { conversationId, answerId } = question;
    const nowMs = Math.max(Date.now(), question.nowMs + 1);
    const { status, openReason, written } = await finishTurn(op.db, question, { ...answer, agentName: agent.name, nowMs });
    const of = {
      message_id: answerId,
      conversation_id: conversationId,
      agent_id: agent.id,
      changed_settings: Object.keys(question.settings ?? {}) as (keyof AnswerSettings)[],
    };
    if (status !== undefined) listener.onTrace(trace.traceOf(of, answer, agent.confidenceThreshold));
    waitUntil(wakeDeliveries(this.env, written));
    const { text, citations, confidence, handoff } = answer;
    return {
      answer: text,
      citations,
      confidence,
      needs_human: handoff !== null,
      conversation_id: conversationId,
      message_id: answerId,
      // A conversation that was erased meanwhile has no status: the answer is given, and nothing of it is stored.
      status: status ?? "resolved",
      // A hand-off that was pending already keeps its reason.
      handoff_reason: handoff && (openReason ?? handoff.reason),
    };
  }
}

function toTurn(question: Question, state: TurnState, isHandOff: boolean): Turn | Refusal {
  const { agent, topics } = state;
  const conversation = state.conversation!;
  const stored = state.stored.find(({ id }) => id === question.questionId);
  const answered = state.stored.find(({ id }) => id === question.answerId);
  if (answered) return { plan: "repeat", stored, conversation, answered };
  // Deleted since an earlier attempt stored the question.
  if (!agent) return { outcome: "agent_not_found" };
  // The messages before a resolution do not belong to what is asked now.
  const before = conversation.status === "resolved" ? [] : state.history.map(toHistoryMessage).reverse();
  const plan = isLeftToHumans(conversation, stored) ? "keepForHuman" : isHandOff ? "handOff" : "answer";
  const history = [...(question.earlier ?? []), ...before];
  return { plan, stored, conversation, agent: withSettings(agent, question.settings), history, topics };
}

/** Whether humans have the conversation, or the agent may not answer while it waits for them. */
function isLeftToHumans({ status, pendingReason }: ConversationState, stored: StoredQuestion): boolean {
  return isAgentSilent(status, pendingReason) || (status === "needs_human" && !stored?.quotaPeriod);
}

/** What the visitor reads while humans have the conversation; no message of the agent is stored. */
function silentAnswer({ agent, history, conversation }: OpenTurn, { message, conversationId }: Question): ChatAnswer {
  const language = visitorLanguage(lastWritten(message, history), agent.language);
  const answer = handoffMessageOf(agent, "customer_request", language);
  const fields = { answer, citations: [], confidence: 0, needs_human: true, message_id: null };
  return { ...fields, conversation_id: conversationId, status: conversation.status, handoff_reason: conversation.openReason };
}

/**
 * The visitor, where the request or, if it names nobody, its API key vouches for them. A merged visitor's own token does not
 * prove the person that it was merged into.
 */
function verifiedVisitor({ visitor }: Question, stored: StoredQuestion): VerifiedVisitor | null {
  // The author of a stored question may be erased.
  if (!stored || stored.verified === null || !(visitor ?? stored).verified) return null;
  return { externalId: stored.externalId, email: stored.emailVerified ? stored.email : null };
}

/** To a model, a colleague of the team speaks for the agent's side. */
function toHistoryMessage({ role, content }: TurnState["history"][number]): HistoryMessage {
  return { role: role === "user" ? "visitor" : "agent", text: content };
}

/** The visitor's messages. */
function writtenIn(history: readonly HistoryMessage[]): string[] {
  return history.filter(({ role }) => role === "visitor").map(({ text }) => text);
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, at) => text === b[at]);
}

/** The agent as it would be with the settings that a question tries out. */
function withSettings(agent: AgentRow, settings: AnswerSettings = {}): AgentRow {
  const { confidence_threshold: confidenceThreshold = agent.confidenceThreshold, instructions = agent.instructions } = settings;
  const { model = agent.model } = settings;
  return { ...agent, confidenceThreshold, instructions, model };
}
