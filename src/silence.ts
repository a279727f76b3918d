/**
 * Tells whenever nothing has broken a silence for so long, until it is stopped. Breaking it only notes the time: a timer for
 * each token of an answer would cost more than the token.
 */
export class Silence {
  private sinceMs = Date.now();
  private timer: ReturnType<typeof setTimeout>;

  constructor(
    private readonly limitMs: number,
    private readonly onLong: () => void,
  ) {
    this.timer = this.lookIn(limitMs);
  }

  breaks(): void {
    this.sinceMs = Date.now();
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  private lookIn(ms: number): ReturnType<typeof setTimeout> {
    return setTimeout(() => this.look(), ms);
  }

  private look(): void {
    const leftMs = this.sinceMs + this.limitMs - Date.now();
    if (leftMs > 0) {
      this.timer = this.lookIn(leftMs);
      return;
    }
    this.breaks();
    this.timer = this.lookIn(this.limitMs);
    this.onLong();
  }
}
