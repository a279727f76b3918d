import { idFields, logDeadLetter } from "../platform/queue.ts";
import { DAY_MS, HOUR_MS } from "../platform/time.ts";
import type { Question } from "./question.ts";

/** The pause before the next attempt is as long as the question has waited so far, within these bounds. */
const SHORTEST_PAUSE_MS = 15_000;
const LONGEST_PAUSE_MS = HOUR_MS;
/** A question of this age is handed to a human instead of being answered. */
const HAND_OFF_AFTER_MS = DAY_MS;
/** A question is also handed to a human after this many attempts in a row that crashed the object. */
const MAX_CRASHES = 5;
const PREFIX = "turn:";

interface QueuedQuestion {
  question: Question;
  /** How many attempts have started. */
  attempts: number;
  /** How many attempts in a row crashed the object. The running attempt counts until it ends. */
  crashes: number;
}

/** Thrown for a question that was erased together with the object's storage. */
export class TurnErasedError extends Error {}

/** One attempt at answering a question. */
export interface Attempt {
  /** The first attempt has the number 1. */
  number: number;
  /** Whether to hand the question to a human instead of answering it. */
  isHandOff: boolean;
  /** Whether an earlier attempt failed or was interrupted. */
  isRescue: boolean;
}

/**
 * Runs a conversation's turns one at a time, in order of arrival. The life of a turn:
 *
 * 1. `add` stores the question, sets the alarm, and runs the turn once the turns before it have ended.
 * 2. When it ends, its question is deleted from storage. After the last one the alarm is set to the object's next task.
 * 3. When an attempt fails, or the object is interrupted (eviction, crash, deployment), the question stays in storage as an
 *    orphan. The alarm or the conversation's next message runs its turn again.
 * 4. After a day of failed attempts, or five crashes in a row, it is handed to a human. If that fails too, the attempts continue; no question is dropped.
 */
export class TurnQueue {
  private tail: Promise<unknown> = Promise.resolve();
  /** The keys of the questions that wait or run in this instance of the object. */
  private readonly running = new Set<string>();
  private lastNumber = 0;
  /** Why storage may hold orphans: the previous instance of the object was interrupted, or an attempt of this one failed. */
  private orphanedBy: "interruption" | "failure" | undefined;

  /**
   * @param rescue makes an attempt at an orphan.
   * @param nextTaskMs returns when the object has its next task, if all turns are finished; undefined if it has none.
   */
  constructor(
    private readonly storage: DurableObjectStorage,
    private readonly rescue: (question: Question, attempt: Attempt) => Promise<unknown>,
    private readonly nextTaskMs: () => number | undefined,
  ) {
    const stored = this.stored();
    if (stored.length > 0) this.orphanedBy = "interruption";
    for (const [key] of stored) this.lastNumber = Number(key.slice(PREFIX.length));
  }

  /**
   * Stores a question and runs its turn after all earlier ones, orphans included.
   * @throws TurnErasedError when the storage is erased before the turn starts.
   */
  async add<Result>(question: Question, work: (attempt: Attempt) => Promise<Result>): Promise<Result> {
    void this.runOrphans();
    const key = PREFIX + String(++this.lastNumber).padStart(12, "0");
    const queued = { question, attempts: 0, crashes: 0 };
    this.storage.kv.put(key, queued);
    const result = this.run(key, queued, work);
    await this.storage.setAlarm(Date.now() + SHORTEST_PAUSE_MS);
    return result;
  }

  /** Runs the orphans when the alarm fires. One that fails again waits for the next alarm. */
  async rescueOrphans(): Promise<void> {
    const askedMs = this.stored().map(([, { question }]) => question.nowMs);
    if (askedMs.length > 0) await this.storage.setAlarm(Date.now() + pauseOf(Date.now() - Math.max(...askedMs)));
    await this.runOrphans();
  }

  /** Whether all turns are finished. */
  get isIdle(): boolean {
    return this.stored().length === 0;
  }

