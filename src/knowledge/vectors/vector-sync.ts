import { MAX_TEXTS_PER_EMBEDDING_CALL, type Embeddings } from "../../models/model.ts";
import { logProblem } from "../../platform/telemetry/log.ts";
import type { IndexStore } from "../indexing/store.ts";
import {
  embeddedText,
  LOOKED_UP_AT_ONCE,
  PUT_AT_ONCE,
  REMOVED_AT_ONCE,
  type VectorEngines,
  vectorName,
  type VectorScope,
} from "./vector-index.ts";
import { dropTables, VECTOR_TABLES, type VectorState, VectorStore } from "./vector-store.ts";

/** Chunks named in one step: some 20 ms of hashing. */
const NAMED_AT_ONCE = 400;
/** Lookups of one step, side by side. */
const LOOKUPS_A_STEP = 5;
/** One run of the alarm: well under the calls that one invocation may make, and the time that it may take. */
const STEPS_A_RUN = 40;
const RUN_MS = 5 * 60_000;
/** A removal shows after two minutes at most, all but one in a hundred times; by then a late put has shown as well. */
const VERIFY_AFTER_MS = 5 * 60_000;
/** First wait after a failure; each further one doubles it. */
const RETRY_MS = 5_000;
const MAX_RETRY_MS = 15 * 60_000;
/** A text that the model refuses is tried again all the same: the refusal may have been a rate limit's. */
const REFUSED_RETRY_MS = 24 * 60 * 60_000;
/** Names that cannot be removed, since the deployment has no index of vectors any more, wait for one. */
const UNBOUND_RETRY_MS = 24 * 60 * 60_000;

/**
 * Syncs an agent's vectors with its chunks, from the object's alarm. The work is queued in storage by the same
 * transaction that changes the chunks, so that no crash loses any. A source does not wait for its vectors: it is ready
 * when full-text search finds it, and its vectors follow minutes later.
 */
export class VectorSync {
  private readonly store: VectorStore;
  private engines: VectorEngines | undefined;
  private isPrepared = false;
  /** As far as this instance knows. */
  private alarmAtMs: number | undefined;
  /** An alarm may be delivered twice. */
  private running: Promise<void> | undefined;

  constructor(
    private readonly storage: DurableObjectStorage,
    private readonly index: IndexStore,
    private readonly findEngines: () => VectorEngines | undefined,
    private readonly ownScope: VectorScope,
  ) {
    this.store = new VectorStore(storage);
  }

  /** The store of names and the engines to ask, once all chunks are followed; undefined where words alone are searched. */
  prepare(): { store: VectorStore; engines: VectorEngines; scope: VectorScope } | undefined {
    const engines = (this.engines ??= this.findEngines());
    if (!engines || this.index.isEmpty) return undefined;
    if (!this.isPrepared) {
      if (!this.store.isComplete) this.store.create(this.ownScope, engines.version);
      if (this.store.findState()!.version !== engines.version) this.store.startVersion(engines.version);
      this.isPrepared = true;
      this.schedule();
    }
    return { store: this.store, engines, scope: this.ownScope };
  }

  /** Schedules the alarm if there is work. Call it after every change of the chunks, in the same turn of the event loop. */
  wake(): void {
    if (this.prepare()) this.schedule();
  }

  /** The alarm's work: one bounded part of what is queued. It never throws, so that the platform does not give up on the alarm. */
  run(): Promise<void> {
    this.running ??= this.runOnce().finally(() => (this.running = undefined));
    return this.running;
  }

  private async runOnce(): Promise<void> {
    this.alarmAtMs = undefined;
    this.prepare();
    const state = this.store.findState();
    if (!state) return;
    const retry = this.engines ? await this.attempt(this.engines, state) : undefined;
    // The agent may be erased meanwhile, and nothing of it left.
    if (!this.store.findState()) return;
    this.store.noteRetry(retry?.failures ?? 0, retry?.atMs ?? 0);
    if (this.index.isEmpty && this.store.nextDueMs() === undefined) await this.index.erase();
    else this.schedule();
  }

  /** Does a part of what there is to do; where that fails, says when to try again. */
  private async attempt(engines: VectorEngines, { failures, ...scope }: VectorState) {
    const untilMs = Date.now() + RUN_MS;
    let steps = 0;
    try {
      while (steps < STEPS_A_RUN && Date.now() < untilMs && (await this.step(engines, scope))) steps++;
      return undefined;
    } catch (error) {
      const inRow = steps > 0 ? 0 : failures;
      const waitMs = Math.min(RETRY_MS * 2 ** inRow, MAX_RETRY_MS);
      logProblem("vectors_failed", { workspace_id: scope.workspaceId, agent_id: scope.agentId, retry_in_ms: waitMs }, error);
      return { failures: inRow + 1, atMs: Date.now() + waitMs };
    }
  }

  /** One step; false when nothing was left to do. */
  private async step(engines: VectorEngines, scope: VectorScope): Promise<boolean> {
    // Names first: a text that a sync has written again keeps its vector, rather than lose it and be embedded anew.
    return (
      (await this.nameSome(engines)) ||
      (await this.removeSome(engines, scope)) ||
      (await this.verifySome(engines, scope)) ||
      (await this.putSome(engines, scope))
    );
  }

