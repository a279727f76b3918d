import { DurableObject } from "cloudflare:workers";
import { engineFor } from "../models/engine.ts";
import { idFields, logDeadLetter } from "../platform/queue.ts";
import { withoutData } from "../platform/telemetry/errors.ts";
import { type Cost, Meter } from "../platform/telemetry/meter.ts";
import { measureJob } from "../platform/telemetry/report.ts";
import { readingOf, readStream, type StreamCaller } from "./stream-reader.ts";
import { AnswerStream, type Begun } from "./stream.ts";
import { ForgottenError, type Run, TurnQueue } from "./turn-queue.ts";
import { type Refusal, startTurn, type Turn, type TurnRequest, type TurnResult, TurnRunner } from "./turn.ts";

/** The request on whose behalf a turn runs, and who hears that its answer begins. */
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

/**
 * One object per conversation: it runs turns in order, lets any number of clients read an answer while it is written,
 * and finishes turns whose run died.
 */
export class ChatSession extends DurableObject<Env> {
  private readonly turns: TurnQueue<TurnRequest, Turn>;
  private readonly runner: TurnRunner;
  /** The answers of turns that run or were asked for before their run, by the answer's id. */
  private readonly streams = new Map<string, AnswerStream>();
  /** The questions that may be asked again while they are answered, by the answer's id. */
  private readonly taken = new Map<string, Taken>();
  /** Settled while no turn is storing its question or creating its conversation. */
  private storing: Promise<void> = Promise.resolve();

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    const begin = (request: TurnRequest) => startTurn(request, Date.now());
    this.turns = new TurnQueue(ctx.storage, begin, (turn, run) => this.run(turn, run, { meter: new Meter() }), noteDropped);
    this.runner = new TurnRunner(env, engineFor(env), ctx.storage.kv);
  }

  /** Answers a visitor's message once the messages before it are answered. @param requestId the request that waits, for the log. */
  async ask(request: TurnRequest, requestId?: string): Promise<{ result: TurnResult; cost: Cost }> {
    const meter = new Meter();
    return { result: await this.take(request, { meter, requestId }).result, cost: meter.cost };
  }

  /**
   * Answers a visitor's message as a stream of events, which begins once the message may be answered. The cost in the
   * result is what was spent until then.
   */
  async stream(request: TurnRequest, caller: StreamCaller): Promise<{ refusal?: Refusal; body?: ReadableStream; cost: Cost }> {
    const meter = new Meter();
    const { begun, result } = this.take(request, { meter, requestId: caller.requestId });
    const first = await Promise.race([begun, result]);
    // A turn that is answered has begun before.
    if (!(first instanceof AnswerStream)) return { refusal: first as Refusal, cost: meter.cost };
    return { body: readStream(first, readingOf(this.env, caller)), cost: { ...meter.cost } };
  }

  /** Resumes the stream of an unfinished answer; null where this object writes no such answer. */
  async resume(answerId: string, caller: StreamCaller): Promise<ReadableStream | null> {
    const isAwaited = this.turns.awaits((request, turn) => (turn ?? request.ids)?.answerId === answerId);
    return isAwaited ? readStream(this.streamOf(answerId), readingOf(this.env, caller)) : null;
  }

  override async alarm(): Promise<void> {
    const [workspaceId, conversationId] = this.ctx.id.name?.split("/") ?? [];
    const head = { job: "session_alarm", workspaceId: workspaceId ?? null, fields: { conversation_id: conversationId } } as const;
    await measureJob(this.env, head, () => this.turns.resume());
  }

  /**
   * Deletes all of the object's storage when the conversation is erased. After it returns, no turn that was queued or
   * running adds rows to D1.
   */
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
  logDeadLetter({ from: "turn", ids: idFields(request), attempts: runs, action });
}

/**
 * The object that puts a conversation's turns in order. Its name begins with the workspace, so a conversation of another
 * workspace is another object, and an empty one.
 */
export function sessionOf(env: Env, meter: Meter, workspaceId: string, conversationId: string): DurableObjectStub<ChatSession> {
  meter.countObjectHop();
  return env.SESSION.getByName(`${workspaceId}/${conversationId}`);
}
