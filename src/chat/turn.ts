import { waitUntil } from "cloudflare:workers";
import { settingNames, withSettings } from "../agents/settings.ts";
import { CallJournal, type JournalStorage } from "../agents/tool-journal.ts";
import { handoffMessageOf } from "../agents/messages.ts";
import { agentTools, type VouchedVisitor } from "../agents/tools.ts";
import type { AgentRow } from "../agents/wire.ts";
import { subjectHashesOf } from "../conversations/persons.ts";
import { isAgentSilent } from "../conversations/status.ts";
import { announce } from "../events/live-channel.ts";
import { wakeDeliveries } from "../events/outbox.ts";
import { smallTalkOf } from "../text/intents.ts";
import type { Model, HistoryMessage } from "../models/model.ts";
import type { Retrieval } from "../models/retrieval.ts";
import { type Database, dbFor } from "../platform/db/client.ts";
import type { messages } from "../platform/db/schema.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import { builtInTools, lastQuestions, searchFor } from "./built-in-tools.ts";
import { isByLimit, refusalOf } from "./refusals.ts";
import { failedReply, generateReply, lastWritten, type Reply, visitorLanguage } from "./reply.ts";
import { beginTurn, finishTurn, refundQuota, type TurnState } from "./store.ts";
import { type Search, TraceRecorder } from "./trace.ts";
import type { Attempt } from "./turn-queue.ts";
import { type StoredAnswer, toChatAnswer } from "./stored-answer.ts";
import type { Turn, TurnListener, TurnResult } from "./turn-request.ts";
import type { ChatAnswer } from "./wire.ts";

const NO_LISTENER: TurnListener = { onStart: () => undefined, onText: () => undefined };
const NEVER = new AbortController().signal;

const FIRST_ATTEMPT: Attempt = { number: 1, isHandOff: false };

/** A hand-off does not search, since the agent's index may be what failed. */
const NO_RETRIEVAL: Retrieval = { passages: [], curated: [], questionTerms: [], previousQuestion: null, previousTerms: [], language: "en" };
const NO_SEARCH: Search = { query: "", retrieval: NO_RETRIEVAL, durationMs: 0 };

/** One attempt at a turn. */
interface TurnContext {
  turn: Turn;
  db: Database;
  meter: Meter;
  isHandOff: boolean;
  listener: TurnListener;
  trace: TraceRecorder;
  /** Aborted once the attempt was given up: then it does nothing more, since another one may have finished the turn. */
  signal: AbortSignal;
}

/** A turn that may be answered: what its first batch found, and the visitor who asks. */
interface AdmittedTurn extends TurnState {
  question: TurnState["stored"][number] | undefined;
  visitorId: string | null;
}

/** A search that starts before the conversation is read, with the earlier questions that it was given. */
interface EarlySearch {
  previousQuestions: readonly string[];
  search: Promise<Search>;
}

/**
 * Runs the turns of one conversation: one D1 batch in, beside the search, and one out. An attempt may follow another that
 * died at any point: the batches write nothing twice, a stored answer is repeated, and the journal knows which tools were
 * called.
 */
export class TurnRunner {
  /** What the visitor wrote before the next turn, as far as this runner saw it; the first batch says whether this is all. */
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
   * Stores a turn's question, if it may be asked, and answers it.
   * @param attempt which may be to hand it to a human instead.
   * @param signal ends the attempt.
   */
  async run(turn: Turn, meter: Meter, attempt = FIRST_ATTEMPT, listener = NO_LISTENER, signal = NEVER): Promise<TurnResult> {
    const result = await this.attempt(turn, meter, attempt, listener, signal);
    this.journal.close(turn.answerId);
    return result;
  }

