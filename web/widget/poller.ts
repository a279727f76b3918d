/** The pauses between two polls, which grow while nothing happens. */
const PAUSES = {
  /** A human may reply at any moment. */
  human: { firstMs: 2_500, longestMs: 20_000 },
  /** The agent answers, but a human may still take over. */
  agent: { firstMs: 20_000, longestMs: 120_000 },
};
const GROWTH = 1.3;

/** The pause between two polls while a socket announces messages: they only find those that it missed. */
const LIVE_PAUSE_MS = 120_000;
/** A socket is replaced after this time, because the service closes it after ten minutes. */
const LONGEST_SOCKET_MS = 7 * 60_000;
const PING_MS = 30_000;
/** The pauses before a socket is opened again after it was closed or failed to open. */
const RETRY = { firstMs: 2_000, longestMs: 300_000 };
/** A socket that was open for this time has worked, and the pauses start over. */
const STABLE_MS = 30_000;

/**
 * Finds new messages while the page is visible. While a human may reply, a socket of the service announces them; without a socket, and
 * while the agent answers, they are polled for.
 */
export class Poller {
  private pace: keyof typeof PAUSES | "none" = "none";
  private pauseMs = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isPolling = false;
  /** Whether a message was announced that the running poll may miss. */
  private isStale = false;
  private socket: WebSocket | undefined;
  private ping: ReturnType<typeof setInterval> | undefined;
  /** Whether the last ping was answered. */
  private isAnswered = true;
  private openedMs = Infinity;
  private retryMs = RETRY.firstMs;
  private retryAtMs = 0;

  /**
   * @param poll reads new messages, and returns whether anything has changed.
   * @param open opens a socket for the conversation.
   */
  constructor(
    private readonly poll: () => Promise<boolean>,
    private readonly open: () => WebSocket,
  ) {
    document.addEventListener("visibilitychange", () => this.wake());
    // A socket does not notice that it lost its network.
    addEventListener("online", () => this.reconnect());
  }

  /** Starts polling, with short pauses at first. */
  start(pace: Poller["pace"]): void {
    this.pause();
    this.pace = pace;
    if (pace !== "human") this.disconnect();
    if (pace === "none") return;
    this.pauseMs = PAUSES[pace].firstMs;
    this.connect();
    this.schedule();
  }

  /** Stops polling until the next start, but keeps the socket. */
  pause(): void {
    clearTimeout(this.timer);
    this.pace = "none";
  }

  stop(): void {
    this.pause();
    this.disconnect();
  }

  private schedule(): void {
    clearTimeout(this.timer);
    if (this.pace !== "none" && isVisible()) this.timer = setTimeout(() => void this.run(), this.pauseMs);
  }

  private async run(): Promise<void> {
    clearTimeout(this.timer);
    // A poll may end, or a message may be announced, after the page was hidden. `wake` polls when it is visible again.
    if (!isVisible()) return;
    this.isStale = this.isPolling;
    if (this.isPolling) return;
    this.isPolling = true;
    const hasNews = await this.poll().catch(() => false);
    this.isPolling = false;
    if (this.isStale) return this.run();
    if (this.pace === "none") return;
    const { firstMs, longestMs } = PAUSES[this.pace];
    this.connect();
    if (this.isOpen) this.pauseMs = LIVE_PAUSE_MS;
    else this.pauseMs = hasNews ? firstMs : Math.min(this.pauseMs * GROWTH, longestMs);
    this.schedule();
  }

  /** Called when the page becomes visible or hidden, or the browser online. */
  private wake(): void {
    if (!isVisible()) {
      clearTimeout(this.timer);
      return this.disconnect();
    }
    if (this.pace === "none") return;
    this.pauseMs = PAUSES[this.pace].firstMs;
    this.connect();
    const isConnecting = this.socket && !this.isOpen;
    // A socket that is being opened starts a poll once it is open.
    if (isConnecting) this.schedule();
    else void this.run();
  }

  // --- The socket --------------------------------------------------------------------------------------------------------

  private get isOpen(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  /** Opens a socket if one is needed and the pause after a failure is over. */
  private connect(): void {
    if (Date.now() > this.openedMs + LONGEST_SOCKET_MS) this.disconnect();
    if (this.socket || this.pace !== "human" || !isVisible() || Date.now() < this.retryAtMs) return;
    this.retryAtMs = Date.now() + this.retryMs * (0.5 + Math.random());
    this.retryMs = Math.min(this.retryMs * 2, RETRY.longestMs);
    try {
      this.listen(this.open());
    } catch {
      // The page's policy forbids sockets.
    }
  }

  private listen(socket: WebSocket): void {
    this.socket = socket;
    socket.addEventListener("open", () => {
      this.openedMs = Date.now();
      // Messages from before it was open are not announced.
      void this.run();
    });
    socket.addEventListener("message", ({ data }) => {
      this.isAnswered = true;
      if (data !== "pong") void this.run();
    });
    socket.addEventListener("close", () => {
      if (this.socket !== socket) return;
      this.disconnect();
      if (this.pace === "none") return;
      // A random pause spreads the pages, because a deployment closes the sockets of all of them.
      this.pauseMs = PAUSES[this.pace].firstMs * (0.5 + Math.random());
      this.schedule();
    });
    this.isAnswered = true;
    this.ping = setInterval(() => this.isOpen && this.checkAlive(socket), PING_MS);
  }

  /** Replaces a socket that has not answered the last ping, for example after the computer slept or lost its network. */
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
    // A socket that the page itself closes has not failed, and may be opened again at once.
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
