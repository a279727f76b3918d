/**
 * How long a `Retry-After` header asks to wait (RFC 9110), in milliseconds: so many seconds, or until a date; 0 for one that
 * is past. Undefined where there is none, or it is neither.
 */
export function retryAfterMs(header: string | null | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? "";
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs;
  return Number.isNaN(waitMs) ? undefined : Math.max(0, waitMs);
}
