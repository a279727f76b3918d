import { type Embeddings, MAX_TEXTS_PER_EMBEDDING_CALL } from "../../models/model.ts";
import { logProblem } from "../../platform/telemetry/log.ts";
import type { IndexStore } from "../indexing/store.ts";
import { DELETE_BATCH, embeddedText, GET_BATCH, UPSERT_BATCH, type VectorEngines, vectorName, type VectorScope } from "./vector-index.ts";
import { dropTables, VECTOR_TABLES, type VectorState, VectorStore } from "./vector-store.ts";

/*
 * Keeps the vector index up to date with an agent's chunks, from the alarm of its KnowledgeIndex object. The work is
 * queued in VectorStore by the transaction that changes the chunks, so that a crash loses none. A source is ready when
 * lexical search finds it; its vectors follow minutes later.
 */

/** Chunks whose names are computed in one step: some 20 ms of hashing. */
const NAMING_BATCH = 400;
const GETS_PER_STEP = 5;
/** The bounds of one alarm: well below the calls and the time that the platform allows one invocation. */
const MAX_STEPS_PER_RUN = 40;
const MAX_RUN_MS = 5 * 60_000;
/** Vectorize shows 99 % of writes within two minutes; by then a delayed put has shown too. */
const VERIFY_DELAY_MS = 5 * 60_000;
/** The first delay after a failure; each further one doubles it. */
const RETRY_DELAY_MS = 5_000;
const MAX_RETRY_DELAY_MS = 15 * 60_000;
/** A text that the model refuses is retried too: the refusal may have been a rate limit. */
const REFUSED_RETRY_DELAY_MS = 24 * 60 * 60_000;
/** While the deployment has no vector index, vectors cannot be removed, and their names are kept. */
const UNBOUND_RETRY_DELAY_MS = 24 * 60 * 60_000;

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

  /** Makes sure that all chunks are tracked; undefined where there are none, or the deployment has no engines. */
  prepare(): { store: VectorStore; engines: VectorEngines; scope: VectorScope } | undefined {
    const engines = (this.engines ??= this.findEngines());
    if (!engines || this.index.isEmpty) return undefined;
    if (!this.isPrepared) {
      if (!this.store.tracksChunks) this.store.create(this.ownScope, engines.version);
      if (this.store.findState()!.version !== engines.version) this.store.changeVersion(engines.version);
      this.isPrepared = true;
      this.schedule();
    }
    return { store: this.store, engines, scope: this.ownScope };
  }

  /** Schedules the alarm if there is work. Call it after every change of the chunks, without awaiting anything between. */
  wake(): void {
    if (this.prepare()) this.schedule();
  }

  /**
   * Does a bounded part of the queued work, and schedules the alarm for the rest. It never throws, since the platform drops
   * an alarm that keeps failing.
   */
  run(): Promise<void> {
    this.running ??= this.runOnce().finally(() => (this.running = undefined));
    return this.running;
  }

  private async runOnce(): Promise<void> {
    this.alarmAtMs = undefined;
    this.prepare();
    const state = this.store.findState();
    if (!state) return;
    const backoff = this.engines ? await this.runSteps(this.engines, state) : undefined;
    // The agent may have been erased completely in the meantime.
    if (!this.store.findState()) return;
    this.store.saveBackoff(backoff?.failures ?? 0, backoff?.retryAtMs ?? 0);
    if (this.index.isEmpty && this.store.nextDueMs() === undefined) await this.index.erase();
    else this.schedule();
  }

  /** @returns the backoff where a step fails. */
  private async runSteps(engines: VectorEngines, { failures, ...scope }: VectorState) {
    const untilMs = Date.now() + MAX_RUN_MS;
    let steps = 0;
    try {
      while (steps < MAX_STEPS_PER_RUN && Date.now() < untilMs && (await this.runStep(engines, scope))) steps++;
      return undefined;
    } catch (error) {
      const previousFailures = steps > 0 ? 0 : failures;
      const delayMs = Math.min(RETRY_DELAY_MS * 2 ** previousFailures, MAX_RETRY_DELAY_MS);
      logProblem("vectors_failed", { workspace_id: scope.workspaceId, agent_id: scope.agentId, retry_in_ms: delayMs }, error);
      return { failures: previousFailures + 1, retryAtMs: Date.now() + delayMs };
    }
  }

  /** @returns false when nothing was left to do. */
  private async runStep(engines: VectorEngines, scope: VectorScope): Promise<boolean> {
    // Names before removals: a text that a re-sync has written again keeps its vector instead of being embedded again.
    return (
      (await this.nameChunks(engines)) ||
      (await this.removeVectors(engines, scope)) ||
      (await this.verifyRemovals(engines, scope)) ||
      (await this.putVectors(engines, scope))
    );
  }

  /** Erases all chunks. The names of their vectors are kept until these are gone from the vector index. */
  async erase(): Promise<void> {
    this.engines ??= this.findEngines();
    this.isPrepared = false;
    this.alarmAtMs = undefined;
    if (this.store.tracksChunks) {
      this.storage.transactionSync(() => {
        this.store.queueRemovalOfAll();
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
    const atMs = this.engines ? Math.max(dueAtMs, nowMs, this.store.findState()!.retryAtMs) : nowMs + UNBOUND_RETRY_DELAY_MS;
    if (this.alarmAtMs !== undefined && this.alarmAtMs <= atMs) return;
    this.alarmAtMs = atMs;
    void this.storage.setAlarm(atMs);
  }

  private async nameChunks({ version }: VectorEngines): Promise<boolean> {
    const chunks = this.store.listUnnamed(NAMING_BATCH);
    if (chunks.length === 0) return false;
    const named = chunks.map(async (chunk) => ({ id: chunk.id, name: await vectorName(version, embeddedText(chunk)) }));
    const names = await Promise.all(named);
    if (this.store.tracksChunks) this.store.setNames(names);
    return true;
  }

  private async removeVectors({ index }: VectorEngines, scope: VectorScope): Promise<boolean> {
    const names = this.store.listDueNames("remove", Date.now(), DELETE_BATCH);
    if (names.length === 0) return false;
    this.store.markUncertain(names);
    await index.delete(scope, names);
    this.store.markRemoved(names, Date.now() + VERIFY_DELAY_MS);
    return true;
  }

  private async verifyRemovals({ index }: VectorEngines, scope: VectorScope): Promise<boolean> {
    const names = this.store.listDueNames("verify", Date.now(), GET_BATCH * GETS_PER_STEP);
    if (names.length === 0) return false;
    const batches = Array.from({ length: Math.ceil(names.length / GET_BATCH) }, (_, at) =>
      names.slice(at * GET_BATCH, (at + 1) * GET_BATCH),
    );
    const present = await Promise.all(batches.map((batch) => index.listPresent(scope, batch)));
    this.store.completeVerification(names, present.flat());
    return true;
  }

  private async putVectors({ index, embeddings }: VectorEngines, scope: VectorScope): Promise<boolean> {
    const due = this.store.listDuePuts(Date.now(), UPSERT_BATCH);
    if (due.length === 0) return false;
    const embedded = await embedAll(embeddings, due.map(embeddedText));
    const vectors = due.flatMap(({ name }, at) => (embedded[at] ? [{ name, values: embedded[at] }] : []));
    const names = vectors.map(({ name }) => name);
    if (vectors.length > 0) {
      this.store.markUncertain(names);
      await index.upsert(scope, vectors);
      this.store.markPut(names);
    }
    this.postponeRefused(due.filter((_, at) => !embedded[at]).map(({ name }) => name));
    return true;
  }

  private postponeRefused(names: readonly string[]): void {
    if (names.length === 0) return;
    for (const name of names) this.store.postponePut(name, Date.now() + REFUSED_RETRY_DELAY_MS);
    logProblem("vectors_refused", { agent_id: this.ownScope.agentId, texts: names.length });
  }
}

// --- Embedding of many texts ---

/** Some models limit the tokens of a whole call (bge-m3: 60,000); usual text has three bytes a token or more. */
const MAX_BYTES_PER_CALL = 120_000;
/** Generous, since nobody waits and a cold model takes a while to load. */
const EMBED_TIMEOUT_MS = 30_000;
const PROBE_TEXT = "Hello";

/**
 * The vectors of any number of texts, in their order; undefined for a text that the model refuses while it accepts others.
 * @throws Error when the model is down.
 */
async function embedAll(embeddings: Embeddings, texts: readonly string[]): Promise<(number[] | undefined)[]> {
  const calls = batchesOf(texts).map((batch) => embedOrBisect(embeddings, batch));
  return (await Promise.all(calls)).flat();
}

/** Halves a batch that fails until the refused texts are found. */
async function embedOrBisect(embeddings: Embeddings, texts: readonly string[]): Promise<(number[] | undefined)[]> {
  try {
    return await embeddings.embed(texts, EMBED_TIMEOUT_MS);
  } catch {
    // This throws if the model is down, rather than refusing one of these texts.
    await embeddings.embed([PROBE_TEXT], EMBED_TIMEOUT_MS);
    if (texts.length === 1) return [undefined];
    const half = Math.ceil(texts.length / 2);
    return [...(await embedOrBisect(embeddings, texts.slice(0, half))), ...(await embedOrBisect(embeddings, texts.slice(half)))];
  }
}

function batchesOf(texts: readonly string[]): string[][] {
  const encoder = new TextEncoder();
  const batches: string[][] = [];
  let bytes = 0;
  for (const text of texts) {
    const size = encoder.encode(text).length;
    const batch = batches.at(-1);
    if (batch && batch.length < MAX_TEXTS_PER_EMBEDDING_CALL && bytes + size <= MAX_BYTES_PER_CALL) {
      batch.push(text);
      bytes += size;
    } else {
      batches.push([text]);
      bytes = size;
    }
  }
  return batches;
}
