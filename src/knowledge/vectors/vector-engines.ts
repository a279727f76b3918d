import type { Embeddings } from "../../models/model.ts";
import { embeddingsFor, embeddingsOfVersion } from "../../models/retrieval-models.ts";
import { maxEmbeddedVectors, vectorsRound } from "../../platform/config.ts";
import { boundDatabases } from "../../platform/db/bindings.ts";
import { shardOf } from "../../platform/db/ids.ts";
import { placeOf } from "../../platform/db/placement.ts";
import type { VectorHome, VectorIndex, VectorizeHome } from "./vector-index.ts";
import { VectorizeVectors } from "./vectorize-vectors.ts";

export interface VectorEngines {
  embeddings: Embeddings;
  /** The Vectorize index for the agent's database; undefined if the deployment has none. */
  vectorize: VectorizeHome | undefined;
  /** The Vectorize indexes that are bound. The agent may still have vectors in that of a database from which it moved. */
  indexes: ReadonlyMap<VectorHome, VectorIndex>;
  /** The vectors of agents with more than this number are in Vectorize, where the deployment has it. */
  maxEmbedded: number;
  /** The version of everything that a vector depends on besides the text. Vectors of another version are replaced. */
  versionIn(home: VectorHome): string;
  /** The embeddings of a version; undefined if the deployment no longer has the model. */
  embeddingsOf(version: string): Embeddings | undefined;
}

/** The engines for an agent of a workspace; undefined if the deployment has no embeddings, so that search is lexical. */
export function vectorEnginesFor(env: Env, workspaceId: string): VectorEngines | undefined {
  const embeddings = embeddingsFor(env);
  if (!embeddings) return undefined;
  const version = `${TEXT_VERSION}/${vectorsRound(env)}/${embeddings.version}`;
  const indexes = boundIndexes(env);
  const ofDatabase = homeOf(placeOf(env, shardOf(workspaceId)));
  return {
    embeddings,
    vectorize: [ofDatabase, DEFAULT_HOME].find((home) => indexes.has(home)),
    indexes,
    maxEmbedded: maxEmbeddedVectors(env),
    versionIn: (home) => (home === DEFAULT_HOME ? version : `${home}/${version}`),
    embeddingsOf: (version) => embeddingsOfVersion(env, parseVersion(version).embeddings),
  };
}

/** Increment it with every change of the embedded text, so that everything is embedded again. */
const TEXT_VERSION = 1;
/** The index of the database DB, and of databases that have none of their own. Its versions do not name it. */
const DEFAULT_HOME: VectorizeHome = "vectorize";

function homeOf(database: number): VectorizeHome {
  return database === 0 ? DEFAULT_HOME : `vectorize_${database}`;
}

/** The indexes that are bound: VECTORS for DB, VECTORS_1 for DB_1, … */
function boundIndexes(env: Env): Map<VectorHome, VectorIndex> {
  const bindings = env as unknown as Record<string, Vectorize | undefined>;
  const found = boundDatabases(env).flatMap((database) => {
    const binding = bindings[database === 0 ? "VECTORS" : `VECTORS_${database}`];
    return binding ? [[homeOf(database), new VectorizeVectors(binding)] as const] : [];
  });
  return new Map(found);
}

export function parseVersion(version: string): { home: VectorHome; round: string; embeddings: string } {
  const [, home, rest] = /^(?:(object|vectorize_\d+)\/)?(.*)$/.exec(version)!;
  const [, round = "", ...embeddings] = rest!.split("/");
  return { home: (home ?? DEFAULT_HOME) as VectorHome, round, embeddings: embeddings.join("/") };
}
