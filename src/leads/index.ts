import { DurableObject } from "cloudflare:workers";
import { type IndexedLead, LeadIndexStore } from "./index-store.ts";
import { type LeadHits, type LeadQuery, searchLeads } from "./search.ts";
import { Totals } from "./totals.ts";

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
