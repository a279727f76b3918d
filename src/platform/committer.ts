import { DurableObject } from "cloudflare:workers";
import type { StatementText } from "./db/placement.ts";

/*
 * Group commit. A database runs one batch at a time, and most of its cost is the batch, not the statements. When a batch of a session
 * takes long, the database is busy: the next ones go through one object (group-commit.ts), which runs all that arrive while a batch is under
 * way as one.
 */

/** The batch of one session: it takes effect as a whole, or not at all. */
interface Part {
  shard: number;
  statements: StatementText[];
}

interface WaitingPart extends Part {
  outcome?: PromiseSettledResult<D1Result[]>;
}

/** The platform allows an invocation 1,000 statements. A group that fails is run once more, part by part. */
const MAX_STATEMENTS = 400;

/** One object per database. It runs the batches of many sessions as one. */
export class Committer extends DurableObject<Env> {
  private waiting: WaitingPart[] = [];
  private running: Promise<void> | undefined;

  /**
   * Runs a part in one transaction with the other parts that wait.
   * @throws the error of this part; that of another part has no effect on it.
   */
  async commit(part: Part): Promise<D1Result[]> {
    const own: WaitingPart = { ...part };
    this.waiting.push(own);
    // The calls whose parts wait run the groups in turn, because the platform limits the statements of each.
    while (!own.outcome) await (this.running ??= this.runGroup(this.takeGroup()).finally(() => (this.running = undefined)));
    if (own.outcome.status === "rejected") throw own.outcome.reason;
    return own.outcome.value;
  }

  /** Takes the parts that wait, as many as fit into one batch. */
  private takeGroup(): WaitingPart[] {
    let statements = 0;
    const isOver = this.waiting.findIndex((part) => (statements += part.statements.length) > MAX_STATEMENTS);
    return this.waiting.splice(0, isOver === -1 ? this.waiting.length : Math.max(1, isOver));
  }

  private async runGroup(parts: readonly WaitingPart[]): Promise<void> {
    const shards = [...new Set(parts.map(({ shard }) => shard))];
    const all = parts.flatMap(({ statements }) => statements);
    // The start of an isolate does not load what this needs.
    const { runWhereServed } = await import("./db/placement.ts");
    try {
      const results = await runWhereServed(this.env, shards, all);
      let at = 0;
      for (const part of parts) part.outcome = { status: "fulfilled", value: results.slice(at, (at += part.statements.length)) };
    } catch {
      // Nothing of the group took effect, or its outcome is unknown: a session repeats its batch in that case too.
      for (const part of parts) [part.outcome] = await Promise.allSettled([runWhereServed(this.env, [part.shard], part.statements)]);
    }
  }
}