  /**
   * Whether the turn that writes this answer is unfinished. Since a client waits for it, this runs the orphans of an
   * interrupted instance. The orphans of a failure wait for the alarm, because otherwise each client would cause another attempt.
   */
  isUnfinished(answerId: string): boolean {
    if (this.orphanedBy === "interruption") void this.runOrphans();
    return this.stored().some(([, { question }]) => question.answerId === answerId);
  }

  /** Sets the alarm to the object's next task, if all turns are finished. Without a next task and content, the storage is deleted. */
  async rest(): Promise<void> {
    // Without orphans, only running turns are in storage.
    if (this.running.size > 0 || (this.orphanedBy !== undefined && this.stored().length > 0)) return;
    const atMs = this.nextTaskMs();
    if (atMs !== undefined) return this.storage.setAlarm(atMs);
    const isEmpty = [...this.storage.kv.list({ limit: 1 })].length === 0;
    // Even empty tables take space, and anybody can ask questions that are refused. Both calls take effect before the next question is added.
    await Promise.all([this.storage.deleteAlarm(), isEmpty && this.storage.deleteAll()]);
  }

  private async runOrphans(): Promise<void> {
    if (this.orphanedBy === undefined) return;
    this.orphanedBy = undefined;
    const orphans = this.stored().filter(([key]) => !this.running.has(key));
    // Each attempt logs its own failure.
    await Promise.allSettled(
      orphans.map(([key, queued]) => this.run(key, queued, (attempt) => this.rescue(queued.question, { ...attempt, isRescue: true }))),
    );
  }

  private stored(): [string, QueuedQuestion][] {
    return [...this.storage.kv.list<QueuedQuestion>({ prefix: PREFIX })];
  }

  private run<Result>(key: string, queued: QueuedQuestion, work: (attempt: Attempt) => Promise<Result>): Promise<Result> {
    this.running.add(key);
    const result = this.tail.then(async () => {
      try {
        return await this.attempt(key, queued, work);
      } finally {
        this.running.delete(key);
        await this.rest();
      }
    });
    this.tail = result.catch(() => undefined);
    return result;
  }

  private async attempt<Result>(key: string, queued: QueuedQuestion, work: (attempt: Attempt) => Promise<Result>): Promise<Result> {
    const attempt = this.startAttempt(key, queued);
    try {
      const done = await work(attempt);
      this.storage.kv.delete(key);
      return done;
    } catch (error) {
      if (attempt.isHandOff) logStuckTurn(queued.question, attempt.number);
      this.orphanedBy = "failure";
      if (this.isStored(key)) this.storage.kv.put(key, { ...queued, crashes: 0 });
      throw error;
    }
  }

  /** Counts an attempt before it starts, so that an attempt that crashes the object is counted too. */
  private startAttempt(key: string, queued: QueuedQuestion): Attempt {
    // Storing a question after its conversation was erased would bring the conversation back.
    if (!this.isStored(key)) throw new TurnErasedError();
    queued.attempts++;
    queued.crashes++;
    this.storage.kv.put(key, queued);
    const isHandOff = Date.now() - queued.question.nowMs >= HAND_OFF_AFTER_MS || queued.crashes > MAX_CRASHES;
    return { number: queued.attempts, isHandOff, isRescue: false };
  }

  /** Whether the storage was not erased since the question was added. */
  private isStored(key: string): boolean {
    return this.storage.kv.get(key) !== undefined;
  }
}

/** Reports a question for which the hand-off to a human failed as well. */
function logStuckTurn(question: Question, attempts: number): void {
  const action =
    "A visitor's message could neither be answered nor be handed to a human. It is tried again within the hour. The failed turns of its conversation show the reason.";
  logDeadLetter({ from: "turn", ids: idFields(question), attempts, action });
}

function pauseOf(waitedMs: number): number {
  return Math.min(Math.max(waitedMs, SHORTEST_PAUSE_MS), LONGEST_PAUSE_MS);
}
