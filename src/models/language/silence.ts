/**
 * Tells once that nothing broke a silence for so long. Breaking it only notes the time: a timer for each token of an answer
 * would cost more than the token.
 */
export class Silence {
  private sinceMs = Date.now();
  private timer: ReturnType<typeof setTimeout>;

  constructor(
    private readonly limitMs: number,
    private readonly onLong: () => void,
  ) {
    this.timer = setTimeout(() => this.look(), limitMs);
  }

  breaks(): void {
    this.sinceMs = Date.now();
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  private look(): void {
    const leftMs = this.sinceMs + this.limitMs - Date.now();
    if (leftMs <= 0) this.onLong();
    else this.timer = setTimeout(() => this.look(), leftMs);
  }
}
