/** How soon after its object's death a turn is run again. A turn that is still running then is left alone. */
const RESUME_AFTER_MS = 15_000;
/** After so many runs that did not end a turn is dropped: it would keep the conversation waiting for ever. */
const MAX_RUNS = 6;
const PREFIX = "turn:";

interface Queued<Request, Turn> {
  request: Request;
  /** What the run was given when it first began; a run that is repeated gets the same. */
  turn: Turn | null;
  /** How often it was begun. */
  runs: number;
}

/** The queue's storage was emptied while the turn was waiting in it. */
export class ForgottenError extends Error {}

/** One run of a turn. */
export interface Run {
  /** From 1. */
  number: number;
  /** Whether the turn is not run again should this run fail. */
  isLast: boolean;
}

type Work<Turn, Result> = (turn: Turn, run: Run) => Promise<Result>;

/**
 * Runs a conversation's turns one at a time, in order of arrival. A turn stays in storage from its arrival until its
 * end, so that a turn whose object died is run again.
 */
export class TurnQueue<Request, Turn> {
  private tail: Promise<unknown> = Promise.resolve();
  /** The turns of this object's life that have not ended, waiting ones included. */
  private readonly running = new Set<string>();
  private last = 0;
  /** Whether turns may be in storage that nobody runs: a dead object's, or ones whose run failed in this one's life. */
  private left: "none" | "by_a_death" | "by_a_failure";

  /**
   * @param begin turns a request into a turn when its run begins.
   * @param workLeft runs a turn that an earlier run left unfinished.
   * @param drop is told of a turn that is given up after its last run.
   */
  constructor(
    private readonly storage: DurableObjectStorage,
    private readonly begin: (request: Request) => Turn,
    private readonly workLeft: Work<Turn, unknown>,
    private readonly drop: (request: Request, runs: number) => void,
  ) {
    const stored = this.stored();
    this.left = stored.length > 0 ? "by_a_death" : "none";
    for (const [key] of stored) this.last = Number(key.slice(PREFIX.length));
  }

  /**
   * Stores a request and runs it after all earlier turns, unfinished ones of an earlier run included.
   * @throws ForgottenError when the storage is emptied before the turn's run begins.
   */
  async add<Result>(request: Request, work: Work<Turn, Result>): Promise<Result> {
    void this.runLeft();
    const key = PREFIX + String(++this.last).padStart(12, "0");
    const queued: Queued<Request, Turn> = { request, turn: null, runs: 0 };
    if (this.running.size > 0) {
      this.storage.kv.put(key, queued);
      return this.run(key, queued, work);
    }
    const turn = this.start(key, queued);
    const result = this.run(key, queued, work, turn);
    await this.storage.setAlarm(Date.now() + RESUME_AFTER_MS);
    return result;
  }

  /** Runs the unfinished turns again; a turn that fails again waits for the next alarm. */
  async resume(): Promise<void> {
    if (this.stored().length > 0) await this.storage.setAlarm(Date.now() + RESUME_AFTER_MS);
    await this.runLeft();
  }

  /**
   * Whether a turn is still unfinished. The question restarts the turns of a dead object at once, since a client waits
   * for them; a turn that failed keeps waiting for the alarm, or its runs would be used up within seconds.
   */
  awaits(isIt: (request: Request, turn: Turn | null) => boolean): boolean {
    if (this.left === "by_a_death") void this.runLeft();
    const isAlive = (key: string, { runs }: Queued<Request, Turn>) => this.running.has(key) || runs < MAX_RUNS;
    return this.stored().some(([key, queued]) => isAlive(key, queued) && isIt(queued.request, queued.turn));
  }

  private async runLeft(): Promise<void> {
    if (this.left === "none") return;
    this.left = "none";
    const left = this.stored().filter(([key]) => !this.running.has(key));
    const [worn, fresh] = [left.filter(([, { runs }]) => runs >= MAX_RUNS), left.filter(([, { runs }]) => runs < MAX_RUNS)];
    for (const [key, { request, runs }] of worn) {
      this.storage.kv.delete(key);
      this.drop(request, runs);
    }
    // A run that fails has told of it itself, and the turn waits for the next one.
    await Promise.allSettled(fresh.map(([key, queued]) => this.run(key, queued, this.workLeft)));
  }

  private stored(): [string, Queued<Request, Turn>][] {
    return [...this.storage.kv.list<Queued<Request, Turn>>({ prefix: PREFIX })];
  }

  /** Counts a run before it begins: a turn that ends its object must not do so for ever. */
  private start(key: string, queued: Queued<Request, Turn>): Turn {
    queued.runs++;
    queued.turn ??= this.begin(queued.request);
    this.storage.kv.put(key, queued);
    return queued.turn;
  }

  /** What waited while the storage was emptied is not to be done any more: it could bring back what was erased. */
  private startStored(key: string, queued: Queued<Request, Turn>): Turn {
    if (this.storage.kv.get(key) === undefined) throw new ForgottenError();
    return this.start(key, queued);
  }

  /** @param started the turn, where it was stored as begun already. */
  private run<Result>(key: string, queued: Queued<Request, Turn>, work: Work<Turn, Result>, started?: Turn): Promise<Result> {
    this.running.add(key);
    const result = this.tail.then(async () => {
      try {
        const turn = started ?? this.startStored(key, queued);
        const done = await work(turn, { number: queued.runs, isLast: queued.runs >= MAX_RUNS });
        this.storage.kv.delete(key);
        return done;
      } catch (error) {
        this.left = "by_a_failure";
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
