import { DAY_MS } from "../platform/time.ts";

/** The pause before the next attempt is as long as the turn has waited so far, within these bounds. */
const SHORTEST_PAUSE_MS = 15_000;
const LONGEST_PAUSE_MS = 60 * 60_000;
/** From this age on, an attempt hands the turn to a human. */
const HAND_OFF_AFTER_MS = DAY_MS;
/** So does one after this many in a row that the object did not survive. */
const MAX_CRASHES = 5;
const PREFIX = "turn:";

/** A turn in storage. */
interface QueuedTurn<Request, Turn> {
  request: Request;
  /** Null until the first attempt; each further attempt gets the same turn. */
  turn: Turn | null;
  /** How many attempts have started. */
  runs: number;
  /** How many attempts in a row the object did not survive, a running one included. */
  crashes?: number;
  /** When it was taken; undefined in the storage of earlier versions. */
  takenMs?: number;
}

/** The object's storage was erased while the turn waited in it. */
export class TurnErasedError extends Error {}

/** One attempt at a turn. */
export interface Attempt {
  /** From 1. */
  number: number;
  /** Whether to hand the turn to a human instead of answering it. */
  isHandOff: boolean;
  /** Whether the turn has waited since an attempt failed, or the object died. */
  isRescue?: boolean;
}

type Work<Turn, Result> = (turn: Turn, attempt: Attempt) => Promise<Result>;

/**
 * Runs a conversation's turns one at a time, in order of arrival. The life of a turn:
 *
 * 1. `add` stores it, sets the alarm, and runs it once the turns before it have ended.
 * 2. When it ends, it is deleted from storage. After the last one the alarm is set to the object's next chore.
 * 3. When an attempt fails, or the object dies during it (eviction, crash, deployment), the turn stays in storage as an
 *    orphan. The alarm or the conversation's next message runs it again, with the same identifiers.
 * 4. After a day of failed attempts it is handed to a human. It is never dropped: while that fails too, the attempts go on.
 */
export class TurnQueue<Request, Turn> {
  private tail: Promise<unknown> = Promise.resolve();
  /** The turns that wait or run in this instance of the object. */
  private readonly running = new Set<string>();
  private lastNumber = 0;
  /** Why storage may hold turns that do not run: the instance before this one died, or an attempt of this one failed. */
  private orphanedBy: "death" | "failure" | undefined;

  /**
   * @param toTurn makes a request a turn when its first attempt starts.
   * @param rescue makes an attempt at an orphan.
   * @param onStuck is called with a turn that not even a human could be handed.
   * @param nextChoreMs when the object is to be woken while no turn is unfinished; undefined for never.
   */
  constructor(
    private readonly storage: DurableObjectStorage,
    private readonly toTurn: (request: Request) => Turn,
    private readonly rescue: Work<Turn, unknown>,
    private readonly onStuck: (request: Request, attempts: number) => void,
    private readonly nextChoreMs: () => number | undefined = () => undefined,
  ) {
    const stored = this.stored();
    if (stored.length > 0) this.orphanedBy = "death";
    for (const [key] of stored) this.lastNumber = Number(key.slice(PREFIX.length));
  }

  /**
   * Stores a request and runs it after all earlier turns, orphans included.
   * @throws TurnErasedError when the storage is erased before the turn starts.
   */
  async add<Result>(request: Request, work: Work<Turn, Result>): Promise<Result> {
    void this.runOrphans();
    const key = PREFIX + String(++this.lastNumber).padStart(12, "0");
    const queued: QueuedTurn<Request, Turn> = { request, turn: null, runs: 0, takenMs: Date.now() };
    let started: Turn | undefined;
    if (this.running.size === 0) started = this.start(key, queued);
    else this.storage.kv.put(key, queued);
    const result = this.run(key, queued, work, started);
    await this.storage.setAlarm(Date.now() + SHORTEST_PAUSE_MS);
    return result;
  }

  /** What the alarm does: runs the orphans again. One that fails again waits for the next alarm. */
  async rescueOrphans(): Promise<void> {
    const taken = this.stored().map(([, { takenMs = Date.now() }]) => takenMs);
    if (taken.length > 0) await this.storage.setAlarm(Date.now() + pauseOf(Date.now() - Math.max(...taken)));
    await this.runOrphans();
  }