  private async attempt(turn: Turn, meter: Meter, attempt: Attempt, listener: TurnListener, signal: AbortSignal): Promise<TurnResult> {
    const { number, isHandOff, isRescue } = attempt;
    // As long as its question is not stored, no erasure of its visitor finds it.
    if (isRescue && turn.visitor && !turn.subjectHashes) {
      const subjectHashes = await subjectHashesOf(this.env, turn.workspaceId, turn.visitor);
      return this.attempt({ ...turn, subjectHashes }, meter, attempt, listener, signal);
    }
    const db = dbFor(this.env, turn.workspaceId, meter);
    const context: TurnContext = { turn, db, meter, isHandOff, listener, trace: new TraceRecorder(), signal };
    const early = this.searchEarly(context);
    const admitted = await this.admit(context);
    signal.throwIfAborted();
    const refusal = refusalOf(turn, admitted);
    // A limit was reached since the first attempt: a human gets the question, and it counts nothing.
    if (refusal && isByLimit(refusal) && number > 1 && !turn.isKept)
      return this.attempt({ ...turn, isKept: true }, meter, { number, isHandOff: true }, listener, signal);
    if (refusal) return refusal;
    const { agent, conversation, stored } = admitted;
    const answered = stored.find((message) => message.id === turn.answerId);
    if (answered) return this.done(context, admitted, repeatAnswer(context, admitted, answered));
    // Deleted since an earlier attempt stored the question.
    if (!agent) return { outcome: "agent_not_found" };
    if (conversation && isSilent(context, conversation, stored))
      return this.done(context, admitted, await staySilent(context, admitted, agent, conversation));
    return this.done(context, admitted, await this.answer(context, admitted, withSettings(agent, turn.settings), early));
  }

  /** Searches beside the first batch, with the earlier questions that this runner saw. */
  private searchEarly({ turn, meter, isHandOff }: TurnContext): EarlySearch {
    const previousQuestions = lastQuestions(turn.earlier ? writtenIn(turn.earlier) : this.written);
    const search = isHandOff ? Promise.resolve(NO_SEARCH) : this.search(turn, previousQuestions, meter);
    // A turn that is refused does not await the search; every other turn does, and fails there.
    search.catch(() => undefined);
    return { previousQuestions, search };
  }

  private async admit({ turn, db }: TurnContext): Promise<AdmittedTurn> {
    const { written, ...state } = await beginTurn(db, turn, smallTalkOf(turn.message, "") !== undefined);
    // The answer waits for no queue.
    waitUntil(wakeDeliveries(this.env, written));
    const question = state.stored.find((message) => message.id === turn.questionId);
    return { ...state, question, visitorId: question?.authorId ?? null };
  }

  private async answer(context: TurnContext, admitted: AdmittedTurn, agent: AgentRow, early: EarlySearch): Promise<ChatAnswer> {
    const { turn, meter, isHandOff, listener, trace, signal } = context;
    notifyStart(context, admitted, turn.answerId);
    const stored = admitted.conversation?.status === "resolved" ? [] : admitted.history.map(toHistoryMessage).reverse();
    const history = [...(turn.earlier ?? []), ...stored];
    const written = [...writtenIn(history), turn.message];
    const previousQuestions = lastQuestions(written.slice(0, -1));
    this.written = written;
    const search = await this.searchAgain(context, previousQuestions, early);
    if (!isHandOff) trace.searched(search);
    signal.throwIfAborted();
    const tools = [
      ...builtInTools({ env: this.env, meter, turn, visitorId: admitted.visitorId, written }),
      ...this.agentTools(context, agent, vouchedVisitor(turn, admitted)),
    ];
    const request = { turn, agent, history, retrieval: search.retrieval, tools, topics: admitted.topics, observer: trace };
    const reply = isHandOff ? failedReply(request) : await generateReply(this.model, request, (text) => listener.onText(text));
    signal.throwIfAborted();
    return this.finish(context, agent, reply);
  }

  /** What the early search finds, if it was given the right questions; else it searches again. */
  private searchAgain({ turn, meter, isHandOff }: TurnContext, previousQuestions: string[], early: EarlySearch): Promise<Search> {
    const wasRight = isHandOff || isSame(previousQuestions, early.previousQuestions);
    return wasRight ? early.search : this.search(turn, previousQuestions, meter);
  }

  private search(turn: Turn, previousQuestions: string[], meter: Meter): Promise<Search> {
    return searchFor({ env: this.env, meter, turn }, turn.message, previousQuestions);
  }

  private agentTools({ turn, meter, signal }: TurnContext, agent: AgentRow, visitor: VouchedVisitor | null) {
    const { workspaceId, conversationId, answerId } = turn;
    this.journal.open(answerId);
    const once: CallJournal["once"] = async (key, make) => {
      signal.throwIfAborted();
      return this.journal.once(key, make);
    };
    return agentTools({ env: this.env, meter, workspaceId, conversationId, turnId: answerId, journal: { once }, visitor }, agent);
  }

