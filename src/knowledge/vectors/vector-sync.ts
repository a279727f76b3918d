import { type Embeddings, MAX_TEXTS_PER_EMBEDDING_CALL } from "../../models/model.ts";
import type { AgentKey } from "../../platform/db/sql.ts";
import { logProblem } from "../../platform/telemetry/log.ts";
import { DAY_MS, MINUTE_MS } from "../../platform/time.ts";
import type { IndexStore } from "../indexing/store.ts";
import { EmbeddedVectors } from "./embedded-vectors.ts";
import { parseVersion, type VectorEngines } from "./vector-engines.ts";
import {
  DELETE_BATCH,
  embeddedText,
  GET_BATCH,
  UPSERT_BATCH,
  type VectorHome,
  type VectorIndex,
  vectorName,
  type VectorSet,
} from "./vector-index.ts";
import { dropTables, VECTOR_TABLES, type VectorState, VectorStore } from "./vector-store.ts";

/*
 * Updates the vector index after changes of an agent's chunks, from the alarm of its KnowledgeIndex object. The work is queued in
 * VectorStore by the transaction that changes the chunks, so that a crash loses none. A source is ready when lexical search finds it;
 * its vectors follow minutes later.
 */

/** The number of chunks whose names are computed in one step, which takes about 20 ms. */
const NAMING_BATCH = 400;
const GETS_PER_STEP = 5;
/** The limits of one alarm, well below the calls and the time that the platform allows one invocation. */
const MAX_STEPS_PER_RUN = 40;
const MAX_RUN_MS = 5 * MINUTE_MS;
/** Vectorize applies 99 % of writes within two minutes; after this delay, a late put is visible too. */
const VERIFY_DELAY_MS = 5 * MINUTE_MS;
/** The first delay after a failure; each further one doubles it. */
const RETRY_DELAY_MS = 5_000;
const MAX_RETRY_DELAY_MS = 15 * MINUTE_MS;
/** A text that the model refuses is retried, since the refusal may have been a rate limit. */
const REFUSED_RETRY_DELAY_MS = DAY_MS;
/** While an index in Vectorize is not bound, the names of the vectors there are kept, and their removal is tried again. */
const UNBOUND_RETRY_DELAY_MS = DAY_MS;
/** An object that has as many vectors as it may is checked again, since sources may have been removed. */
const FULL_RETRY_DELAY_MS = DAY_MS;

/** The vectors that are searched, and the embeddings with which they were computed. */
export interface ServingVectors {
  store: VectorStore;
  index: VectorIndex;
  embeddings: Embeddings;
  set: VectorSet;
}

export class VectorSync {
  private readonly store: VectorStore;
  private readonly embedded: EmbeddedVectors;
  private engines: VectorEngines | undefined;
  private servingEmbeddings: { version: string; embeddings: Embeddings | undefined } | undefined;
  private isPrepared = false;
  /** The time of the alarm, as far as this instance knows. */
  private alarmAtMs: number | undefined;
  /** The run that is under way, since an alarm may be delivered twice. */
  private running: Promise<void> | undefined;

  constructor(
    private readonly storage: DurableObjectStorage,
    private readonly index: IndexStore,
    private readonly findEngines: () => VectorEngines | undefined,
    private readonly ownKey: AgentKey,
  ) {
    this.store = new VectorStore(storage);
    this.embedded = new EmbeddedVectors(storage.sql);
  }

  /** The vectors to search; undefined without engines or chunks, or when the model or index of the vectors no longer exists. */
  findServing(): ServingVectors | undefined {
    const engines = this.prepare();
    if (!engines) return undefined;
    const { servingVersion: version } = this.store.findState()!;
    const index = this.indexIn(parseVersion(version).home);
    if (this.servingEmbeddings?.version !== version) this.servingEmbeddings = { version, embeddings: engines.embeddingsOf(version) };
    const { embeddings } = this.servingEmbeddings;
    return index && embeddings && { store: this.store, index, embeddings, set: { ...this.ownKey, version } };
  }

  /** Ensures that all chunks are tracked; undefined if there are none, or the deployment has no engines. */
  private prepare(): VectorEngines | undefined {
    const engines = (this.engines ??= this.findEngines());
    if (!engines || this.index.isEmpty) return undefined;
    if (!this.isPrepared) {
      if (!this.store.tracksChunks)
        this.store.create(this.ownKey, engines.versionIn((engines.maxEmbedded === 0 && engines.vectorize) || "object"));
      this.updateVersion(engines);
      this.isPrepared = true;
      this.schedule();
    }
    return engines;
  }

