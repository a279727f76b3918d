import { fractionOf } from "../platform/db/ids.ts";
import type { sources } from "../platform/db/schema.ts";
import type { SOURCE_TYPES } from "../platform/db/columns.ts";
import { DAY_MS } from "../platform/time.ts";

type SourceType = (typeof SOURCE_TYPES)[number];

/** Whether sources of this type are read from the web. */
export function isCrawled(type: SourceType): type is "website" | "url" {
  return type === "website" || type === "url";
}

const PERIOD_MS = { daily: DAY_MS, weekly: 7 * DAY_MS };
/** Spreads the syncs of sources that were added together. */
const SPREAD = 0.1;

/**
 * Returns the time of the next sync of a source whose sync ends now: after the period of its schedule, up to a tenth sooner or later,
 * by a deviation that is constant for a source. Null for texts, files and manual schedules.
 */
export function nextSyncAtMs(
  { id, type, schedule }: Pick<typeof sources.$inferSelect, "id" | "type" | "schedule">,
  nowMs: number,
): number | null {
  if (!isCrawled(type) || schedule === "manual") return null;
  return nowMs + Math.round(PERIOD_MS[schedule] * (1 + SPREAD * deviationOf(id)));
}

/** Returns a number between -1 and 1 that is always the same for an id. */
function deviationOf(id: string): number {
  return 2 * fractionOf(id) - 1;
}
