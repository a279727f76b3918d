/** The interval at which a timer reads the clock. */
const TICK_MS = 5;

/** A clock that tests advance: `Date.now`, timers and timeouts go by it. Each timer waits in the invocation that set it. */
export class Clock {
  private aheadMs = 0;
  private readonly realNow = Date.now.bind(Date);
  private readonly realSetTimeout = globalThis.setTimeout.bind(globalThis);
  private readonly realClearTimeout = globalThis.clearTimeout.bind(globalThis);
  private readonly realTimeout = AbortSignal.timeout.bind(AbortSignal);

  /** Replaces the platform's clock by this one. */
  install(): void {
    Date.now = () => this.realNow() + this.aheadMs;
    globalThis.setTimeout = ((work: () => void, delayMs = 0) => this.start(work, delayMs)) as unknown as typeof setTimeout;
    globalThis.clearTimeout = ((timer?: Timer) => timer?.stop()) as unknown as typeof clearTimeout;
    AbortSignal.timeout = (delayMs) => {
      const controller = new AbortController();
      this.start(() => controller.abort(new DOMException("It took too long", "TimeoutError")), delayMs);
      return controller.signal;
    };
  }

  /** Advances the clock. */
  advance(ms: number): void {
    this.aheadMs += ms;
  }

  /** Restores the platform's clock. */
  uninstall(): void {
    Date.now = this.realNow;
    globalThis.setTimeout = this.realSetTimeout;
    globalThis.clearTimeout = this.realClearTimeout;
    AbortSignal.timeout = this.realTimeout;
  }

  private start(work: () => void, delayMs: number): Timer {
    const dueMs = Date.now() + delayMs;
    let id: ReturnType<typeof setTimeout>;
    const look = () => {
      const leftMs = dueMs - Date.now();
      if (leftMs <= 0) work();
      else id = this.realSetTimeout(look, Math.min(leftMs, TICK_MS));
    };
    id = this.realSetTimeout(look, Math.min(delayMs, TICK_MS));
    return { stop: () => this.realClearTimeout(id) };
  }
}

interface Timer {
  stop(): void;
}
