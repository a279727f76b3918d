import { DurableObject } from "cloudflare:workers";
import { EMBEDDED_TABLE, EmbeddedVectors } from "../../src/knowledge/vectors/embedded-vectors.ts";
import { NEAREST } from "../../src/knowledge/vectors/vector-index.ts";
import { normal, randomNumbers } from "../random.ts";

/*
 * The embedded vectors alone, filled with random ones. The path is `/<count>/<dimensions>/<action>`, each size an object of its
 * own; the body is a seed for each question. Time is measured outside: here the clock stands still.
 */

interface VectorsEnv {
  SETS: DurableObjectNamespace<Vectors>;
}

/** Vectors of one subject: more than a search returns. Beyond them the order is chance. */
const PER_SUBJECT = 100;
/** What all vectors of a model have in common, and their subject, beside what is their own. */
const COMMON = 0.7;
const SUBJECT = 0.8;
const BATCH = 400;
const SET = { workspaceId: "", agentId: "", version: "bench" };

export class Vectors extends DurableObject<VectorsEnv> {
  private vectors = new EmbeddedVectors(this.ctx.storage.sql);

  /** Adds the next vectors, BATCH at a time. @returns how many there are. */
  async fill(from: number, count: number, dimensions: number): Promise<number> {
    this.ctx.storage.sql.exec(EMBEDDED_TABLE);
    const random = randomNumbers(from + 1);
    const names = Array.from({ length: Math.min(BATCH, count - from) }, (_, at) => String(from + at));
    await this.vectors.upsert(
      SET,
      names.map((name) => ({ name, values: randomVector(dimensions, count, random) })),
    );
    return from + names.length;
  }

  async search(seed: number, count: number, dimensions: number): Promise<string[]> {
    const found = await this.vectors.nearest(SET, randomVector(dimensions, count, randomNumbers(seed)), { count: NEAREST });
    return found.map(({ name }) => name);
  }

  /** What `search` should find: every vector is compared. */
  async searchExactly(seed: number, count: number, dimensions: number): Promise<string[]> {
    const question = randomVector(dimensions, count, randomNumbers(seed));
    const found: { name: string; cosine: number }[] = [];
    const rows = this.ctx.storage.sql.exec<{ name: string; vector: ArrayBuffer }>("SELECT name, vector FROM embedded_vectors");
    for (const { name, vector } of rows) found.push({ name, cosine: cosine(question, new Int8Array(vector)) });
    return found
      .sort((a, b) => b.cosine - a.cosine)
      .slice(0, NEAREST)
      .map(({ name }) => name);
  }

  /** Makes only the question, which is what a search costs here beside the search. */
  async makeQuestion(seed: number, count: number, dimensions: number): Promise<string[]> {
    return [String(randomVector(dimensions, count, randomNumbers(seed))[0])];
  }

  /** What an eviction does. */
  async forget(): Promise<void> {
    this.vectors.forget();
  }
}

function cosine(a: readonly number[], b: Int8Array): number {
  let dot = 0;
  let square = 0;
  for (let at = 0; at < b.length; at++) {
    dot += a[at]! * b[at]!;
    square += b[at]! * b[at]!;
  }
  return dot / Math.sqrt(square);
}

const MAX_SUBJECTS = 500;
const subjectsByDimensions = new Map<number, Float32Array[]>();

/** A vector of one of the subjects; numbers of a model's vectors vary unequally. */
function randomVector(dimensions: number, count: number, random: () => number): number[] {
  const deviation = (at: number): number => (1 + ((at * 7) % dimensions)) ** -0.25;
  const independent = (next: () => number): Float32Array =>
    Float32Array.from({ length: dimensions }, (_, at) => normal(next) * deviation(at));
  let subjects = subjectsByDimensions.get(dimensions);
  if (!subjects) {
    const fixed = randomNumbers(0);
    const common = independent(fixed);
    subjects = Array.from({ length: MAX_SUBJECTS }, () => independent(fixed).map((value, at) => SUBJECT * value + COMMON * common[at]!));
    subjectsByDimensions.set(dimensions, subjects);
  }
  const subject = subjects[Math.floor((random() * count) / PER_SUBJECT)]!;
  return Array.from(subject, (value, at) => value + SUBJECT * normal(random) * deviation(at));
}

export default {
  async fetch(request: Request, env: VectorsEnv): Promise<Response> {
    const [count = 0, dimensions = 0] = new URL(request.url).pathname.split("/").slice(1).map(Number);
    const action = new URL(request.url).pathname.split("/").at(-1);
    const set = env.SETS.getByName(`${count}/${dimensions}`);
    const { seed } = await request.json<{ seed: number }>();
    if (action === "fill") return Response.json(await set.fill(seed, count, dimensions));
    if (action === "search") return Response.json(await set.search(seed, count, dimensions));
    if (action === "exact") return Response.json(await set.searchExactly(seed, count, dimensions));
    if (action === "question") return Response.json(await set.makeQuestion(seed, count, dimensions));
    await set.forget();
    return Response.json(null);
  },
} satisfies ExportedHandler<VectorsEnv>;
