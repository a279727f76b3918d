import { eraseSomeRows } from "../operator/erasure-store.ts";
import { databaseRegions } from "../platform/config.ts";
import { bindingOf, boundDatabases, requireBinding } from "../platform/db/bindings.ts";
import { type Database, wholeDatabase } from "../platform/db/client.ts";
import { shardOf } from "../platform/db/ids.ts";
import { shardCode } from "../platform/db/placement.ts";
import { bindingName, databaseOf, readShards } from "../platform/db/shard-map.ts";
import { log } from "../platform/telemetry/log.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import { CHANGES_PER_BATCH, Copying, type Move, MoveError, type Progress, recreateTriggers, rowsOf, START } from "./copying.ts";
import {
  changeState,
  changeTriggers,
  type CopyRow,
  countChanges,
  createCopy,
  deleteChangesOf,
  deleteCopy,
  eraseOtherRows,
  eraseWorkspaceAndImport,
  findCopy,
  findWorkspaceOfShards,
  isInState,
  isStale,
  listMoves,
  markArriving,
  markCopying,
  saveProgress,
  markErased,
  type MoveRow,
  OWNED_TABLES,
} from "./store.ts";

/*
 * How logical shards move to another database while both serve, from top to bottom:
 *
 * 1. `startMove` marks the shards as arriving in the new database, and creates triggers in the former one that note each further change of
 *    their rows.
 * 2. `continueMove` compares both copies table by table, and writes what differs into the new one, until a whole comparison finds no
 *    difference. The noted changes are copied along the way.
 * 3. Then it switches one shard after the other. The triggers refuse writes to the shard for the seconds in which the last changes are copied
 *    and the numbers of rows are compared. One statement in the former database, which marks the shard as left, is the switch: from
 *    then on every batch on the shard fails there, and is run in the new database (platform/db/placement.ts).
 * 4. The former rows are erased by the sweep after a day. Until then, moving the shards back is quick, since only what changed differs.
 *
 * Every step may be interrupted and repeated: the progress is stored with what was copied, and a batch of an interrupted step that arrives late is
 * refused.
 */

/** After this time a step ends: a caller sees the progress, and an interruption costs no more than this. */
const STEP_MS = 1_000;

/**
 * Starts to move logical shards into a database, or continues a move that was started with the same shards.
 * @throws MoveError if they cannot be moved there.
 */
export async function startMove(env: Env, range: string, targetNumber: number, nowMs: number): Promise<void> {
  const target = openDatabase(env, targetNumber);
  const shards = readShards(range)!;
  const under = await findMove(env, targetNumber);
  if (under && under.copy.shards !== range)
    throw new MoveError(`The shards ${under.copy.shards} are being moved to ${bindingName(targetNumber)}. Continue or cancel that first.`);
  const sourceNumber = under?.copy.source ?? (await locateAll(env, shards, targetNumber));
  const regions = databaseRegions(env);
  if (regions.get(sourceNumber) !== regions.get(targetNumber)) {
    const [from, to] = [sourceNumber, targetNumber].map(bindingName);
    throw new MoveError(
      `${from} and ${to} are in different regions, and the objects of workspaces stay in theirs. Choose a database of the same region.`,
    );
  }
  // Both parts change nothing when they are repeated, since the request may be interrupted between them.
  await target.batch([
    createCopy(target, { source: sourceNumber, shards: range, progress: JSON.stringify(START), startedAt: nowMs }),
    markArriving(target, shards, sourceNumber),
  ]);
  const source = openDatabase(env, sourceNumber);
  await source.batch([...recreateTriggers(source), markCopying(source, shards, targetNumber)]);
  log("shards_moving", { shards: range, from: bindingName(sourceNumber), to: bindingName(targetNumber) });
}

/** The database that serves all of these shards. @throws MoveError if there is none, or it is the target. */
async function locateAll(env: Env, shards: readonly number[], target: number): Promise<number> {
  const rows = await listAllMoves(env);
  const places = new Set(shards.map((shard) => locate(env, shard, rows)));
  const [place] = places;
  if (places.size > 1 || place === undefined)
    throw new MoveError("These shards are in several databases. Move the shards of each by themselves: the list of databases shows them.");
  if (place === target) throw new MoveError(`These shards are in ${bindingName(target)} already.`);
  return place;
}

