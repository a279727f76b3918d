import { UnreadableSecretError } from "../platform/crypto/secrets.ts";
import type { CallResult } from "./tool-call.ts";

const PREFIX = "call:";

/** A call that may change something. Its result is null until there is a response. */
interface Entry {
  result: CallResult | null;
}

export type JournalStorage = Pick<SyncKvStorage, "list" | "put" | "delete">;

/** The result of a call, made in this or an earlier attempt; unknown if the call may have taken effect, and must not be repeated. */
type Journaled = { isKnown: true; result: CallResult } | { isKnown: false };

/**
 * The calls of the running turn that may change something. A call is stored before its request is sent, so that another attempt
 * at the turn does not repeat it: the attempt gets the stored result, or a human takes over if there is none. A human also takes
 * over when an attempt makes a new call before it has asked for all calls of the previous attempt, since the model may have
 * worded one of those differently.
 */
export class CallJournal {
  private turnId = "";
  private isErased = () => false;
  private readonly entries = new Map<string, Entry>();
  /** The calls of earlier attempts that this attempt has not asked for yet. */
  private readonly unclaimed = new Set<string>();
  private readonly running = new Map<string, Promise<Journaled>>();

  constructor(private readonly storage?: JournalStorage) {}

  /**
   * Starts an attempt at a turn, and reads the calls of earlier attempts at it.
   * @param replayed the keys of calls whose results the attempt has already.
   * @param isErased whether the storage was erased since the attempt began. From then on, its calls are not stored.
   */
  open(turnId: string, replayed: readonly string[] = [], isErased = () => false): void {
    this.running.clear();
    this.unclaimed.clear();
    if (turnId !== this.turnId) this.entries.clear();
    this.turnId = turnId;
    this.isErased = isErased;
    const prefix = nameOf(turnId, "");
    for (const [name, entry] of this.storage?.list<Entry>({ prefix }) ?? []) this.entries.set(name.slice(prefix.length), entry);
    for (const key of this.entries.keys()) if (!replayed.includes(key)) this.unclaimed.add(key);
  }

  /** The keys of the calls of the running turn. */
  get keys(): string[] {
    return [...this.entries.keys()];
  }

  /** Ends a turn that will not be attempted again, and deletes its calls. The calls of other turns stay. */
  close(turnId: string): void {
    if (turnId !== this.turnId) this.open(turnId);
    for (const key of this.entries.keys()) this.remove(key);
    this.unclaimed.clear();
  }

  /** Makes a call, unless this turn has made it before. @param key identifies the call in its turn. */
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
    const result = await make().catch((error: unknown) => {
      // Nothing has been sent, so the call may be repeated.
      if (error instanceof UnreadableSecretError) this.remove(key);
      throw error;
    });
    if (result.kind === "unknown") return { isKnown: false };
    // Nothing has been sent, so the call may be repeated.
    if (result.kind === "refused") this.remove(key);
    else this.store(key, { result });
    return { isKnown: true, result };
  }

  private store(key: string, entry: Entry): void {
    this.entries.set(key, entry);
    if (!this.isErased()) this.storage?.put(nameOf(this.turnId, key), entry);
  }

  private remove(key: string): void {
    this.entries.delete(key);
    this.storage?.delete(nameOf(this.turnId, key));
  }
}

function nameOf(turnId: string, key: string): string {
  return `${PREFIX}${turnId}:${key}`;
}