  /** Removes all chunks, and keeps the names of their vectors until the vector index has removed those too. */
  async erase(): Promise<void> {
    this.engines ??= this.findEngines();
    this.isPrepared = false;
    this.alarmAtMs = undefined;
    if (this.store.isComplete) {
      this.storage.transactionSync(() => {
        this.store.leaveAll();
        dropTables(this.storage.sql, VECTOR_TABLES);
      });
      this.index.forget();
    }
    if (this.store.nextDueMs() === undefined) await this.index.erase();
    else this.schedule();
  }

  private schedule(): void {
    const dueAtMs = this.store.nextDueMs();
    if (dueAtMs === undefined) return;
    const nowMs = Date.now();
    const atMs = this.engines ? Math.max(dueAtMs, nowMs, this.store.findState()!.retryAtMs) : nowMs + UNBOUND_RETRY_MS;
    if (this.alarmAtMs !== undefined && this.alarmAtMs <= atMs) return;
    this.alarmAtMs = atMs;
    void this.storage.setAlarm(atMs);
  }

  private async nameSome({ version }: VectorEngines): Promise<boolean> {
    const chunks = this.store.listUnnamed(NAMED_AT_ONCE);
    if (chunks.length === 0) return false;
    const named = chunks.map(async (chunk) => ({ id: chunk.id, name: await vectorName(version, embeddedText(chunk)) }));
    const names = await Promise.all(named);
    if (this.store.isComplete) this.store.name(names);
    return true;
  }

  private async removeSome({ index }: VectorEngines, scope: VectorScope): Promise<boolean> {
    const names = this.store.listNames("remove", Date.now(), REMOVED_AT_ONCE);
    if (names.length === 0) return false;
    this.store.noteSending(names);
    await index.remove(scope, names);
    this.store.noteRemoved(names, Date.now() + VERIFY_AFTER_MS);
    return true;
  }

  private async verifySome({ index }: VectorEngines, scope: VectorScope): Promise<boolean> {
    const names = this.store.listNames("verify", Date.now(), LOOKED_UP_AT_ONCE * LOOKUPS_A_STEP);
    if (names.length === 0) return false;
    const lookups = Array.from({ length: Math.ceil(names.length / LOOKED_UP_AT_ONCE) }, (_, at) =>
      index.present(scope, names.slice(at * LOOKED_UP_AT_ONCE, (at + 1) * LOOKED_UP_AT_ONCE)),
    );
    this.store.noteVerified(names, (await Promise.all(lookups)).flat());
    return true;
  }

  private async putSome({ index, embeddings }: VectorEngines, scope: VectorScope): Promise<boolean> {
    const wanted = this.store.listWanted(Date.now(), PUT_AT_ONCE);
    if (wanted.length === 0) return false;
    const made = await embedAll(embeddings, wanted.map(embeddedText));
    const vectors = wanted.flatMap(({ name }, at) => (made[at] ? [{ name, values: made[at] }] : []));
    const names = vectors.map(({ name }) => name);
    if (vectors.length > 0) {
      this.store.noteSending(names);
      await index.put(scope, vectors);
      this.store.notePut(names);
    }
    this.postponeRefused(wanted.filter((_, at) => !made[at]).map(({ name }) => name));
    return true;
  }

  private postponeRefused(names: readonly string[]): void {
    if (names.length === 0) return;
    for (const name of names) this.store.postponePut(name, Date.now() + REFUSED_RETRY_MS);
    logProblem("vectors_refused", { agent_id: this.ownScope.agentId, texts: names.length });
  }
}

/** A model may take the tokens of a whole call together (bge-m3: 60,000); usual text has three bytes a token or more. */
const BYTES_A_CALL = 120_000;
/** Nobody waits for it: a model that is loaded first takes a while. */
const LIMIT_MS = 30_000;
/** A text that no model refuses. */
const PLAIN_TEXT = "Hello";

/**
 * The vectors of any number of texts, in their order; undefined for a text that the model refuses while it takes others.
 * @throws Error when the model is down.
 */
async function embedAll(embeddings: Embeddings, texts: readonly string[]): Promise<(number[] | undefined)[]> {
  const calls = callsOf(texts).map((call) => embedOrSplit(embeddings, call));
  return (await Promise.all(calls)).flat();
}

async function embedOrSplit(embeddings: Embeddings, texts: readonly string[]): Promise<(number[] | undefined)[]> {
  try {
    return await embeddings.embed(texts, LIMIT_MS);
  } catch {
    // Is it down, or does it refuse one of these texts?
    await embeddings.embed([PLAIN_TEXT], LIMIT_MS);
    if (texts.length === 1) return [undefined];
    const half = Math.ceil(texts.length / 2);
    return [...(await embedOrSplit(embeddings, texts.slice(0, half))), ...(await embedOrSplit(embeddings, texts.slice(half)))];
  }
}

/** The texts in parts that one call may take. */
function callsOf(texts: readonly string[]): string[][] {
  const encoder = new TextEncoder();
  const calls: string[][] = [];
  let bytes = 0;
  for (const text of texts) {
    const size = encoder.encode(text).length;
    const call = calls.at(-1);
    if (call && call.length < MAX_TEXTS_PER_EMBEDDING_CALL && bytes + size <= BYTES_A_CALL) {
      call.push(text);
      bytes += size;
    } else {
      calls.push([text]);
      bytes = size;
    }
  }
  return calls;
}