/** Returns the states of the shards that ever moved, by bound database. */
export async function listAllMoves(env: Env): Promise<Map<number, MoveRow[]>> {
  const entries = boundDatabases(env).map(async (database) => {
    return [database, await rowsOf<MoveRow>(listMoves(requireBinding(env, database)))] as const;
  });
  return new Map(await Promise.all(entries));
}

/** The database that serves a shard: that of the map, or the one to which the shard has moved since. */
export function locate(env: Env, shard: number, moves: ReadonlyMap<number, readonly MoveRow[]>): number | undefined {
  let place = databaseOf(env, shard);
  for (let hops = 0; hops < moves.size; hops++) {
    const row = moves.get(place ?? -1)?.find((each) => each.shard === shardCode(shard));
    if (row?.state !== "left" && row?.state !== "arriving") return place;
    place = row.other;
  }
  return place;
}

async function findMove(env: Env, targetNumber: number): Promise<Move | undefined> {
  const target = openDatabase(env, targetNumber);
  const [copy] = await rowsOf<CopyRow>(findCopy(target));
  if (!copy) return undefined;
  return { copy, source: openDatabase(env, copy.source), target, targetNumber, shards: readShards(copy.shards)! };
}

/** @throws MoveError if the database is not bound. */
function openDatabase(env: Env, database: number): D1Database {
  const binding = bindingOf(env, database);
  if (binding) return binding;
  throw new MoveError(`No database is bound as ${bindingName(database)}. Bind it, apply the migrations and deploy first.`);
}

/** The state of a move. */
export interface MoveStatus {
  shards: string;
  from: string;
  to: string;
  state: "copying" | "comparing" | "switching" | "done";
  pass: number;
  rowsCompared: number;
  rowsWritten: number;
  changesWaiting: number;
  shardsMoved: number;
  shardsTotal: number;
  startedAtMs: number;
}

/** Describes the move into a database; undefined if there is none. */
export async function describeMove(env: Env, targetNumber: number): Promise<MoveStatus | undefined> {
  const move = await findMove(env, targetNumber);
  if (!move) return undefined;
  const { copy, source, shards } = move;
  const progress = JSON.parse(copy.progress) as Progress;
  const [changes, states] = await source.batch<object>([countChanges(source, shards), listMoves(source)]);
  const [waiting, moves] = [changes!.results[0] as { count: number }, states!.results as MoveRow[]];
  const moved = shards.filter((shard) => stateOf(moves, shard) === "left").length;
  return {
    shards: copy.shards,
    from: bindingName(copy.source),
    to: bindingName(targetNumber),
    state: progress.isEqual ? "switching" : progress.pass === 1 ? "copying" : "comparing",
    pass: progress.pass,
    rowsCompared: progress.rowsCompared,
    rowsWritten: progress.rowsWritten,
    changesWaiting: waiting.count,
    shardsMoved: moved,
    shardsTotal: shards.length,
    startedAtMs: copy.startedAt,
  };
}

function stateOf(moves: readonly MoveRow[], shard: number): MoveRow["state"] | undefined {
  return moves.find((row) => row.shard === shardCode(shard))?.state;
}

/**
 * Does the next part of a move, for about a second. Call it until the move is done.
 * @returns the state after it; undefined if no shards are being moved into the database.
 * @throws MoveError if the copies keep differing.
 */
export async function continueMove(env: Env, targetNumber: number, now = Date.now): Promise<MoveStatus | undefined> {
  const move = await findMove(env, targetNumber);
  if (!move) return undefined;
  try {
    if (await advance(move, now)) {
      const last = await describeMove(env, targetNumber);
      await finish(move);
      return last && { ...last, state: "done" };
    }
  } catch (error) {
    // Another caller continues the move at the same time.
    if (!isStale(error)) throw error;
  }
  return describeMove(env, targetNumber);
}

/** Advances a move. @returns whether all its shards have moved. */
async function advance(move: Move, now: () => number): Promise<boolean> {
  const endMs = now() + STEP_MS;
  const copying = new Copying(move, await settle(move));
  if (copying.remaining.length === 0) return true;
  await copying.checkTriggers();
  do {
    while ((await copying.copyChanges(copying.remaining)) === CHANGES_PER_BATCH && now() < endMs);
    if (!copying.isEqual) await copying.comparePage();
    else if (!(await copying.switchNext(now))) break;
  } while (copying.remaining.length > 0 && now() < endMs);
  await copying.save();
  return copying.remaining.length === 0;
}

/**
 * Marks shards as arrived whose switch was interrupted after they had left.
 * @returns the shards that have not left yet.
 * @throws MoveError if the start of the move was interrupted, or it was cancelled.
 */
