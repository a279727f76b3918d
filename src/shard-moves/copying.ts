import { logProblem } from "../platform/telemetry/log.ts";
import {
  type RowChange,
  changeState,
  changeTriggers,
  type CopyRow,
  countChangeTriggers,
  countRows,
  deleteChanges,
  HAS_NO_CHANGES,
  keyOf,
  listChangedKeys,
  listChanges,
  listTriggers,
  MOVED_TABLES,
  type MovedTable,
  readPage,
  readRows,
  requireBatches,
  saveProgress,
  type StoredValues,
  type Trigger,
  writeRows,
} from "./store.ts";

/** Why a move cannot be started or continued, and what to do about it. */
export class MoveError extends Error {}

/** A move that is under way. */
export interface Move {
  copy: CopyRow;
  source: D1Database;
  target: D1Database;
  targetNumber: number;
  shards: number[];
}

/** How far the comparison of both copies is. */
export interface Progress {
  /** Each pass compares all tables twice: forwards for rows that the new database lacks or has with other values, and backwards for rows that only it has. */
  pass: number;
  /** The position in MOVED_TABLES. */
  table: number;
  isBackward: boolean;
  /** The row number after which the next page starts. */
  after: number;
  /** The differences that this pass found in rows that nobody has changed meanwhile. */
  differences: number;
  /** Whether a whole pass found no differences. */
  isEqual: boolean;
  rowsCompared: number;
  rowsWritten: number;
}

export const START: Progress = {
  pass: 1,
  table: 0,
  isBackward: false,
  after: 0,
  differences: 0,
  isEqual: false,
  rowsCompared: 0,
  rowsWritten: 0,
};

/** The first pass copies, the second one usually finds nothing. More passes mean a fault. */
const MAX_PASSES = 5;
/** The rows of one page. A row is 64 KB at most but for a few, so that two pages fit into the memory of an isolate. */
const PAGE_SIZE = 250;
export const CHANGES_PER_BATCH = 200;
/** How long the writes of a shard may be held. If the switch takes longer, writes are admitted and the switch is tried again. */
const HOLD_MS = 15_000;
/** How many batches of changes are copied while writes are held. */
const MAX_HELD_BATCHES = 20;

/** Copies the rows of shards that have not left their database yet. */
export class Copying {
  private readonly source: D1Database;
  private readonly target: D1Database;
  private readonly sourceNumber: number;
  private batches: number;
  private progress: Progress;
  private readonly triggers = new Map<MovedTable, Promise<Trigger[]>>();

  constructor(
    { source, target, copy }: Move,
    /** The shards that have not left yet. */
    readonly remaining: number[],
  ) {
    this.source = source;
    this.target = target;
    this.sourceNumber = copy.source;
    this.batches = copy.batches;
    this.progress = JSON.parse(copy.progress) as Progress;
  }

  /** Whether a whole comparison found no differences. */
  get isEqual(): boolean {
    return this.progress.isEqual;
  }

  /** Starts again if triggers are missing, since changes may have gone unnoticed: a migration has replaced a table. */
  async checkTriggers(): Promise<void> {
    const [found] = await rowsOf<{ count: number }>(countChangeTriggers(this.source));
    if (found!.count === changeTriggers().length) return;
    await this.source.batch(recreateTriggers(this.source));
    this.progress = START;
  }

  /** Stores the progress. */
  async save(): Promise<void> {
    await this.write([], []);
  }

  /**
   * Copies the first of the changes that were noted.
   * @param isVerified whether the written rows are read again and compared.
   * @returns how many there were.
   */
  async copyChanges(shards: readonly number[], isVerified = false): Promise<number> {
    const changes = (await listChanges(this.source, shards, CHANGES_PER_BATCH).all<RowChange>()).results;
    if (changes.length === 0) return 0;
    const groups = MOVED_TABLES.flatMap((table) => {
      const keys = changes.flatMap((change) => (change.table === table.name ? [change.key] : []));
      return keys.length > 0 ? [{ table, keys }] : [];
    });
    const found = await this.source.batch<object>(groups.map(({ table, keys }) => readRows(this.source, table, keys)));
    const copies = groups.map(({ table, keys }, at) => {
      const rows = valuesOf(found[at]!.results);
      const present = new Set(rows.map((row) => keyOf(table, row)));
      return { table, rows, deletedKeys: keys.filter((key) => !present.has(key)) };
    });
    await this.write(copies, shards);
    if (isVerified) {
      const written = await this.target.batch<object>(groups.map(({ table, keys }) => readRows(this.target, table, keys)));
      for (const [at, { table, rows }] of copies.entries()) {
        const differing = differingRows(table, rows, valuesOf(written[at]!.results));
        if (differing.length > 0 || rows.length !== written[at]!.results.length)
          throw new MoveError(`The copy of ${table.name} differs from what was written.`);
      }
    }
    await deleteChanges(this.source, changes).run();
    return changes.length;
  }

  /** Compares the next page of both copies, and corrects the new one. */
  async comparePage(): Promise<void> {
    const table = MOVED_TABLES[this.progress.table]!;
    const { isBackward, after } = this.progress;
    const [from, to] = isBackward ? [this.target, this.source] : [this.source, this.target];
    const [page, end] = await from.batch<object>([...readPage(from, table, this.remaining, after, PAGE_SIZE)]);
    const rows = valuesOf(page!.results);
    const last = (end!.results[0] as { last: number | null }).last;
    const keys = rows.map((row) => keyOf(table, row));
    const others = valuesOf(await rowsOf<object>(readRows(to, table, keys)));
    const differing = isBackward ? missingRows(table, rows, others) : differingRows(table, rows, others);
    const unexplained = await this.withoutChanged(table, differing);
    this.advanceTo(last, rows.length, unexplained.length);
    if (unexplained.length === 0) return;
    await this.write(
      [
        isBackward
          ? { table, rows: [], deletedKeys: unexplained.map((row) => keyOf(table, row)) }
          : { table, rows: unexplained, deletedKeys: [] },
      ],
      this.remaining,
    );
  }

