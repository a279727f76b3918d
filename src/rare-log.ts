/** While the outside is down, every question of every agent would say so. */
const LOG_EVERY_MS = 60_000;

const loggedAtMs = new Map<string, number>();

/** Logs a failure, unless this isolate has logged one under the same name within the last minute. */
export function logRarely(event: string, error: unknown): void {
  const nowMs = Date.now();
  if (nowMs - (loggedAtMs.get(event) ?? Number.NEGATIVE_INFINITY) < LOG_EVERY_MS) return;
  loggedAtMs.set(event, nowMs);
  console.error(JSON.stringify({ event, detail: String(error) }));
}