async function settle({ source, target, shards }: Move): Promise<number[]> {
  const left = await rowsOf<MoveRow>(listMoves(source));
  const arrived = await rowsOf<MoveRow>(listMoves(target));
  const gone = shards.filter((shard) => stateOf(left, shard) === "left");
  const unsettled = gone.filter((shard) => stateOf(arrived, shard) === "arriving");
  if (unsettled.length > 0) await changeState(target, unsettled, ["arriving"], { state: "here" }).run();
  const remaining = shards.filter((shard) => !gone.includes(shard));
  const states = remaining.map((shard) => stateOf(left, shard));
  if (!states.every((state) => state === "copying" || state === "held"))
    throw new MoveError("The start of the move was interrupted, or the move was cancelled. Start it again, or finish cancelling it.");
  return remaining;
}

/** Ends a move: the triggers go once no other shard of the database is being copied. */
async function finish({ source, target, copy, targetNumber }: Move): Promise<void> {
  const moves = await rowsOf<MoveRow>(listMoves(source));
  if (!moves.some(({ state }) => state === "copying" || state === "held"))
    await source.batch(changeTriggers().map(({ name }) => source.prepare(`DROP TRIGGER IF EXISTS ${name}`)));
  await deleteCopy(target).run();
  log("shards_moved", { shards: copy.shards, from: bindingName(copy.source), to: bindingName(targetNumber) });
}

/**
 * Cancels a move: the shards that have not left stay, and their copies are erased. Call it until it returns true.
 * @returns undefined if no shards are being moved into the database.
 */
export async function cancelMove(env: Env, meter: Meter, targetNumber: number, nowMs: number): Promise<boolean | undefined> {
  const move = await findMove(env, targetNumber);
  if (!move) return undefined;
  const { source, target, shards } = move;
  // If the move is started again, both copies are compared from the start.
  await saveProgress(target, move.copy.source, JSON.stringify(START)).run();
  await changeState(source, shards, ["copying", "held"], { state: "here", held_until: null }).run();
  const states = await rowsOf<MoveRow>(listMoves(source));
  const arrived = await rowsOf<MoveRow>(listMoves(target));
  const stayed = shards.filter((shard) => stateOf(states, shard) !== "left");
  await deleteChangesOf(source, stayed).run();
  const copied = stayed.filter((shard) => stateOf(arrived, shard) === "arriving");
  const db = wholeDatabase(env, targetNumber, meter);
  if (!(await eraseCopies(db, copied.map(shardCode), "arriving", ERASED_PER_CANCEL))) return false;
  await changeState(target, copied, ["arriving"], { state: "left", left_at: nowMs, erased_at: nowMs }).run();
  await settle({ ...move, shards: shards.filter((shard) => !stayed.includes(shard)) });
  await finish(move);
  return true;
}

/**
 * How many batches of rows a call of `cancelMove` erases, and a run of the sweep. Each takes about 50 queries, and the platform allows an
 * invocation 1,000. The end of a cancellation takes 170 more.
 */
const ERASED_PER_CANCEL = 15;
const ERASED_PER_SWEEP = 6;
const ROWS_PER_STEP = 1_000;

/**
 * Erases the copies of shards that another database serves, while the shards are in this state.
 * @returns whether nothing is left.
 */
async function eraseCopies(db: Database, shards: readonly string[], state: "left" | "arriving", batches: number): Promise<boolean> {
  for (let batch = 0; batch < batches; batch++) {
    const [[workspace]] = await db.batch([findWorkspaceOfShards(db, shards)]);
    if (!workspace) {
      await db.batch(eraseOtherRows(db, shards, state));
      return true;
    }
    const isStill = isInState(shardCode(shardOf(workspace.id)), state);
    const [first, ...rest] = eraseSomeRows(db, workspace.id, ROWS_PER_STEP, OWNED_TABLES, isStill);
    const removed = await db.batch([first!, ...rest]);
    if (removed.every((rows) => rows.length === 0)) await db.batch(eraseWorkspaceAndImport(db, workspace.id, isStill));
  }
  return false;
}

/** Erases former copies of shards. */
export async function eraseFormerCopies(db: Database, former: readonly { shard: string }[], nowMs: number): Promise<void> {
  const shards = former.map(({ shard }) => shard);
  if (shards.length > 0 && (await eraseCopies(db, shards, "left", ERASED_PER_SWEEP))) await db.batch([markErased(db, shards, nowMs)]);
}
