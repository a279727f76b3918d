import { DurableObject } from "cloudflare:workers";

/**
 * One object per sign-in or sign-in link: whether it is still good. The cookie holds everything else, but a cookie alone could
 * be used again after its session has ended.
 */
export class SignIn extends DurableObject<Env> {
  /** @param held what ending it returns. */
  async begin(untilMs: number, held = ""): Promise<void> {
    this.ctx.storage.kv.put("held", held);
    await this.ctx.storage.setAlarm(untilMs);
  }

  isActive(): boolean {
    return this.ctx.storage.kv.get("held") !== undefined;
  }

  /** What it held; undefined if it has ended before. So of two who use a link at once, one succeeds. */
  async end(): Promise<string | undefined> {
    const held = this.ctx.storage.kv.get<string>("held");
    await this.ctx.storage.deleteAll();
    return held;
  }

  override async alarm(): Promise<void> {
    await this.end();
  }
}
