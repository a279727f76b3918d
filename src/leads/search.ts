import { matchOf } from "./grams.ts";
import type { LeadIndexStore, Range } from "./index-store.ts";
import { toNeedle } from "./search-text.ts";
import type { Totals } from "./totals.ts";

/** A search for leads: what is looked for, what it is narrowed to, and which page. */
export interface LeadQuery {
  q: string;
  agentId?: string | undefined;
  sinceMs?: number | undefined;
  limit: number;
  offset: number;
  /** Only what stands after this lead in the list. */
  cursor?: { atMs: number; id: string } | undefined;
}

export interface LeadHits {
  /** One more than the page has room for, when there are more. */
  ids: string[];
  /** Of the whole list, wherever the page is. */
  total: number;
}

const NOTHING: LeadHits = { ids: [], total: 0 };

/** Finds leads in a workspace's index, newest first. A page costs the same however many there are. */
export function searchLeads(store: LeadIndexStore, totals: Totals, query: LeadQuery): LeadHits {
  if (store.isEmpty) return NOTHING;
  const { q, agentId, sinceMs, cursor, limit, offset } = query;
  const agent = agentId === undefined ? undefined : store.findAgent(agentId);
  if (agentId !== undefined && agent === undefined) return NOTHING;
  const needle = toNeedle(q);
  const match = matchOf(needle, agent);
  const since: Range = { from: afterAll(store, sinceMs), to: Number.MAX_SAFE_INTEGER };
  const to = cursor ? (store.lastBefore(cursor.atMs, cursor.id) ?? -Number.MAX_SAFE_INTEGER) : since.to;
  const ids = store.list(match, { ...since, to }, { limit: limit + 1, offset });
  const isWhole = !cursor && offset === 0 && ids.length <= limit;
  if (isWhole) return { ids, total: ids.length };
  // A time bounds what is counted; without one the total is kept.
  if (sinceMs !== undefined) return { ids, total: store.count(match, since) };
  const key = { needle, agent };
  const total = totals.find(key) ?? store.count(match, since);
  totals.keep(key, total);
  return { ids, total };
}

/** The first label that is not before a time. */
function afterAll(store: LeadIndexStore, sinceMs: number | undefined): number {
  const before = sinceMs === undefined ? undefined : store.lastBefore(sinceMs, "");
  return before === undefined ? -Number.MAX_SAFE_INTEGER : before + 1;
}
