import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { EmbeddingsStandIn } from "../../stand-ins/workers-ai-embeddings.ts";
import { VectorizeStandIn } from "../../stand-ins/vectorize.ts";
import { type Index, newIndex } from "../agent-index.ts";

/** An agent's index with stand-ins for Workers AI and Vectorize. */
export interface VectorSetup {
  ai: EmbeddingsStandIn;
  vectors: VectorizeStandIn;
  index: Index;
  workspaceId: string;
  agentId: string;
}

/** Binds new stand-ins for all objects that start from now on. All agents have their vectors in Vectorize, however small. */
export function setUpVectors(index = newIndex()): VectorSetup {
  const setup = { ai: new EmbeddingsStandIn(), vectors: new VectorizeStandIn() };
  bind({ AI: setup.ai, VECTORS: setup.vectors, MAX_EMBEDDED_VECTORS: "0" });
  const [workspaceId = "", agentId = ""] = index.name!.split("/");
  return { ...setup, index, workspaceId, agentId };
}

/** Sets bindings and variables in the environment of this file's objects; undefined removes one. */
export function bind(bindings: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(bindings)) {
    if (value === undefined) Reflect.deleteProperty(env, name);
    else Reflect.set(env, name, value);
  }
}

/** More than any of these tests needs. */
const MAX_RUNS = 200;

/** Runs the object's alarm until nothing is due. */
export async function catchUp(index: Index): Promise<void> {
  for (let run = 0; run < MAX_RUNS; run++) {
    if (!(await isDue(index))) return;
    await runAlarm(index);
  }
  throw new Error("the sync does not end");
}

/** Runs the object's alarm once, whether or not it is time. */
export async function runAlarm(index: Index): Promise<void> {
  await runInDurableObject(index, async (instance) => {
    await (instance as unknown as { alarm(): Promise<void> }).alarm();
  });
}

/** Makes everything due that waits for a later time. */
export async function makeAllDue(index: Index): Promise<void> {
  await runInDurableObject(index, (_, { storage: { sql } }) => {
    if (!has(sql, "vectors")) return;
    sql.exec("UPDATE vectors SET not_before = 0 WHERE not_before > 0");
    sql.exec("UPDATE vector_state SET retry_at = 0");
  });
}

function has(sql: SqlStorage, table: string): boolean {
  return sql.exec("SELECT 1 FROM sqlite_master WHERE name = ?", table).toArray().length > 0;
}

async function isDue(index: Index): Promise<boolean> {
  const { vectors, unnamed } = await queuedTasks(index);
  return unnamed > 0 || vectors.some(({ task, notBefore }) => task !== null && notBefore <= Date.now());
}

/** The tasks that are still queued. */
export function queuedTasks(
  index: Index,
): Promise<{ vectors: { task: string | null; presence: string; notBefore: number }[]; unnamed: number }> {
  return runInDurableObject(index, (_, { storage: { sql } }) => {
    if (!has(sql, "vectors")) return { vectors: [], unnamed: 0 };
    const vectors = sql.exec<{ task: string | null; presence: string; notBefore: number }>(
      "SELECT task, presence, not_before AS notBefore FROM vectors WHERE task IS NOT NULL",
    );
    const unnamed = has(sql, "chunk_vectors") ? sql.exec("SELECT 1 FROM chunk_vectors WHERE name IS NULL").toArray().length : 0;
    return { vectors: vectors.toArray(), unnamed };
  });
}

/** The number of this agent's visible vectors. */
export function countVisible({ vectors, agentId }: VectorSetup): number {
  return [...vectors.visible.keys()].filter((id) => id.startsWith(`${agentId}/`)).length;
}

/** The time of the object's alarm in Unix milliseconds, or null. */
export function alarmAt(index: Index): Promise<number | null> {
  return runInDurableObject(index, (_, { storage }) => storage.getAlarm());
}

/** Computes the vectors of all sentences and curated questions by the service's encoder. */
export async function encodeAll(index: Index): Promise<void> {
  while ((await countMissing(index)) > 0) await runAlarm(index);
}

/** Counts the chunks and curated questions that have no vectors. */
export function countMissing(index: Index): Promise<number> {
  return runInDurableObject(index, (_, { storage: { sql } }) => {
    const query = `SELECT (SELECT count(*) FROM chunks WHERE id NOT IN (SELECT chunk_id FROM sentence_vectors))
      + (SELECT count(*) FROM answers WHERE id NOT IN (SELECT answer_row FROM question_vectors)) AS count`;
    return sql.exec<{ count: number }>(query).one().count;
  });
}
