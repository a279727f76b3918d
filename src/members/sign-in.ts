import { DurableObject } from "cloudflare:workers";

/**
 * The state of one sign-in or sign-in link: whether it is still valid. The cookie holds everything else, but without this object a
 * copied cookie could be used after its session has ended.
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

  override async alarm(): Promise<void> {
    await this.end();
  }
}
