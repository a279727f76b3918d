import { shardOf } from "./ids.ts";
import { bindingName, MAX_SHARDS } from "./shard-binding.ts";

/** The shards whose databases are bound. Their numbers may have gaps. */
export function boundShards(env: Env): number[] {
  return Array.from({ length: MAX_SHARDS }, (_, shard) => shard).filter((shard) => bindingOf(env, shard) !== undefined);
}

/** Whether the id's shard is bound. */
export function isBoundShard(env: Env, id: string): boolean {
  return bindingOf(env, shardOf(id)) !== undefined;
}

/** The database of a shard, where one is bound. */
export function bindingOf(env: Env, shard: number): D1Database | undefined {
  return (env as unknown as Record<string, D1Database | undefined>)[bindingName(shard)];
}
