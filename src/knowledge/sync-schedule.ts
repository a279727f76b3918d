import { DAY_MS } from "../db/days.ts";

const PERIOD_MS = { daily: DAY_MS, weekly: 7 * DAY_MS };
/** Sources that were added together, by a script or an import, are not synced together for ever. */
const SPREAD = 0.1;

/**
 * When a source whose sync ends now is synced by itself again: after its schedule's period, up to a tenth sooner or later, always
 * the same for one source. Null for those that never are: on manual schedule, and texts, which change with nobody's site.
 */
export function nextSyncAtMs(
  { id, type, schedule }: { id: string; type: "website" | "url" | "text"; schedule: "manual" | "daily" | "weekly" },
  nowMs: number,
): number | null {
  if (type === "text" || schedule === "manual") return null;
  return nowMs + Math.round(PERIOD_MS[schedule] * (1 + SPREAD * deviationOf(id)));
}

/** -1 to 1, from the random part of an identifier. */
function deviationOf(id: string): number {
  return Number.parseInt(id.slice(24, 32), 16) / 2 ** 31 - 1;
}
