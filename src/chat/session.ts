import { DurableObject, RpcTarget } from "cloudflare:workers";
import type { Operation } from "../platform/db/client.ts";
import type { ClientSurface, ConversationStatus } from "../platform/db/columns.ts";
import { objectOf } from "../platform/objects.ts";
import type { Decision } from "../conversations/approval-store.ts";
import { withoutData } from "../platform/telemetry/errors.ts";
import { measureJob } from "../platform/telemetry/report.ts";
import { type Cost, Meter } from "../platform/telemetry/meter.ts";
import { withTimeout } from "../platform/time.ts";
import type { Question } from "./question.ts";
import type { Refusal } from "./refusals.ts";
import { AnswerStream, readStream, type StreamCaller } from "./stream.ts";
import { isDecided, type Settlement, suspendedAnswer, type SuspendedTurn, SuspendedTurns, waitsForCaller } from "./suspended-turns.ts";
import { TraceStore } from "./trace-store.ts";
import type { Trace } from "./trace-wire.ts";
import { type Attempt, TurnErasedError, TurnQueue } from "./turn-queue.ts";
import type { TurnListener, TurnResult, TurnRunner } from "./turn.ts";
import { VisitorSockets } from "./visitor-sockets.ts";
import type { ToolResult } from "./wire.ts";

/** The results of client tools, for the turn that writes an answer. */
interface ToolResults {
  answerId: string;
  results: readonly ToolResult[];
  /** Where the tools ran. */
  runsIn: ClientSurface;
}

/** Why a turn does not take the results of tools. */
export type Unsettled = Exclude<Settlement, { outcome: "settled" }>;

/** The request that waits for a turn. A turn that the object runs again by itself has only a meter. */
interface TurnCaller {
  meter: Meter;
  requestId?: string | undefined;
  onStart?: (stream: AnswerStream) => void;
}

/** A turn that waits or runs. */
interface PendingTurn {
  /** Resolves once the question is stored. */
  started: Promise<AnswerStream>;
  result: Promise<TurnResult>;
}

/** Keeps a conversation's next turn waiting until its holder disposes of it, or dies. */
class Hold extends RpcTarget {
  constructor(private readonly release: () => void) {
    super();
  }

  [Symbol.dispose](): void {
    this.release();
  }
}

/** This is longer than the one trip to D1 for which a hold is taken. */
const LONGEST_HOLD_MS = 30_000;

/**
 * One object per conversation. It runs the conversation's turns in order, and lets any number of clients read an answer while it
 * is written. A client that disconnects does not stop the answer.
 *
 * When the object is interrupted, its clients get an error, and streams break off. Its unfinished turns are still in its storage. The next
 * instance runs them again, woken by the alarm or by the conversation's next request, and nothing is stored or counted twice:
 * `TurnQueue` explains how often a turn is run, and `TurnRunner` why that is safe. A client gets the answer by resuming the
 * stream, by repeating the request with its Idempotency-Key, or from the transcript.
 */
