import { candidatesOf, matchOf } from "./grams.ts";
import type { Entry, LeadIndexStore, Range } from "./index-store.ts";
import { contains, type Needle, toNeedle } from "./search-text.ts";
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

/** How common a trigram is, is told by this many of the newest leads. To ask the index would cost more the more there are. */
const SAMPLE = 100;
/** To read and compare as many takes about a millisecond. */
const MAX_COMPARED = 400;

const NOTHING: LeadHits = { ids: [], total: 0 };

/** Finds leads in a workspace's index, newest first. A page costs the same however many there are. */
export function searchLeads(store: LeadIndexStore, totals: Totals, query: LeadQuery): LeadHits {
  if (store.isEmpty) return NOTHING;
  const { q, agentId, sinceMs, cursor, limit, offset } = query;
  const agent = agentId === undefined ? undefined : store.findAgent(agentId);
  if (agentId !== undefined && agent === undefined) return NOTHING;
  const needle = toNeedle(q);
  const since: Range = { from: afterAll(store, sinceMs), to: Number.MAX_SAFE_INTEGER };
  const to = cursor ? (store.lastBefore(cursor.atMs, cursor.id) ?? -Number.MAX_SAFE_INTEGER) : since.to;
  const key = { needle, agent };
  const kept = totals.find(key);
  // What has a kept total is known not to be rare.
  const all = kept === undefined ? searchFew(store, needle, agent, since) : undefined;
  if (all) return { ids: pageOf(all, to, query), total: all.length };
  const match = matchOf(needle, agent);
  const ids = store.list(match, { ...since, to }, { limit: limit + 1, offset });
  const isWhole = !cursor && offset === 0 && ids.length <= limit;
  if (isWhole) return { ids, total: ids.length };
  // A time bounds what is counted; without one the total is kept.
  if (sinceMs !== undefined) return { ids, total: store.count(match, since) };
  const total = kept ?? store.count(match, since);
  totals.keep(key, total);
  return { ids, total };
}

/**
 * Every lead that is found, where few hold the rarest parts of what is looked for: these are read and compared. To follow
 * all trigrams of a long text, some of them in every lead, would take as long as there are leads.
 */
function searchFew(store: LeadIndexStore, needle: Needle, agent: number | undefined, since: Range): Entry[] | undefined {
  const candidates = candidatesOf(needle, () => store.listNewest(SAMPLE));
  const few = candidates && store.listFew(candidates, since, MAX_COMPARED);
  return few?.filter((entry) => (agent ?? entry.agent) === entry.agent && contains(entry, needle));
}

function pageOf(all: readonly Entry[], to: number, { limit, offset }: LeadQuery): string[] {
  return all
    .filter(({ label }) => label <= to)
    .slice(offset, offset + limit + 1)
    .map(({ id }) => id);
}

/** The first label that is not before a time. */
function afterAll(store: LeadIndexStore, sinceMs: number | undefined): number {
  const before = sinceMs === undefined ? undefined : store.lastBefore(sinceMs, "");
  return before === undefined ? -Number.MAX_SAFE_INTEGER : before + 1;
}