  /** Whether no turn is unfinished. */
  get isIdle(): boolean {
    return this.stored().length === 0;
  }

  /**
   * Whether a turn is unfinished. Since a client waits for it, this restarts the turns of a dead instance; a turn that
   * failed still waits for the alarm, or its clients would have it tried again all the time.
   */
  isUnfinished(matches: (request: Request, turn: Turn | null) => boolean): boolean {
    if (this.orphanedBy === "death") void this.runOrphans();
    return this.stored().some(([, { request, turn }]) => matches(request, turn));
  }

  /** Sets the alarm to the object's next chore, if no turn is unfinished. */
  async rest(): Promise<void> {
    // Without orphans, storage holds the running turns alone.
    if (this.running.size > 0 || (this.orphanedBy !== undefined && this.stored().length > 0)) return;
    const atMs = this.nextChoreMs();
    await (atMs === undefined ? this.storage.deleteAlarm() : this.storage.setAlarm(atMs));
  }

  private async runOrphans(): Promise<void> {
    if (this.orphanedBy === undefined) return;
    this.orphanedBy = undefined;
    const orphans = this.stored().filter(([key]) => !this.running.has(key));
    // Each attempt logs its own failure.
    await Promise.allSettled(
      orphans.map(([key, queued]) => this.run(key, queued, (turn, attempt) => this.rescue(turn, { ...attempt, isRescue: true }))),
    );
  }

  private stored(): [string, QueuedTurn<Request, Turn>][] {
    return [...this.storage.kv.list<QueuedTurn<Request, Turn>>({ prefix: PREFIX })];
  }

  /** Counts an attempt before it starts, so that one that crashes the object counts too. */
  private start(key: string, queued: QueuedTurn<Request, Turn>): Turn {
    queued.runs++;
    queued.crashes = (queued.crashes ?? 0) + 1;
    queued.takenMs ??= Date.now();
    queued.turn ??= this.toTurn(queued.request);
    this.storage.kv.put(key, queued);
    return queued.turn;
  }

  /** A turn that waited while the storage was erased must not run: it could write back what was erased. */
  private startStored(key: string, queued: QueuedTurn<Request, Turn>): Turn {
    if (this.storage.kv.get(key) === undefined) throw new TurnErasedError();
    return this.start(key, queued);
  }

  /** @param started the turn, where its attempt is already counted. */
  private run<Result>(key: string, queued: QueuedTurn<Request, Turn>, work: Work<Turn, Result>, started?: Turn): Promise<Result> {
    this.running.add(key);
    const result = this.tail.then(async () => {
      try {
        const turn = started ?? this.startStored(key, queued);
        return await this.attempt(key, queued, (attempt) => work(turn, attempt));
      } finally {
        this.running.delete(key);
        await this.rest();
      }
    });
    this.tail = result.catch(() => undefined);
    return result;
  }

  private async attempt<Result>(
    key: string,
    queued: QueuedTurn<Request, Turn>,
    work: (attempt: Attempt) => Promise<Result>,
  ): Promise<Result> {
    const attempt = { number: queued.runs, isHandOff: isHandOff(queued) };
    try {
      const done = await work(attempt);
      this.storage.kv.delete(key);
      return done;
    } catch (error) {
      if (attempt.isHandOff) this.onStuck(queued.request, attempt.number);
      this.orphanedBy = "failure";
      // The storage may have been erased meanwhile.
      if (this.storage.kv.get(key) !== undefined) this.storage.kv.put(key, { ...queued, crashes: 0 });
      throw error;
    }
  }
}

function isHandOff<Request, Turn>({ takenMs = Date.now(), crashes = 0 }: QueuedTurn<Request, Turn>): boolean {
  return Date.now() - takenMs >= HAND_OFF_AFTER_MS || crashes > MAX_CRASHES;
}

function pauseOf(waitedMs: number): number {
  return Math.min(Math.max(waitedMs, SHORTEST_PAUSE_MS), LONGEST_PAUSE_MS);
}
