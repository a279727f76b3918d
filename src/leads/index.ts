import { DurableObject } from "cloudflare:workers";
import type { Meter } from "../platform/telemetry/meter.ts";
import { type IndexedLead, LeadIndexStore } from "./index-store.ts";
import { contains, type LeadHits, type LeadQuery, type Needle, searchLeads, type SearchText } from "./search.ts";

/** One object a workspace: the search of its leads. D1 has the leads themselves. Each method may be repeated without harm. */
export class LeadIndex extends DurableObject<Env> {
  private readonly store: LeadIndexStore;
  private readonly totals = new Totals();

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.store = new LeadIndexStore(ctx.storage);
  }

  /** Takes leads up. A lead never changes, so one that is there stays as it is. */
  async put(leads: IndexedLead[]): Promise<void> {
    this.totals.add(this.store.put(leads));
  }

  /** Removes all that is kept of these leads. */
  async remove(leadIds: string[]): Promise<void> {
    this.totals.clear();
    if (!this.store.isEmpty) this.store.remove(leadIds);
  }

  /** Finds leads, newest first. */
  async search(query: LeadQuery): Promise<LeadHits> {
    return searchLeads(this.store, this.totals, query);
  }

  /** Forgets everything: the workspace is erased. */
  async erase(): Promise<void> {
    this.totals.clear();
    await this.store.erase();
  }
}

/** The object that searches a workspace's leads. */
export function leadIndexOf(env: Env, meter: Meter, workspaceId: string): DurableObjectStub<LeadIndex> {
  meter.countObjectHop();
  return env.LEADS.getByName(workspaceId);
}

/** A search's kept total belongs to this text and, where it is narrowed to one, this agent. */
export interface TotalKey {
  needle: Needle;
  agent: number | undefined;
}

/** Each is compared with every lead that comes: this many take less time than writing the lead. */
const MAX_KEPT = 1_000;

/**
 * How many leads each recent search finds. To count a common text is the one part of a search whose price grows with
 * the workspace, so it is counted once and then kept up to date. In memory alone: what is searched for is personal data.
 */
export class Totals {
  private readonly kept = new Map<string, TotalKey & { total: number }>();

  find(key: TotalKey): number | undefined {
    const name = nameOf(key);
    const found = this.kept.get(name);
    if (!found) return undefined;
    // The last asked for moves to the end: what falls out first was not asked for longest.
    this.kept.delete(name);
    this.kept.set(name, found);
    return found.total;
  }

  keep(key: TotalKey, total: number): void {
    this.kept.set(nameOf(key), { ...key, total });
    if (this.kept.size > MAX_KEPT) this.kept.delete(this.kept.keys().next().value!);
  }

  /** Counts entries that came. */
  add(entries: readonly (SearchText & { agent: number })[]): void {
    for (const kept of this.kept.values()) {
      kept.total += entries.filter((entry) => (kept.agent ?? entry.agent) === entry.agent && contains(entry, kept.needle)).length;
    }
  }

  /** What was searched for may be of the person who is erased, so it goes too. */
  clear(): void {
    this.kept.clear();
  }
}

function nameOf({ needle, agent }: TotalKey): string {
  return JSON.stringify([agent ?? null, needle.text, needle.digits]);
}
