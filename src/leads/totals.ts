import { contains, type Needle, type SearchText } from "./search-text.ts";

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