  /** Leaves out rows that have changed and will be copied for that. */
  private async withoutChanged(table: MovedTable, rows: StoredValues[]): Promise<StoredValues[]> {
    if (rows.length === 0) return rows;
    const keys = rows.map((row) => keyOf(table, row));
    const found = await rowsOf<{ key: string }>(listChangedKeys(this.source, table, this.remaining, keys));
    const changed = new Set(found.map(({ key }) => key));
    return rows.filter((row) => !changed.has(keyOf(table, row)));
  }

  private advanceTo(last: number | null, compared: number, differences: number): void {
    const next = { ...this.progress };
    next.rowsCompared += compared;
    next.differences += differences;
    next.rowsWritten += differences;
    next.after = last ?? 0;
    if (last === null && !next.isBackward) next.isBackward = true;
    else if (last === null) {
      next.isBackward = false;
      next.table++;
    }
    if (next.table === MOVED_TABLES.length) {
      next.isEqual = next.differences === 0;
      if (!next.isEqual && next.pass >= MAX_PASSES)
        throw new MoveError(`After ${MAX_PASSES} comparisons, both copies still differ in ${next.differences} rows. Cancel the move.`);
      Object.assign(next, { pass: next.pass + 1, table: 0, differences: 0, rowsCompared: 0 });
    }
    this.progress = next;
  }

  /**
   * Switches the next shard: holds its writes, copies its last changes, compares the numbers of rows, and lets it leave.
   * @returns whether it left. If not, writes are admitted again, and the next step tries once more.
   */
  async switchNext(now: () => number): Promise<boolean> {
    const { source, target } = this;
    const shard = this.remaining[0]!;
    try {
      await changeState(source, [shard], ["copying", "held"], { state: "held", held_until: now() + HOLD_MS }).run();
      for (let batches = 0; (await this.copyChanges([shard], true)) > 0; batches++) {
        if (batches === MAX_HELD_BATCHES) return false;
      }
      const here = await source.batch<{ count: number }>(countRows(source, shard));
      const there = await target.batch<{ count: number }>(countRows(target, shard));
      const unequal = MOVED_TABLES.filter((_, at) => here[at]!.results[0]!.count !== there[at]!.results[0]!.count);
      if (unequal.length > 0) {
        logProblem("shard_copy_differs", { shard, tables: unequal.map(({ name }) => name) });
        this.progress = { ...START, pass: this.progress.pass };
        return false;
      }
      const { results } = await changeState(
        source,
        [shard],
        ["held"],
        { state: "left", left_at: now(), erased_at: null },
        HAS_NO_CHANGES,
      ).run();
      if (results.length === 0) return false;
    } finally {
      await changeState(source, [shard], ["held"], { state: "copying", held_until: null }).run();
    }
    this.remaining.shift();
    await changeState(target, [shard], ["arriving"], { state: "here" }).run();
    return true;
  }

  /** Writes a part of the copy with the progress, in one batch without the triggers of its tables. */
  private async write(
    copies: readonly { table: MovedTable; rows: readonly StoredValues[]; deletedKeys: readonly string[] }[],
    shards: readonly number[],
  ): Promise<void> {
    const { target } = this;
    const triggers = (await Promise.all(copies.map(({ table }) => this.triggersOf(table)))).flat();
    await target.batch([
      requireBatches(target, this.sourceNumber, this.batches, shards),
      ...triggers.map(({ name }) => target.prepare(`DROP TRIGGER ${name}`)),
      ...copies.flatMap(({ table, rows, deletedKeys }) => writeRows(target, table, rows, deletedKeys)),
      ...triggers.map(({ sql }) => target.prepare(sql)),
      saveProgress(target, this.sourceNumber, JSON.stringify(this.progress)),
    ]);
    this.batches++;
  }

  private triggersOf(table: MovedTable): Promise<Trigger[]> {
    const known = this.triggers.get(table);
    if (known) return known;
    const triggers = rowsOf<Trigger>(listTriggers(this.target, table));
    this.triggers.set(table, triggers);
    return triggers;
  }
}

/** The values of rows in the order of their columns. */
function valuesOf(rows: readonly object[]): StoredValues[] {
  return rows.map((row) => Object.values(row) as StoredValues);
}

/** The rows that another copy lacks, or has with other values. */
function differingRows(table: MovedTable, rows: readonly StoredValues[], others: readonly StoredValues[]): StoredValues[] {
  const byKey = new Map(others.map((row) => [keyOf(table, row), JSON.stringify(row)]));
  return rows.filter((row) => byKey.get(keyOf(table, row)) !== JSON.stringify(row));
}

/** The rows that another copy lacks. */
function missingRows(table: MovedTable, rows: readonly StoredValues[], others: readonly StoredValues[]): StoredValues[] {
  const keys = new Set(others.map((row) => keyOf(table, row)));
  return rows.filter((row) => !keys.has(keyOf(table, row)));
}

/** The rows that a statement returns. */
export async function rowsOf<Row>(statement: D1PreparedStatement): Promise<Row[]> {
  return (await statement.all<Row>()).results;
}

/** The statements that create the triggers of changes anew. */
export function recreateTriggers(source: D1Database): D1PreparedStatement[] {
  return changeTriggers().flatMap(({ name, sql }) => [source.prepare(`DROP TRIGGER IF EXISTS ${name}`), source.prepare(sql)]);
}
