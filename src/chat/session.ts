import { DurableObject } from "cloudflare:workers";
import { type Cost, Meter } from "../meter.ts";
import { engineFor } from "../models/engine.ts";
import { startTurn, type Turn, type TurnRequest, type TurnResult, TurnRunner } from "./turn.ts";
import { TurnQueue } from "./turn-queue.ts";

/** One object a conversation: it puts turns in order and finishes the ones whose run died. */
export class ChatSession extends DurableObject<Env> {
  private readonly turns: TurnQueue<TurnRequest, Turn>;
  private readonly runner: TurnRunner;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.turns = new TurnQueue(ctx.storage, (request) => startTurn(request, Date.now()));
    this.runner = new TurnRunner(env, engineFor(env), ctx.storage.kv);
  }

  /** Answers a visitor's message, after those that came before it. */
  async ask(request: TurnRequest): Promise<{ result: TurnResult; cost: Cost }> {
    const meter = new Meter();
    const result = this.turns.add(request, (turn, isLast) => this.runner.run(turn, meter, isLast));
    // A caller that hangs up does not stop the turn.
    this.ctx.waitUntil(result.catch(() => undefined));
    return { result: await result, cost: meter.cost };
  }

  override async alarm(): Promise<void> {
    await this.turns.resume((turn, isLast) => this.runner.run(turn, new Meter(), isLast));
  }

  /** Forgets everything: the conversation is erased. */
  async erase(): Promise<void> {
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
  }
}
