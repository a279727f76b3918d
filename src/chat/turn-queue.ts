/** How soon after its object's death a turn is run again. A turn that is still running then is left alone. */
const RESUME_AFTER_MS = 15_000;
/** After so many failed runs a turn is dropped: what keeps failing would keep the conversation waiting for ever. */
const MAX_RUNS = 6;
const PREFIX = "turn:";

interface Queued<Request, Turn> {
  request: Request;
  /** What the run was given when it first began; a run that is repeated gets the same. */
  turn: Turn | null;
  runs: number;
}

/**
 * Runs a conversation's turns one after another, in order of arrival. A turn is in storage before it begins and until
 * it has ended, so that one whose object died is run again.
 */
export class TurnQueue<Request, Turn> {
  private tail: Promise<unknown> = Promise.resolve();
  private readonly running = new Set<string>();
  private last = 0;

  /** @param begin makes a turn of a request when its time has come. */
  constructor(
    private readonly storage: DurableObjectStorage,
    private readonly begin: (request: Request) => Turn,
  ) {
    for (const [key] of this.stored()) this.last = Number(key.slice(PREFIX.length));
  }

  /** Stores a request and runs it when those before it have ended. */
  async add<Result>(request: Request, work: (turn: Turn) => Promise<Result>): Promise<Result> {
    const key = PREFIX + String(++this.last).padStart(12, "0");
    const isNext = this.running.size === 0;
    const queued: Queued<Request, Turn> = { request, turn: isNext ? this.begin(request) : null, runs: 0 };
    this.storage.kv.put(key, queued);
    if (isNext) await this.storage.setAlarm(Date.now() + RESUME_AFTER_MS);
    return this.run(key, queued, work);
  }

  /** Runs the turns that a death of the object left behind. */
  async resume(work: (turn: Turn) => Promise<unknown>): Promise<void> {
    const stored = this.stored();
    if (stored.length > 0) await this.storage.setAlarm(Date.now() + RESUME_AFTER_MS);
    const left = stored.filter(([key]) => !this.running.has(key));
    await Promise.all(left.map(([key, queued]) => this.run(key, queued, work)));
  }

  private stored(): [string, Queued<Request, Turn>][] {
    return [...this.storage.kv.list<Queued<Request, Turn>>({ prefix: PREFIX })];
  }

  private run<Result>(key: string, queued: Queued<Request, Turn>, work: (turn: Turn) => Promise<Result>): Promise<Result> {
    this.running.add(key);
    const result = this.tail.then(async () => {
      try {
        const done = await work(this.turnOf(key, queued));
        this.storage.kv.delete(key);
        return done;
      } catch (error) {
        this.noteFailure(key, queued);
        throw error;
      } finally {
        this.running.delete(key);
        if (this.stored().length === 0) await this.storage.deleteAlarm();
      }
    });
    this.tail = result.catch(() => undefined);
    return result;
  }

  private turnOf(key: string, queued: Queued<Request, Turn>): Turn {
    if (queued.turn !== null) return queued.turn;
    queued.turn = this.begin(queued.request);
    this.storage.kv.put(key, queued);
    return queued.turn;
  }

  private noteFailure(key: string, queued: Queued<Request, Turn>): void {
    queued.runs++;
    if (queued.runs < MAX_RUNS) this.storage.kv.put(key, queued);
    else this.storage.kv.delete(key);
  }
}
