import { DurableObject } from "cloudflare:workers";
import { type Cost, Meter } from "../meter.ts";
import { engineFor } from "../models/engine.ts";
import { AnswerStream, type Begun } from "./stream.ts";
import { readingOf, type StreamCaller } from "./stream-caller.ts";
import { readStream } from "./stream-reader.ts";
import { type Refusal, startTurn, type Turn, type TurnRequest, type TurnResult, TurnRunner } from "./turn.ts";
import { ForgottenError, TurnQueue } from "./turn-queue.ts";

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
    this.turns = new TurnQueue(ctx.storage, begin, (turn, isLast) => this.run(turn, new Meter(), isLast));
    this.runner = new TurnRunner(env, engineFor(env), ctx.storage.kv);
  }

  /** Answers a visitor's message, after those that came before it. */
  async ask(request: TurnRequest): Promise<{ result: TurnResult; cost: Cost }> {
    const meter = new Meter();
    return { result: await this.take(request, meter).result, cost: meter.cost };
  }

  /** The same as a stream of events, once the message may be answered; its cost is what was spent until then. */
  async stream(request: TurnRequest, caller: StreamCaller): Promise<{ refusal?: Refusal; body?: ReadableStream; cost: Cost }> {
    const meter = new Meter();
    const { begun, result } = this.take(request, meter);
    const first = await Promise.race([begun, result]);
    // A turn that is answered has begun before.
    if (!(first instanceof AnswerStream)) return { refusal: first as Refusal, cost: meter.cost };
    this.ctx.waitUntil(logEnd(request, caller.requestId, result, meter));
    return { body: readStream(first, readingOf(this.env, caller)), cost: { ...meter.cost } };
  }

  /** Goes on with the stream of an answer that is yet to be finished; null where there is none. */
  async resume(answerId: string, caller: StreamCaller): Promise<ReadableStream | null> {
    const isAwaited = this.turns.awaits((request, turn) => (turn ?? request.ids)?.answerId === answerId);
    return isAwaited ? readStream(this.streamOf(answerId), readingOf(this.env, caller)) : null;
  }

  override async alarm(): Promise<void> {
    await this.turns.resume();
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
  private take(request: TurnRequest, meter: Meter): Taken {
    const answerId = request.ids?.answerId;
    const taken = answerId === undefined ? undefined : this.taken.get(answerId);
    if (taken) return taken;
    const begun = Promise.withResolvers<AnswerStream>();
    const result = this.turns.add(request, (turn, isLast) => this.run(turn, meter, isLast, begun.resolve)).catch(refuseForgotten);
    const fresh = { begun: begun.promise, result };
    if (answerId !== undefined) this.taken.set(answerId, fresh);
    const forget = () => void (answerId !== undefined && this.taken.delete(answerId));
    // A caller that hangs up does not stop the turn.
    this.ctx.waitUntil(result.then(forget, forget));
    return fresh;
  }

  private async run(turn: Turn, meter: Meter, isLast: boolean, onBegun?: (stream: AnswerStream) => void): Promise<TurnResult> {
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

/** A streamed answer ends after its request was logged: one line says how, and what all of it cost. */
async function logEnd(request: TurnRequest, requestId: string, result: Promise<TurnResult>, { cost }: Meter): Promise<void> {
  const beganMs = Date.now();
  const outcome = await result.then(
    () => "done",
    () => "failed",
  );
  const ids = { request_id: requestId, workspace_id: request.workspaceId, conversation_id: request.conversationId };
  const spent = { object_hops: cost.objectHops, d1_trips: cost.d1Trips, rows_read: cost.rowsRead };
  console.log(JSON.stringify({ event: "stream_end", ...ids, outcome, duration_ms: Date.now() - beganMs, ...spent }));
}
