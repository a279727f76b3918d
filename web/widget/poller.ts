/** The pauses between two looks, which grow while nothing happens. */
const PAUSES = {
  /** A human may reply any moment. */
  human: { firstMs: 2_500, longestMs: 20_000 },
  /** The agent answers; a human may still step in. */
  agent: { firstMs: 20_000, longestMs: 120_000 },
};
const GROWTH = 1.3;

/** Looks for news from time to time while the page is visible, and at once when it is visible again. */
export class Poller {
  private pace: keyof typeof PAUSES | "nobody" = "nobody";
  private pauseMs = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** @param look answers whether there was something new. */
  constructor(private readonly look: () => Promise<boolean>) {
    document.addEventListener("visibilitychange", () => this.wake());
    addEventListener("online", () => this.wake());
  }

  /** Begins anew, with short pauses. */
  start(pace: Poller["pace"]): void {
    this.stop();
    this.pace = pace;
    if (pace === "nobody") return;
    this.pauseMs = PAUSES[pace].firstMs;
    this.schedule();
  }

  stop(): void {
    clearTimeout(this.timer);
    this.pace = "nobody";
  }

  private schedule(): void {
    clearTimeout(this.timer);
    if (this.pace !== "nobody" && document.visibilityState === "visible") this.timer = setTimeout(() => void this.run(), this.pauseMs);
  }

  private async run(): Promise<void> {
    const hasNews = await this.look().catch(() => false);
    if (this.pace === "nobody") return;
    const { firstMs, longestMs } = PAUSES[this.pace];
    this.pauseMs = hasNews ? firstMs : Math.min(this.pauseMs * GROWTH, longestMs);
    this.schedule();
  }

  private wake(): void {
    if (this.pace === "nobody" || document.visibilityState !== "visible") return;
    this.pauseMs = PAUSES[this.pace].firstMs;
    void this.run();
  }
}