  /** Starts to embed everything again after another model was configured, or when the agent is too large for its object. */
  private updateVersion(engines: VectorEngines): void {
    const { version: current, servingVersion } = this.store.findState()!;
    const version = engines.versionIn(this.chooseHome(engines, parseVersion(current).home));
    if (version === current) return;
    const [serving, next] = [parseVersion(servingVersion), parseVersion(version)];
    // In another round, the index in Vectorize was created again, without the old vectors.
    const isLost = serving.home !== "object" && (serving.round !== next.round || !engines.indexes.has(serving.home));
    this.store.changeVersion(version, !isLost && this.store.hasVectors);
  }

  /** Vectors move from the object to Vectorize above a limit, and back below half of it, so that they do not move repeatedly. */
  private chooseHome({ vectorize, maxEmbedded }: VectorEngines, current: VectorHome): VectorHome {
    if (!vectorize) return "object";
    return this.store.countNeeded() > (current === "object" ? maxEmbedded : maxEmbedded / 2) || maxEmbedded === 0 ? vectorize : "object";
  }

  /** The homes whose vectors can be read and written. */
  private get homes(): VectorHome[] {
    return ["object", ...(this.engines?.indexes.keys() ?? [])];
  }

  private indexIn(home: VectorHome): VectorIndex | undefined {
    return home === "object" ? this.embedded : this.engines?.indexes.get(home);
  }

  /** Schedules the alarm if there is work. It must be called in the same synchronous block as each change of the chunks. */
  wake(): void {
    if (this.prepare() || this.store.findState()) this.schedule();
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
    this.store.postponeOthers(this.homes, Date.now() + UNBOUND_RETRY_DELAY_MS);
    const backoff = await this.runSteps(state);
    // The agent may have been erased completely in the meantime.
    if (!this.store.findState()) return;
    this.store.saveBackoff(backoff?.failures ?? 0, backoff?.retryAtMs ?? 0);
    if (this.index.isEmpty && this.store.nextDueMs() === undefined) return this.index.erase();
    if (this.engines && !this.index.isEmpty && this.store.tracksChunks) {
      this.store.completeChange(Date.now());
      this.updateVersion(this.engines);
    }
    this.schedule();
  }

  /** Runs steps until nothing is left or a limit is reached. @returns the backoff where a step fails. */
  private async runSteps({ failures, workspaceId, agentId }: VectorState) {
    const untilMs = Date.now() + MAX_RUN_MS;
    let steps = 0;
    try {
      while (steps < MAX_STEPS_PER_RUN && Date.now() < untilMs && (await this.runStep())) steps++;
      return undefined;
    } catch (error) {
      const previousFailures = steps > 0 ? 0 : failures;
      const delayMs = Math.min(RETRY_DELAY_MS * 2 ** previousFailures, MAX_RETRY_DELAY_MS);
      logProblem("vectors_failed", { workspace_id: workspaceId, agent_id: agentId, retry_in_ms: delayMs }, error);
      return { failures: previousFailures + 1, retryAtMs: Date.now() + delayMs };
    }
  }

  /** Runs one step. @returns false when nothing was left to do. */
  private async runStep(): Promise<boolean> {
    // Chunks are named before vectors are removed, so that a text that a sync has written again keeps its vector.
    if (this.engines && (await this.nameChunks())) return true;
    for (const home of this.homes) {
      const index = this.indexIn(home);
      if (index && ((await this.removeVectors(index, home)) || (await this.verifyRemovals(index, home)))) return true;
    }
    return this.engines !== undefined && (await this.putVectors(this.engines));
  }

