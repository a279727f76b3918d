import { DurableObject } from "cloudflare:workers";
import { HOUR_MS } from "../platform/time.ts";

/** Something that was counted, and under which names. */
interface Counted {
  atMs: number;
  names: string[];
}

/**
 * The state of one sign-in or sign-in link: whether it is still valid. The cookie holds everything else, but without this object a
 * copied cookie could be used after its session has ended. One object per workspace counts mails instead.
 */
export class SignIn extends DurableObject<Env> {
  /** Starts the sign-in. @param held the value that `end` returns. */
  async begin(untilMs: number, held = ""): Promise<void> {
    this.ctx.storage.kv.put("held", held);
    await this.ctx.storage.setAlarm(untilMs);
  }

  isActive(): boolean {
    return this.held() !== undefined;
  }

  /** Returns the value held; undefined if the sign-in has ended. */
  held(): string | undefined {
    return this.ctx.storage.kv.get<string>("held");
  }

  /** Ends the sign-in. @returns the value held; undefined if it has already ended, so that a link works only once. */
  async end(): Promise<string | undefined> {
    const held = this.ctx.storage.kv.get<string>("held");
    await this.ctx.storage.deleteAll();
    return held;
  }

  /** Counts something under each of these names, unless one of them has reached its limit of an hour. @returns whether it was counted. */
  async count(limits: Record<string, number>): Promise<boolean> {
    const nowMs = Date.now();
    const recent = (this.ctx.storage.kv.get<Counted[]>("counted") ?? []).filter(({ atMs }) => atMs > nowMs - HOUR_MS);
    const isFull = Object.entries(limits).some(([name, limit]) => recent.filter(({ names }) => names.includes(name)).length >= limit);
    if (isFull) return false;
    this.ctx.storage.kv.put("counted", [...recent, { atMs: nowMs, names: Object.keys(limits) }] satisfies Counted[]);
    await this.ctx.storage.setAlarm(nowMs + HOUR_MS);
    return true;
  }

  override async alarm(): Promise<void> {
    await this.end();
  }
}
