import { signal } from "@preact/signals";
import { exactTime, relativeTime } from "../../shared/time.ts";

const TICK_MS = 30_000;
const now = signal(Date.now());
setInterval(() => (now.value = Date.now()), TICK_MS);

/** A time seen from now; the exact one on hover. */
export function Time({ at }: { at: string }) {
  const atMs = Date.parse(at);
  return (
    <time dateTime={at} title={exactTime(atMs, "en")}>
      {relativeTime(atMs, Math.max(now.value, atMs), "en")}
    </time>
  );
}

const numberFormat = new Intl.NumberFormat(navigator.language);

/** A number with the separators of the reader's language. */
export function formatNumber(value: number): string {
  return numberFormat.format(value);
}
