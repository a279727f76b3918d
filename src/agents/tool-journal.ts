import type { CallResult } from "./tool-call.ts";

const PREFIX = "call:";

/** A call that may change something: begun, and with its result once that is known. */
interface Entry {
  result: CallResult | null;
}

/** What of an object's storage is used; without one, calls are remembered while the object lives. */
export type JournalStorage = Pick<SyncKvStorage, "list" | "put" | "delete">;

/** Whether a call's answer is known: its result, made now or before; or not, so that it must not be made again. */
export type Journaled = { isKnown: true; result: CallResult } | { isKnown: false };

/**
 * The changing calls of the turn that runs. A call is in storage before its request leaves, so that a turn that is run
 * again does not make it again: it gets the stored result, or, where none came, a human takes over. A run that asks for
 * other calls than the run before it did, before it has asked for all of those, could do the same thing by other words,
 * so that a human takes over then too.
 */
export class CallJournal {
  private turnId = "";
  private readonly entries = new Map<string, Entry>();
  /** The calls of earlier runs that this run has not asked for. */
  private readonly unclaimed = new Set<string>();
  private readonly running = new Map<string, Promise<Journaled>>();

  constructor(private readonly storage?: JournalStorage) {}

  /** Begins a run of a turn: what earlier runs of it called is known. */
  open(turnId: string): void {
    this.running.clear();
    this.unclaimed.clear();
    if (turnId !== this.turnId) this.entries.clear();
    this.turnId = turnId;
    const prefix = nameOf(turnId, "");
    for (const [name, entry] of this.storage?.list<Entry>({ prefix }) ?? []) this.entries.set(name.slice(prefix.length), entry);
    for (const key of this.entries.keys()) this.unclaimed.add(key);
  }

  /** Ends the turn: its answer is stored, so that it is not run again, and nothing of its calls is needed any more. */
  close(): void {
    this.entries.clear();
    this.unclaimed.clear();
    for (const [name] of this.storage?.list({ prefix: PREFIX }) ?? []) this.storage?.delete(name);
  }

  /** Makes a call once in its turn, however often it is asked for and the turn is run. */
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
    this.keep(key, { result: null });
    const result = await make();
    if (result.kind === "unknown") return { isKnown: false };
    // Nothing was sent: it may be tried again.
    if (result.kind === "refused") this.forget(key);
    else this.keep(key, { result });
    return { isKnown: true, result };
  }

  private keep(key: string, entry: Entry): void {
    this.entries.set(key, entry);
    this.storage?.put(nameOf(this.turnId, key), entry);
  }

  private forget(key: string): void {
    this.entries.delete(key);
    this.storage?.delete(nameOf(this.turnId, key));
  }
}

function nameOf(turnId: string, key: string): string {
  return `${PREFIX}${turnId}:${key}`;
}
