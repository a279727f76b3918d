/** How long after a turn is stored the alarm looks for orphans. A turn that still runs then is left alone. */
const RESCUE_AFTER_MS = 15_000;
/** A turn whose attempts all failed is dropped, since it would block its conversation for ever. */
const MAX_ATTEMPTS = 6;
const PREFIX = "turn:";

/** A turn in storage. */
interface QueuedTurn<Request, Turn> {
  request: Request;
  /** Null until the first attempt; each further attempt gets the same turn. */
  turn: Turn | null;
  /** How many attempts have started. */
  runs: number;
}

/** The object's storage was erased while the turn waited in it. */
export class TurnErasedError extends Error {}

/** One attempt at a turn. */
export interface Attempt {
  /** From 1. */
  number: number;
  /** Whether the turn is dropped if this attempt fails. */
  isLast: boolean;
}

type Work<Turn, Result> = (turn: Turn, attempt: Attempt) => Promise<Result>;

/**
 * Runs a conversation's turns one at a time, in order of arrival. The life of a turn:
 *
 * 1. `add` stores it, sets the alarm, and runs it once the turns before it have ended.
 * 2. When it ends, it is deleted from storage, and with the last one the alarm.
 * 3. When an attempt fails, or the object dies during it (eviction, crash, deployment), the turn stays in storage as an
 *    orphan. The alarm or the conversation's next message runs it again, with the same identifiers.
 * 4. A turn whose last attempt fails is dropped, and its message goes to the log as a dead letter.
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
   * @param onDropped is called with a turn that is given up.
   */
  constructor(
    private readonly storage: DurableObjectStorage,
    private readonly toTurn: (request: Request) => Turn,
    private readonly rescue: Work<Turn, unknown>,
    private readonly onDropped: (request: Request, attempts: number) => void,
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
    const queued: QueuedTurn<Request, Turn> = { request, turn: null, runs: 0 };
    if (this.running.size > 0) {
      this.storage.kv.put(key, queued);
      return this.run(key, queued, work);
    }
    const turn = this.start(key, queued);
    const result = this.run(key, queued, work, turn);
    await this.storage.setAlarm(Date.now() + RESCUE_AFTER_MS);
    return result;
  }

  /** What the alarm does: runs the orphans again. One that fails again waits for the next alarm. */
  async rescueOrphans(): Promise<void> {
    if (this.stored().length > 0) await this.storage.setAlarm(Date.now() + RESCUE_AFTER_MS);
    await this.runOrphans();
  }

  /**
   * Whether a turn is unfinished. Since a client waits for it, this restarts the turns of a dead instance; a turn that
   * failed still waits for the alarm, or its attempts would be used up within seconds.
   */
  isUnfinished(matches: (request: Request, turn: Turn | null) => boolean): boolean {
    if (this.orphanedBy === "death") void this.runOrphans();
    return this.stored().some(([key, { request, turn, runs }]) => (this.running.has(key) || runs < MAX_ATTEMPTS) && matches(request, turn));
  }

  private async runOrphans(): Promise<void> {
    if (this.orphanedBy === undefined) return;
    this.orphanedBy = undefined;
    const attempts: Promise<unknown>[] = [];
    for (const [key, queued] of this.stored()) {
      if (this.running.has(key)) continue;
      if (queued.runs < MAX_ATTEMPTS) attempts.push(this.run(key, queued, this.rescue));
      else {
        this.storage.kv.delete(key);
        this.onDropped(queued.request, queued.runs);
      }
    }
    // Each attempt logs its own failure.
    await Promise.allSettled(attempts);
  }

  private stored(): [string, QueuedTurn<Request, Turn>][] {
    return [...this.storage.kv.list<QueuedTurn<Request, Turn>>({ prefix: PREFIX })];
  }

  /** Counts an attempt before it starts, so that a turn that crashes the object is dropped in the end too. */
  private start(key: string, queued: QueuedTurn<Request, Turn>): Turn {
    queued.runs++;
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
        const done = await work(turn, { number: queued.runs, isLast: queued.runs >= MAX_ATTEMPTS });
        this.storage.kv.delete(key);
        return done;
      } catch (error) {
        this.orphanedBy = "failure";
        throw error;
      } finally {
        this.running.delete(key);
        if (this.running.size === 0 && this.stored().length === 0) await this.storage.deleteAlarm();
      }
    });
    this.tail = result.catch(() => undefined);
    return result;
  }
}
