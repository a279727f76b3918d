/** The pauses between two looks, which grow while nothing happens. */
const PAUSES = {
  /** A human may reply any moment. */
  human: { firstMs: 2_500, longestMs: 20_000 },
  /** The agent answers; a human may still step in. */
  agent: { firstMs: 20_000, longestMs: 120_000 },
};
const GROWTH = 1.3;

/** While the service tells of news by a socket, looks find only what it failed to tell. */
const LIVE_PAUSE_MS = 120_000;
/** The service closes a socket after ten minutes: before that it is replaced, so that nothing is told late. */
const LONGEST_SOCKET_MS = 7 * 60_000;
const PING_MS = 30_000;
/** After a socket was closed, or could not be opened. */
const RETRY = { firstMs: 2_000, longestMs: 300_000 };
/** A socket that was open for so long did work. */
const STABLE_MS = 30_000;

/**
 * Finds news while the page is visible: while a human may reply the service tells of them by a socket. Without one, and where the
 * agent answers, it looks from time to time.
 */
export class Poller {
  private pace: keyof typeof PAUSES | "nobody" = "nobody";
  private pauseMs = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isLooking = false;
  /** Whether there is news of which a look that is under way may know nothing. */
  private isStale = false;
  private socket: WebSocket | undefined;
  private ping: ReturnType<typeof setInterval> | undefined;
  /** Whether the last ping was answered. */
  private isAnswered = true;
  private openedMs = Infinity;
  private retryMs = RETRY.firstMs;
  private retryAtMs = 0;

  /**
   * @param look answers whether there was something new.
   * @param open opens a socket of the conversation that is looked at.
   */
  constructor(
    private readonly look: () => Promise<boolean>,
    private readonly open: () => WebSocket,
  ) {
    document.addEventListener("visibilitychange", () => this.wake());
    // The socket may be dead without knowing.
    addEventListener("online", () => this.reconnect());
  }

  /** Begins anew, with short pauses. */
  start(pace: Poller["pace"]): void {
    this.pause();
    this.pace = pace;
    if (pace !== "human") this.disconnect();
    if (pace === "nobody") return;
    this.pauseMs = PAUSES[pace].firstMs;
    this.connect();
    this.schedule();
  }

  /** Looks no more until it is started. What is told meanwhile is looked for then. */
  pause(): void {
    clearTimeout(this.timer);
    this.pace = "nobody";
  }

  stop(): void {
    this.pause();
    this.disconnect();
  }

  private schedule(): void {
    clearTimeout(this.timer);
    if (this.pace !== "nobody" && isVisible()) this.timer = setTimeout(() => void this.run(), this.pauseMs);
  }

  private async run(): Promise<void> {
    clearTimeout(this.timer);
    this.isStale = this.isLooking;
    if (this.isLooking) return;
    this.isLooking = true;
    const hasNews = await this.look().catch(() => false);
    this.isLooking = false;
    if (this.isStale) return this.run();
    if (this.pace === "nobody") return;
    const { firstMs, longestMs } = PAUSES[this.pace];
    this.connect();
    if (this.isOpen) this.pauseMs = LIVE_PAUSE_MS;
    else this.pauseMs = hasNews ? firstMs : Math.min(this.pauseMs * GROWTH, longestMs);
    this.schedule();
  }

  /** The page became visible or hidden, or the browser online. */
  private wake(): void {
    if (!isVisible()) {
      clearTimeout(this.timer);
      return this.disconnect();
    }
    if (this.pace === "nobody") return;
    this.pauseMs = PAUSES[this.pace].firstMs;
    this.connect();
    const isConnecting = this.socket && !this.isOpen;
    // Once it is open, it looks.
    if (isConnecting) this.schedule();
    else void this.run();
  }

  // --- The socket --------------------------------------------------------------------------------------------------------

  private get isOpen(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  /** Opens a socket where one is needed and may be opened. */
  private connect(): void {
    if (Date.now() > this.openedMs + LONGEST_SOCKET_MS) this.disconnect();
    if (this.socket || this.pace !== "human" || !isVisible() || Date.now() < this.retryAtMs) return;
    this.retryAtMs = Date.now() + this.retryMs * (0.5 + Math.random());
    this.retryMs = Math.min(this.retryMs * 2, RETRY.longestMs);
    try {
      this.listen(this.open());
    } catch {
      // The page's policy forbids it.
    }
  }

  private listen(socket: WebSocket): void {
    this.socket = socket;
    socket.addEventListener("open", () => {
      this.openedMs = Date.now();
      // What came before it was open was not told.
      void this.run();
    });
    socket.addEventListener("message", ({ data }) => {
      this.isAnswered = true;
      if (data !== "pong") void this.run();
    });
    socket.addEventListener("close", () => {
      if (this.socket !== socket) return;
      this.disconnect();
      if (this.pace === "nobody") return;
      // Not all pages at once, where the service closes them all.
      this.pauseMs = PAUSES[this.pace].firstMs * (0.5 + Math.random());
      this.schedule();
    });
    this.isAnswered = true;
    this.ping = setInterval(() => this.isOpen && this.checkAlive(socket), PING_MS);
  }

  /** A socket whose network is gone, or whose computer slept, stays open without knowing: it answers no ping. */
  private checkAlive(socket: WebSocket): void {
    if (!this.isAnswered) return this.reconnect();
    this.isAnswered = false;
    socket.send("ping");
  }

  private reconnect(): void {
    this.disconnect();
    this.wake();
  }

  private disconnect(): void {
    const { socket } = this;
    // One that the page itself closes did not fail: it may be opened again as soon as the page is visible.
    if (this.isOpen || Date.now() > this.openedMs + STABLE_MS) this.retryMs = RETRY.firstMs;
    this.openedMs = Infinity;
    this.socket = undefined;
    clearInterval(this.ping);
    socket?.close();
  }
}

function isVisible(): boolean {
  return document.visibilityState === "visible";
}
