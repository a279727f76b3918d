import type { Retention } from "../platform/db/columns.ts";
import { DAY_MS } from "../platform/time.ts";

/**
 * What is the customer's stays until somebody says otherwise; what is machinery goes. A visitor goes with the last of what
 * is theirs. Counts and analytics name nobody and stay.
 */
export const DEFAULT_RETENTION = { conversations_days: null, leads_days: null, event_log_days: 30 } as const satisfies Retention;

/**
 * The least and the most that may be set. A conversation is picked up again within weeks; an event log cannot be longer than
 * the default, since every database's log is cut there in one sweep.
 */
export const RETENTION_BOUNDS = {
  conversations_days: { min: 30, max: 3650 },
  leads_days: { min: 30, max: 3650 },
  event_log_days: { min: 1, max: DEFAULT_RETENTION.event_log_days },
} as const satisfies Record<keyof Retention, { min: number; max: number }>;

/** What the operator has set, laid over the defaults. */
export function retentionOf(overrides: Partial<Retention>): Retention {
  return { ...DEFAULT_RETENTION, ...overrides };
}

/** From before which Unix millisecond records go; undefined where they stay, or where the sweep of all workspaces sees to them. */
export interface Cutoffs {
  conversationsMs: number | undefined;
  leadsMs: number | undefined;
  eventLogMs: number | undefined;
}

/** The cutoffs of a workspace's own settings. */
export function cutoffsOf(overrides: Partial<Retention>, nowMs: number): Cutoffs {
  const before = (days: number | null | undefined) => (days === null || days === undefined ? undefined : nowMs - days * DAY_MS);
  return {
    conversationsMs: before(overrides.conversations_days),
    leadsMs: before(overrides.leads_days),
    eventLogMs: before(overrides.event_log_days),
  };
}
