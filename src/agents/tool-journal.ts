import type { CallResult } from "./tool-call.ts";

const PREFIX = "call:";

/** A call that may change something; its result is null until the response is there. */
interface Entry {
  result: CallResult | null;
}

export type JournalStorage = Pick<SyncKvStorage, "list" | "put" | "delete">;

/** A call's result, from now or an earlier attempt; unknown where it may have taken effect and must not be made again. */
export type Journaled = { isKnown: true; result: CallResult } | { isKnown: false };

/**
 * The calls of the running turn that may change something. A call is stored before its request is sent, so that a further
 * attempt at the turn does not repeat it: it gets the stored result, or a human takes over where there is none. A human also
 * takes over when an attempt makes a new call before it has repeated all calls of the attempt before, since the new call
 * could be an old one in other words.
 */
export class CallJournal {
  private turnId = "";
  private readonly entries = new Map<string, Entry>();
  /** The calls of earlier attempts that this one has not repeated. */
  private readonly unclaimed = new Set<string>();
  private readonly running = new Map<string, Promise<Journaled>>();

  constructor(private readonly storage?: JournalStorage) {}

  /** Starts an attempt at a turn, with the calls of earlier attempts: of any request with the same turn. */
  open(turnId: string): void {
    this.running.clear();
    this.unclaimed.clear();
    if (turnId !== this.turnId) this.entries.clear();
    this.turnId = turnId;
    const prefix = nameOf(turnId, "");
    for (const [name, entry] of this.storage?.list<Entry>({ prefix }) ?? []) this.entries.set(name.slice(prefix.length), entry);
    for (const key of this.entries.keys()) this.unclaimed.add(key);
  }

  /** Ends a turn, which is not attempted again. The calls of others, which may be, stay. */
  close(turnId: string): void {
    if (turnId !== this.turnId) this.open(turnId);
    for (const key of this.entries.keys()) this.remove(key);
    this.unclaimed.clear();
  }

  /** Makes a call once in its turn, however often it is asked for. */
  once(key: string, make: () => Promise<CallResult>): Promise<Journaled> {
    const running = this.running.get(key) ?? this.find(key, make);
    this.running.set(key, running);
    return running;
  }

  private async find(key: string, make: () => Promise<CallResult>): Promise<Journaled> {
    this.unclaimed.delete(key);
    const entry = this.entries.get(key);
    if (entry) return entry.result ? { isKnown: true, result: entry.result } : { isKnown: false };
    if (this.unclaimed.size > 0) return { isKnown: false };
    this.store(key, { result: null });
    const result = await make();
    if (result.kind === "unknown") return { isKnown: false };
    // Nothing was sent, so it may be made again.
    if (result.kind === "refused") this.remove(key);
    else this.store(key, { result });
    return { isKnown: true, result };
  }

  private store(key: string, entry: Entry): void {
    this.entries.set(key, entry);
    this.storage?.put(nameOf(this.turnId, key), entry);
  }

  private remove(key: string): void {
    this.entries.delete(key);
    this.storage?.delete(nameOf(this.turnId, key));
  }
}

function nameOf(turnId: string, key: string): string {
  return `${PREFIX}${turnId}:${key}`;
}
