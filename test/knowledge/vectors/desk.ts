import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { EmbeddingsStandIn } from "../../stand-ins/workers-ai-embeddings.ts";
import { VectorizeStandIn } from "../../stand-ins/vectorize.ts";
import { type Index, newIndex } from "../agent-index.ts";

/** What an agent's object and the outside have, with stand-ins in the place of the network's bindings. */
export interface Desk {
  ai: EmbeddingsStandIn;
  vectors: VectorizeStandIn;
  index: Index;
  workspaceId: string;
  agentId: string;
}

/** Binds new stand-ins for all objects that begin to work from now on, and makes one. */
export function newDesk(index = newIndex()): Desk {
  const desk = { ai: new EmbeddingsStandIn(), vectors: new VectorizeStandIn() };
  bind({ AI: desk.ai, VECTORS: desk.vectors });
  const [workspaceId = "", agentId = ""] = index.name!.split("/");
  return { ...desk, index, workspaceId, agentId };
}

/** Puts bindings and variables into the environment of this file's objects; undefined takes one out. */
export function bind(bindings: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(bindings)) {
    if (value === undefined) Reflect.deleteProperty(env, name);
    else Reflect.set(env, name, value);
  }
}

/** More runs of the alarm than any of these tests takes. */
const MAX_RUNS = 200;

/** Runs the object's alarm until nothing is due. */
export async function catchUp(index: Index): Promise<void> {
  for (let run = 0; run < MAX_RUNS; run++) {
    if (!(await isDue(index))) return;
    await runAlarm(index);
  }
  throw new Error("the vectors are never caught up");
}

/** Runs the object's alarm once, whether or not it is time. */
export async function runAlarm(index: Index): Promise<void> {
  await runInDurableObject(index, async (instance) => {
    await (instance as unknown as { alarm(): Promise<void> }).alarm();
  });
}

/** Lets all that waits for a later time be due: hours go by. */
export async function letTimePass(index: Index): Promise<void> {
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
  const { vectors, unnamed } = await outstanding(index);
  return unnamed > 0 || vectors.some(({ task, notBefore }) => task !== null && notBefore <= Date.now());
}

/** What is still to be done. */
export function outstanding(
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

/** The texts whose vectors show, of this agent. */
export function countVisible({ vectors, agentId }: Desk): number {
  return [...vectors.visible.keys()].filter((id) => id.startsWith(`${agentId}/`)).length;
}

/** Whether the platform would call the object again by itself. */
export function alarmOf(index: Index): Promise<number | null> {
  return runInDurableObject(index, (_, { storage }) => storage.getAlarm());
}