export class ChatSession extends DurableObject<Env> {
  private readonly turns: TurnQueue;
  /** Undefined until the first turn, so that the start of an isolate does not load what turns need. */
  private runner: TurnRunner | undefined;
  private readonly traces: TraceStore;
  private readonly suspended: SuspendedTurns;
  private readonly visitors: VisitorSockets;
  /** How often the object's storage was erased. A turn that began before an erasure must not store its trace. */
  private erasures = 0;
  /** The streams of turns that run, or that a client resumed before they ran, by the answer's id. */
  private readonly streams = new Map<string, AnswerStream>();
  /** The turns that a client asked for in this instance, by the answer's id. A repeated request joins its turn. */
  private readonly pending = new Map<string, PendingTurn>();
  /** An attempt that takes longer has failed, so that it does not block its conversation. The model and the tools have shorter limits. */
  private readonly attemptLimitMs = 5 * 60_000;
  /** Settles once the running turn has stored its question. */
  private questionStored: Promise<void> = Promise.resolve();
  /** Settles once no hold keeps the next turn waiting. */
  private released: Promise<unknown> = Promise.resolve();

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    const rescue = (question: Question, attempt: Attempt) => this.runTurn(question, attempt, { meter: new Meter() });
    this.traces = new TraceStore(ctx.storage.kv);
    this.suspended = new SuspendedTurns(ctx.storage.kv);
    this.visitors = new VisitorSockets(ctx);
    this.turns = new TurnQueue(ctx.storage, rescue, () => this.nextTaskMs());
  }

  /** Answers a visitor's message, after the messages before it. */
  async ask(question: Question, requestId?: string): Promise<{ result: TurnResult; cost: Cost }> {
    await this.released;
    const meter = new Meter();
    return { result: await this.enqueue(question, { meter, requestId }).result, cost: meter.cost };
  }

  /**
   * Answers a visitor's message as a stream of events, which begins once the message may be answered. The cost in the
   * result is what was spent until then.
   */
  async stream(question: Question, caller: StreamCaller): Promise<{ refusal?: Refusal; body?: ReadableStream; cost: Cost }> {
    await this.released;
    const meter = new Meter();
    const { started, result } = this.enqueue(question, { meter, requestId: caller.requestId });
    const first = await Promise.race([started, result]);
    // A turn that answers first resolves `started`, so the first result can only be a refusal.
    if (!(first instanceof AnswerStream)) return { refusal: first as Refusal, cost: meter.cost };
    return { body: readStream(this.env, first, caller), cost: { ...meter.cost } };
  }

  /** Takes the results of the tools that a turn waits for, and answers as `ask` does. A turn that waits for none is not run. */
  async continue({ answerId, results, runsIn }: ToolResults, requestId?: string): Promise<{ result: TurnResult | Unsettled; cost: Cost }> {
    await this.released;
    const settled = this.suspended.settle(answerId, results, runsIn);
    return settled.outcome === "settled" ? this.ask(settled.question, requestId) : { result: settled, cost: new Meter().cost };
  }

  /** Takes the results of the tools that a turn waits for, and answers as `stream` does. A turn that waits for none is not run. */
  async streamContinued(
    { answerId, results, runsIn }: ToolResults,
    caller: StreamCaller,
  ): Promise<{ refusal?: Refusal | Unsettled; body?: ReadableStream; cost: Cost }> {
    await this.released;
    const settled = this.suspended.settle(answerId, results, runsIn);
    return settled.outcome === "settled" ? this.stream(settled.question, caller) : { refusal: settled, cost: new Meter().cost };
  }

  /** Resumes the stream of an unfinished answer; null if this object has no such turn. */
  async resume(answerId: string, caller: StreamCaller): Promise<ReadableStream | null> {
    const suspended = this.suspended.find(answerId);
    if (suspended && waitsForCaller(suspended, Date.now()))
      return readStream(this.env, AnswerStream.of(suspendedAnswer(suspended)), caller);
    return this.isUnfinished(answerId) ? readStream(this.env, this.streamOf(answerId), caller) : null;
  }

  /** Whether the turn that writes this answer is unfinished. */
  isUnfinished(answerId: string): boolean {
    return this.turns.isUnfinished(answerId);
  }

  /** Opens a socket of the conversation's visitor, whom the entrance has checked. */
  override fetch(request: Request): Response {
    return this.visitors.accept(request);
  }

  /** Notifies the visitor's open pages that the conversation changed. @param status its status now. */
  notifyVisitor(conversationId: string, status: ConversationStatus): void {
    this.visitors.notify(conversationId, status);
  }

  /** Closes the sockets of the visitor's open pages, because their tokens may have been ended. */
  reconnectVisitor(): void {
    this.visitors.reconnectAll();
  }

  override webSocketMessage(socket: WebSocket): void {
    this.visitors.refuse(socket);
  }

  override async alarm(): Promise<void> {
    const [workspaceId, conversationId] = this.ctx.id.name?.split("/") ?? [];
    const head = { job: "session_alarm", workspaceId: workspaceId ?? null, fields: { conversation_id: conversationId } } as const;
    await measureJob(this.env, head, async () => {
      await this.turns.rescueOrphans();
      await this.endExpired();
      this.traces.prune();
      await this.turns.rest();
    });
  }

  /**
   * Notes the team's decision about a tool call; the first one counts. Once all calls of its turn are decided, the turn goes on.
   * @returns the decision that counts; undefined if no such call waits.
   */
  async decide(answerId: string, approvalId: string, given: Decision): Promise<Decision | undefined> {
    await this.released;
    const decided = this.suspended.decide(answerId, approvalId, given);
    // Nobody waits for the turn. Its alarm is set when the decision is stored.
    if (decided?.question) this.enqueue(decided.question, { meter: new Meter() }).result.catch(() => undefined);
    return decided?.decision;
  }

  /** Runs the turns that have waited too long for the results of tools or for the team. Each is handed to a human, unless its conversation is resolved. */
  private async endExpired(): Promise<void> {
    const isExpired = ({ question, expiresAtMs }: SuspendedTurn) =>
      Date.now() >= expiresAtMs && !this.turns.isUnfinished(question.answerId);
    const expired = this.suspended.list().filter(isExpired);
    // Each turn logs its own failure.
    await Promise.allSettled(
      expired.map((turn) => {
        const question = turn.approvals && !turn.isSettled ? this.suspended.expire(turn) : turn.question;
        return this.enqueue(question, { meter: new Meter() }).result;
      }),
    );
  }

  /** When a suspended turn or a trace expires, in Unix milliseconds; undefined if there is none. */
  private nextTaskMs(): number | undefined {
    const expiries = [this.suspended.nextExpiryMs, this.traces.nextExpiryMs].filter((atMs) => atMs !== undefined);
    return expiries.length > 0 ? Math.min(...expiries) : undefined;
  }

  /** Finds the trace of an answer; undefined if it has none or the trace has expired. */
  async findTrace(answerId: string): Promise<Trace | undefined> {
    return this.traces.find(answerId);
  }

  /** Lists the traces of the answers after a message, oldest first. */
  async listTraces(afterId: string, limit: number): Promise<Trace[]> {
    return this.traces.list(afterId, limit);
  }

  /** Deletes the object's storage. After it returns, no turn that was queued or running adds rows to D1. */
  async erase(): Promise<void> {
    this.erasures++;
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
    this.visitors.closeAll();
    // The queue drops turns that have not started, so nothing else would end their streams.
    for (const stream of this.streams.values()) if (!stream.started) stream.fail();
    await this.questionStored;
  }

  /**
   * Deletes the object's storage unless a turn is unfinished.
   * @returns a hold that keeps further turns waiting until the conversation's rows are erased too; null if a turn is unfinished.
   */
  async eraseIdle(): Promise<Hold | null> {
    // Other calls of the object wait, so that no turn is added during the erasure.
    return this.ctx.blockConcurrencyWhile(async () => {
      if (!this.turns.isIdle) return null;
      await this.erase();
      return this.hold();
    });
  }

  private hold(): Hold {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.released = withTimeout(LONGEST_HOLD_MS, promise, "A hold").catch(() => undefined);
    return new Hold(resolve);
  }

  /** Queues a question. A repeated one joins its pending turn. */
  private enqueue(question: Question, caller: TurnCaller): PendingTurn {
    const { answerId } = question;
    const joined = this.pending.get(answerId);
    if (joined) return joined;
    const { promise: started, resolve: onStart } = Promise.withResolvers<AnswerStream>();
    const result = this.turns.add(question, (attempt) => this.runTurn(question, attempt, { ...caller, onStart })).catch(refuseErased);
    const turn = { started, result };
    this.pending.set(answerId, turn);
    const forget = () => void this.pending.delete(answerId);
    // Keeps the turn running when its caller disconnects.
    this.ctx.waitUntil(result.then(forget, forget));
    return turn;
  }

  /** Runs a turn as a job with a log line of its own. Its cost is also in the log line of the request that waits for it. */
  private async runTurn(question: Question, attempt: Attempt, caller: TurnCaller): Promise<TurnResult> {
    const { meter, requestId } = caller;
    const { workspaceId, agentId, conversationId, channel } = question;
    const fields = { request_id: requestId, channel, agent_id: agentId, conversation_id: conversationId };
    const head = { job: "turn", workspaceId, attempts: attempt.number, fields } as const;
    const endOf = ({ outcome }: TurnResult) => ({ outcome });
    try {
      return await measureJob(this.env, head, () => this.attempt(question, attempt, caller), endOf, meter);
    } catch (error) {
      throw withoutData(error);
    }
  }

  private async attempt(question: Question, attempt: Attempt, caller: TurnCaller): Promise<TurnResult> {
    const own = this.suspended.find(question.answerId);
    // A turn after the team's decision has no caller who could be refused, so that it does not wait for another turn's tools.
    const others = own && isDecided(own) ? [] : this.suspended.list();
    const blocking = others.find((turn) => !turn.approvals && turn.question.answerId !== question.answerId);
    if (blocking) {
      // The page of a visitor who writes again has lost the call. The caller of a rescued question was told that it will be answered.
      const isWaiting = waitsForCaller(blocking, Date.now());
      if (isWaiting && blocking.question.clientTools?.runsIn !== "browser" && !attempt.isRescue) return { outcome: "waits_for_tools" };
      if (isWaiting) this.suspended.fail(blocking);
      // The caller is gone, so nobody would run the caller's tools.
      const { clientTools: _clientTools, ...ended } = blocking.question;
      await this.runAttempt(ended, { number: 1, isHandOff: false, isRescue: true }, { meter: caller.meter });
    }
    return this.runAttempt(question, attempt, caller);
  }

  private async runAttempt(question: Question, attempt: Attempt, { meter, onStart }: TurnCaller): Promise<TurnResult> {
    const stream = this.streamOf(question.answerId);
    const { promise, resolve: stored } = Promise.withResolvers<void>();
    this.questionStored = promise;
    const { erasures } = this;
    const isErased = () => this.erasures !== erasures;
    let suspendsAgain = false;
    const listener: TurnListener = {
      onStart: (start) => {
        stored();
        stream.start(start);
        onStart?.(stream);
      },
      onText: (text) => stream.append(text),
      onTrace: (trace) => {
        if (!isErased()) this.traces.put(trace);
      },
      onSuspend: (turn) => {
        suspendsAgain = true;
        if (!isErased()) this.suspended.put(turn);
      },
    };
    const end = new AbortController();
    try {
      const runner = this.runner ?? (await this.loadRunner());
      const suspended = this.suspended.find(question.answerId);
      const running = runner.run(question, meter, { ...attempt, suspended, isErased }, listener, end.signal);
      const result = await withTimeout(this.attemptLimitMs, running, "A turn");
      const needsCaller = result.outcome === "answered" && result.answer.required_action !== null;
      // The visitor of a turn with approvals has an answer, although the turn waits for the team.
      const needsTeam = suspended?.approvals !== undefined && !suspended.isSettled;
      if (suspended && !suspendsAgain && !needsCaller && !needsTeam) this.suspended.delete(question.answerId);
      if (result.outcome === "answered") {
        stream.finish(result.answer);
        this.visitors.notify(question.conversationId, result.answer.status);
      }
      return result;
    } finally {
      end.abort();
      stored();
      if (stream.outcome === undefined) stream.fail();
      this.streams.delete(question.answerId);
    }
  }

  private async loadRunner(): Promise<TurnRunner> {
    const [{ TurnRunner }, { modelFor }] = await Promise.all([import("./turn.ts"), import("../grounded/engine.ts")]);
    this.runner = new TurnRunner(this.env, modelFor(this.env), this.ctx.storage.kv);
    return this.runner;
  }

  private streamOf(answerId: string): AnswerStream {
    const known = this.streams.get(answerId);
    if (known) return known;
    const stream = new AnswerStream();
    this.streams.set(answerId, stream);
    return stream;
  }
}

/** Refuses a question whose conversation was erased while it waited. */
function refuseErased(error: unknown): Refusal {
  if (error instanceof TurnErasedError) return { outcome: "conversation_not_found" };
  throw error;
}

/** Returns the object of a conversation. With the id of another workspace's conversation, it is an empty object. */
export function sessionOf({ env, meter, workspaceId }: Operation, conversationId: string): DurableObjectStub<ChatSession> {
  meter.countObjectHop();
  return objectOf(env, env.SESSION, `${workspaceId}/${conversationId}`);
}
