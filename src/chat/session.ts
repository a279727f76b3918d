import { DurableObject } from "cloudflare:workers";
import { type Cost, Meter } from "../meter.ts";
import { engineFor } from "../models/engine.ts";
import { idsOf, logDeadLetter } from "../telemetry/dead-letter.ts";
import { withoutData } from "../telemetry/describe-error.ts";
import { measureJob } from "../telemetry/measure-job.ts";
import { AnswerStream, type Begun } from "./stream.ts";
import { readingOf, type StreamCaller } from "./stream-caller.ts";
import { readStream } from "./stream-reader.ts";
import { type Refusal, startTurn, type Turn, type TurnRequest, type TurnResult, TurnRunner } from "./turn.ts";
import { ForgottenError, type Run, TurnQueue } from "./turn-queue.ts";

/** On whose behalf a turn is run, and who hears of its beginning. */
interface Occasion {
  meter: Meter;
  /** The request that waits for it; undefined where the object takes it up by itself. */
  requestId?: string | undefined;
  onBegun?: (stream: AnswerStream) => void;
}

/** A question that was taken: its stream once it may be answered, and what it came to. */
interface Taken {
  begun: Promise<AnswerStream>;
  result: Promise<TurnResult>;
}

/** One object a conversation: it puts turns in order, lets many read an answer while it is written, and finishes the turns whose run died. */
export class ChatSession extends DurableObject<Env> {
  private readonly turns: TurnQueue<TurnRequest, Turn>;
  private readonly runner: TurnRunner;
  /** The answers of turns that run or were asked for before their run, by the answer's id. */
  private readonly streams = new Map<string, AnswerStream>();
  /** The questions that may be asked again while they are answered, by the answer's id. */
  private readonly taken = new Map<string, Taken>();
  /** Settled while no turn stores its question, and with it the conversation that it begins. */
  private storing: Promise<void> = Promise.resolve();

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    const begin = (request: TurnRequest) => startTurn(request, Date.now());
    this.turns = new TurnQueue(ctx.storage, begin, (turn, run) => this.run(turn, run, { meter: new Meter() }), noteDropped);
    this.runner = new TurnRunner(env, engineFor(env), ctx.storage.kv);
  }

  /**
   * Answers a visitor's message, after those that came before it.
   * @param requestId the request that waits, for the log.
   */
  async ask(request: TurnRequest, requestId?: string): Promise<{ result: TurnResult; cost: Cost }> {
    const meter = new Meter();
    return { result: await this.take(request, { meter, requestId }).result, cost: meter.cost };
  }

  /** The same as a stream of events, once the message may be answered; its cost is what was spent until then. */
  async stream(request: TurnRequest, caller: StreamCaller): Promise<{ refusal?: Refusal; body?: ReadableStream; cost: Cost }> {
    const meter = new Meter();
    const { begun, result } = this.take(request, { meter, requestId: caller.requestId });
    const first = await Promise.race([begun, result]);
    // A turn that is answered has begun before.
    if (!(first instanceof AnswerStream)) return { refusal: first as Refusal, cost: meter.cost };
    return { body: readStream(first, readingOf(this.env, caller)), cost: { ...meter.cost } };
  }

  /** Goes on with the stream of an answer that is yet to be finished; null where there is none. */
  async resume(answerId: string, caller: StreamCaller): Promise<ReadableStream | null> {
    const isAwaited = this.turns.awaits((request, turn) => (turn ?? request.ids)?.answerId === answerId);
    return isAwaited ? readStream(this.streamOf(answerId), readingOf(this.env, caller)) : null;
  }

  override async alarm(): Promise<void> {
    const [workspaceId, conversationId] = this.ctx.id.name?.split("/") ?? [];
    const head = { job: "session_alarm", workspaceId: workspaceId ?? null, fields: { conversation_id: conversationId } } as const;
    await measureJob(this.env, head, () => this.turns.resume());
  }

  /** Forgets everything: the conversation is erased. Once it has returned no turn that it took writes to D1 what was not there. */
  async erase(): Promise<void> {
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
    // Of those no run will tell their readers of an end.
    for (const stream of this.streams.values()) if (!stream.begun) stream.fail();
    await this.storing;
  }

  /** A request that comes again while its turn has not ended joins it. */
  private take(request: TurnRequest, occasion: Occasion): Taken {
    const answerId = request.ids?.answerId;
    const taken = answerId === undefined ? undefined : this.taken.get(answerId);
    if (taken) return taken;
    const begun = Promise.withResolvers<AnswerStream>();
    const result = this.turns
      .add(request, (turn, run) => this.run(turn, run, { ...occasion, onBegun: begun.resolve }))
      .catch(refuseForgotten);
    const fresh = { begun: begun.promise, result };
    if (answerId !== undefined) this.taken.set(answerId, fresh);
    const forget = () => void (answerId !== undefined && this.taken.delete(answerId));
    // A caller that hangs up does not stop the turn.
    this.ctx.waitUntil(result.then(forget, forget));
    return fresh;
  }

  /** What a run costs is in its own line, and in that of the request that waits for it. */
  private async run(turn: Turn, run: Run, occasion: Occasion): Promise<TurnResult> {
    const { meter, requestId } = occasion;
    const fields = { request_id: requestId, channel: turn.channel, agent_id: turn.agentId, conversation_id: turn.conversationId };
    const head = { job: "turn", workspaceId: turn.workspaceId, attempts: run.number, fields } as const;
    const endOf = ({ outcome }: TurnResult) => ({ outcome });
    try {
      return await measureJob(this.env, head, () => this.answer(turn, run, occasion), endOf, meter);
    } catch (error) {
      throw withoutData(error);
    }
  }

  private async answer(turn: Turn, { isLast }: Run, { meter, onBegun }: Occasion): Promise<TurnResult> {
    const stream = this.streamOf(turn.answerId);
    const { promise, resolve: stored } = Promise.withResolvers<void>();
    this.storing = promise;
    const begin = (begun: Begun) => {
      stored();
      stream.begin(begun);
      onBegun?.(stream);
    };
    try {
      const result = await this.runner.run(turn, meter, isLast, { begin, say: (text) => stream.say(text) });
      if (result.outcome === "answered") stream.finish(result.answer);
      return result;
    } finally {
      stored();
      if (stream.end === undefined) stream.fail();
      this.streams.delete(turn.answerId);
    }
  }

  private streamOf(answerId: string): AnswerStream {
    const known = this.streams.get(answerId);
    if (known) return known;
    const stream = new AnswerStream();
    this.streams.set(answerId, stream);
    return stream;
  }
}

/** Of a conversation that was erased before a message's turn came there is nothing that it could go on with. */
function refuseForgotten(error: unknown): Refusal {
  if (error instanceof ForgottenError) return { outcome: "conversation_not_found" };
  throw error;
}

/** The conversation goes on without it, and nobody answers it any more. */
function noteDropped(request: TurnRequest, runs: number): void {
  const action =
    "A visitor's message was not answered. Look for the failed turns of its conversation; if it is not in the transcript, ask for it again.";
  logDeadLetter({ from: "turn", ids: idsOf(request), attempts: runs, action });
}
