import { isProduction, databaseRegions } from "./config.ts";
import { boundDatabases } from "./db/bindings.ts";
import { ALL_SHARDS, databaseOf } from "./db/shard-map.ts";
import { shardOf } from "./db/ids.ts";
import { type Jurisdiction, jurisdictionOf, type Location, type Region } from "./db/regions.ts";

/*
 * The Durable Objects of workspaces are addressed here. An object is created by its first call, near the caller by default, and never
 * moves: so each call names the region of its workspace's database. Only the objects of sign-ins (members/links.ts, console/session.ts)
 * belong near the person, whatever the region.
 */

type Namespace<Type extends Rpc.DurableObjectBranded | undefined> = DurableObjectNamespace<Type>;

/** The length of a UUID. The name of each object begins with the id of its workspace. */
const ID_LENGTH = 36;

/** Returns the region of the workspace or record with this id, which is that of its database; undefined if the database has none. */
export function regionOf(env: Env, id: string): Region | undefined {
  return databaseRegions(env).get(databaseOf(env, shardOf(id)) ?? -1);
}

/** Lists the bound databases of a region, or those without a region if it is undefined. */
export function databasesIn(env: Env, region: Region | undefined): number[] {
  return boundDatabases(env).filter((database) => databaseRegions(env).get(database) === region);
}

/** Lists the logical shards that the map gives to these databases. */
export function shardsIn(env: Env, databases: readonly number[]): number[] {
  return ALL_SHARDS.filter((shard) => databases.includes(databaseOf(env, shard) ?? -1));
}

/** Returns the jurisdiction that the objects of the workspace with this id are in; null if there is none. */
export function jurisdictionFor(env: Env, workspaceId: string): Jurisdiction | null {
  return jurisdictionOf(regionOf(env, workspaceId));
}

/** Returns the object with this name, which begins with its workspace's id. */
export function objectOf<Type extends Rpc.DurableObjectBranded | undefined>(
  env: Env,
  namespace: Namespace<Type>,
  name: string,
): DurableObjectStub<Type> {
  return objectIn(env, regionOf(env, name.slice(0, ID_LENGTH)), namespace, name);
}

/** Returns the object with this name in a region, or near the caller if the region is undefined. */
export function objectIn<Type extends Rpc.DurableObjectBranded | undefined>(
  env: Env,
  region: Region | undefined,
  namespace: Namespace<Type>,
  name: string,
): DurableObjectStub<Type> {
  if (region === undefined) return namespace.getByName(name);
  const jurisdiction = jurisdictionOf(region);
  if (jurisdiction === null) return namespace.getByName(name, { locationHint: region as Location });
  // Each jurisdiction has its own object with this name. workerd supports no jurisdictions on a developer's machine.
  return (isProduction(env) ? namespace.jurisdiction(jurisdiction) : namespace).getByName(name);
}
