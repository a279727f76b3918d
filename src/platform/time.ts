/** The length of the days that the triggers count by: whole ones since 1970-01-01, UTC. */
export const DAY_MS = 86_400_000;

/** What a promise comes to, if it does so within the time; what was begun goes on unheeded. @throws Error when it does not. */
export async function withinMs<T>(limitMs: number, work: Promise<T>, what: string): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`${what} took longer than ${limitMs} ms`)), limitMs);
  // Whichever comes second is heard by nobody.
  work.catch(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

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

/**
 * How long a `Retry-After` header asks to wait (RFC 9110), in milliseconds: so many seconds, or until a date; 0 for one that
 * is past. Undefined where there is none, or it is neither.
 */
export function retryAfterMs(header: string | null | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? "";
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs;
  return Number.isNaN(waitMs) ? undefined : Math.max(0, waitMs);
}