  private async finish({ turn, db, listener, trace }: TurnContext, agent: AgentRow, reply: Reply): Promise<ChatAnswer> {
    const nowMs = Math.max(Date.now(), turn.nowMs + 1);
    const { status, openReason, written } = await finishTurn(db, turn, { ...reply, agentName: agent.name, nowMs });
    const of = {
      message_id: turn.answerId,
      conversation_id: turn.conversationId,
      agent_id: agent.id,
      changed_settings: settingNames(turn.settings),
    };
    if (status !== undefined) listener.onTrace?.(trace.traceOf(of, reply, agent.confidenceThreshold));
    waitUntil(wakeDeliveries(this.env, written));
    const { text, citations, confidence, handoff } = reply;
    const fields = { answer: text, citations, confidence, needs_human: handoff !== null, message_id: turn.answerId };
    // A conversation that was erased meanwhile has no status: the answer is given, and nothing of it is stored.
    // A hand-off that was pending already keeps its reason.
    const reason = handoff && (openReason ?? handoff.reason);
    return { ...fields, conversation_id: turn.conversationId, status: status ?? "resolved", handoff_reason: reason };
  }

  private done({ turn }: TurnContext, { visitorId }: AdmittedTurn, answer: ChatAnswer): TurnResult {
    announce(this.env, turn.workspaceId, { kind: "conversation", id: answer.conversation_id });
    return { outcome: "answered", answer, visitorId };
  }
}

/**
 * The visitor, where the request or, if it names nobody, its API key vouches for them. A merged visitor's own token does not
 * prove the person that it was merged into.
 */
function vouchedVisitor({ visitor }: Turn, { question }: AdmittedTurn): VouchedVisitor | null {
  // The author of a stored question may be erased.
  if (!question || question.verified === null || !(visitor ?? question).verified) return null;
  return { externalId: question.externalId, email: question.emailVerified ? question.email : null };
}

/** @param messageId the agent's message that will answer the turn; null where the agent stays silent. */
function notifyStart({ turn, listener }: TurnContext, { visitorId }: AdmittedTurn, messageId: string | null): void {
  listener.onStart({ conversationId: turn.conversationId, messageId, visitorId });
}

/** The answer is stored already: an earlier attempt died after it, or the request is repeated. */
function repeatAnswer(context: TurnContext, admitted: AdmittedTurn, answered: StoredAnswer): ChatAnswer {
  notifyStart(context, admitted, context.turn.answerId);
  return toChatAnswer(answered, admitted.conversation!.status);
}

type ConversationState = NonNullable<TurnState["conversation"]>;

/** Whether the message is left to humans: they have the conversation, or the agent may not answer while it waits for them. */
function isSilent({ turn }: TurnContext, { status, pendingReason }: ConversationState, stored: TurnState["stored"]): boolean {
  const isCounted = stored.some(({ id, quotaPeriod }) => id === turn.questionId && quotaPeriod !== null);
  return isAgentSilent(status, pendingReason) || (status === "needs_human" && !isCounted);
}

/** A human has the conversation: the message is stored, and the agent says nothing. */
async function staySilent(
  context: TurnContext,
  admitted: AdmittedTurn,
  agent: AgentRow,
  { status, openReason }: ConversationState,
): Promise<ChatAnswer> {
  const { turn, db } = context;
  // Counted by an attempt that died before a human took over.
  if (admitted.stored.some((message) => message.quotaPeriod !== null)) await db.batch([refundQuota(db, turn)]);
  notifyStart(context, admitted, null);
  const history = admitted.history.map(toHistoryMessage).reverse();
  const answer = handoffMessageOf(agent, "customer_request", visitorLanguage(lastWritten(turn.message, history), agent.language));
  const fields = { answer, citations: [], confidence: 0, needs_human: true, message_id: null };
  return { ...fields, conversation_id: turn.conversationId, status, handoff_reason: openReason };
}

/** To a model, a colleague of the team speaks for the agent's side. */
function toHistoryMessage({ role, content }: Pick<typeof messages.$inferSelect, "role" | "content">): HistoryMessage {
  return { role: role === "user" ? "visitor" : "agent", text: content };
}

/** What the visitor wrote. */
function writtenIn(history: readonly HistoryMessage[]): string[] {
  return history.filter(({ role }) => role === "visitor").map(({ text }) => text);
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, at) => text === b[at]);
}