  /** Erases all chunks. The names of their vectors are kept until the vector index has removed these. */
  async erase(): Promise<void> {
    this.engines ??= this.findEngines();
    this.isPrepared = false;
    this.alarmAtMs = undefined;
    // A run that was under way may have written chunks after an erasure, which are not tracked without engines.
    if (this.store.findState()) {
      this.storage.transactionSync(() => {
        this.store.queueRemovalOfAll();
        dropTables(this.storage.sql, VECTOR_TABLES);
      });
      this.embedded.forget();
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

  private async nameChunks(): Promise<boolean> {
    const chunks = this.store.listUnnamed(NAMING_BATCH);
    if (chunks.length === 0) return false;
    const { version } = this.store.findState()!;
    const named = chunks.map(async (chunk) => ({ id: chunk.id, name: await vectorName(version, embeddedText(chunk)) }));
    const names = await Promise.all(named);
    if (this.store.tracksChunks) this.store.setNames(names, parseVersion(version).home);
    return true;
  }

  private async removeVectors(index: VectorIndex, home: VectorHome): Promise<boolean> {
    const names = this.store.listDueNames("remove", home, Date.now(), DELETE_BATCH);
    if (names.length === 0) return false;
    this.store.markUncertain(names);
    await index.delete(this.ownKey, names);
    if (index.isConsistent) this.store.deleteNames(names);
    else this.store.markRemoved(names, Date.now() + VERIFY_DELAY_MS);
    return true;
  }

  private async verifyRemovals(index: VectorIndex, home: VectorHome): Promise<boolean> {
    const names = this.store.listDueNames("verify", home, Date.now(), GET_BATCH * GETS_PER_STEP);
    if (names.length === 0) return false;
    const batches = Array.from({ length: Math.ceil(names.length / GET_BATCH) }, (_, at) =>
      names.slice(at * GET_BATCH, (at + 1) * GET_BATCH),
    );
    const present = await Promise.all(batches.map((batch) => index.listPresent(this.ownKey, batch)));
    this.store.completeVerification(names, present.flat());
    return true;
  }

  private async putVectors({ embeddings, vectorize, maxEmbedded }: VectorEngines): Promise<boolean> {
    const { version } = this.store.findState()!;
    const { home } = parseVersion(version);
    const index = this.indexIn(home);
    const due = this.store.listDuePuts(Date.now(), UPSERT_BATCH);
    if (!index || due.length === 0) return false;
    if (!vectorize && this.isFull(maxEmbedded)) return false;
    const embedded = await embedAll(embeddings, due.map(embeddedText));
    // Chunks may have been deleted meanwhile, or another version begun.
    const queued = this.store.listQueuedPuts(due.map(({ name }) => name));
    const vectors = due.flatMap(({ name }, at) => (embedded[at] && queued.has(name) ? [{ name, values: embedded[at] }] : []));
    const names = vectors.map(({ name }) => name);
    if (vectors.length > 0) {
      this.store.markUncertain(names);
      await index.upsert({ ...this.ownKey, version }, vectors);
      this.store.markPut(names);
    }
    this.postponeRefused(due.filter((_, at) => !embedded[at]).map(({ name }) => name));
    return true;
  }

  /** Whether the object has as many vectors as it may. The other chunks are then found only by lexical search. */
  private isFull(maxEmbedded: number): boolean {
    if (this.store.countPut() < maxEmbedded) return false;
    logProblem("vectors_full", { agent_id: this.ownKey.agentId, vectors: maxEmbedded });
    this.store.postponePuts(Date.now() + FULL_RETRY_DELAY_MS);
    return true;
  }

  private postponeRefused(names: readonly string[]): void {
    if (names.length === 0) return;
    for (const name of names) this.store.postponePut(name, Date.now() + REFUSED_RETRY_DELAY_MS);
    logProblem("vectors_refused", { agent_id: this.ownKey.agentId, texts: names.length });
  }
}

// --- Embedding of many texts ---

/** Some models limit the tokens of a whole call (bge-m3: 60,000). A token of usual text has three bytes or more. */
const MAX_BYTES_PER_CALL = 120_000;
/** The timeout is long, since nobody waits and a cold model takes a while to load. */
const EMBED_TIMEOUT_MS = 30_000;
const PROBE_TEXT = "Hello";

/**
 * Embeds any number of texts. The result is in their order, with undefined for a text that the model refuses while it accepts others.
 * @throws Error when the model is down.
 */
async function embedAll(embeddings: Embeddings, texts: readonly string[]): Promise<(number[] | undefined)[]> {
  const calls = batchesOf(texts).map((batch) => embedOrBisect(embeddings, batch));
  return (await Promise.all(calls)).flat();
}

/** Embeds a batch. One that fails is halved until the refused texts are found. */
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
