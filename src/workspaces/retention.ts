import type { Retention } from "../platform/db/columns.ts";
import { DAY_MS } from "../platform/time.ts";

/**
 * Customer data is kept until the operator sets a limit; the event log is not. A visitor is deleted with their last record.
 * Counters and analytics identify nobody and are kept.
 */
export const DEFAULT_RETENTION = { conversations_days: null, leads_days: null, event_log_days: 30 } as const satisfies Retention;

/**
 * The range of each setting. Customers return to a conversation within weeks, so it is kept for a month at least. The event
 * log cannot exceed the default, at which the sweep cuts it for all workspaces.
 */
export const RETENTION_BOUNDS = {
  conversations_days: { min: 30, max: 3650 },
  leads_days: { min: 30, max: 3650 },
  event_log_days: { min: 1, max: DEFAULT_RETENTION.event_log_days },
} as const satisfies Record<keyof Retention, { min: number; max: number }>;

/** Returns the defaults with the operator's overrides. */
export function retentionOf(overrides: Partial<Retention>): Retention {
  return { ...DEFAULT_RETENTION, ...overrides };
}

/** Records from before these Unix milliseconds are deleted; undefined if they are kept or the default applies. */
export interface Cutoffs {
  conversationsMs: number | undefined;
  leadsMs: number | undefined;
  eventLogMs: number | undefined;
}

/** Returns the cutoffs of a workspace's overrides. */
export function cutoffsOf(overrides: Partial<Retention>, nowMs: number): Cutoffs {
  const before = (days: number | null | undefined) => (days === null || days === undefined ? undefined : nowMs - days * DAY_MS);
  return {
    conversationsMs: before(overrides.conversations_days),
    leadsMs: before(overrides.leads_days),
    eventLogMs: before(overrides.event_log_days),
  };
}
