import { env } from "cloudflare:workers";
import type { KnowledgeIndex } from "../../src/knowledge/knowledge-index.ts";
import type { IngestProgress } from "../../src/knowledge/indexing/ingest.ts";
import type { Retrieval } from "../../src/models/retrieval.ts";
import { newId } from "../../src/platform/db/ids.ts";

export type Index = DurableObjectStub<KnowledgeIndex>;

/** A limit that no test reaches. */
export const ROOM = 1_000_000_000;

/** An object of its own for each test. */
export function newIndex(): Index {
  return env.INDEX.getByName(`${newId(0, Date.now())}/${newId(0, Date.now())}`);
}

/** More steps than any text of these tests takes. */
const MAX_STEPS = 500;

/** Runs steps until the source is built. */
export async function ingest(index: Index, sourceId: string, runId = "run"): Promise<Extract<IngestProgress, { done: true }>> {
  for (let step = 0; step < MAX_STEPS; step++) {
    const progress = await index.ingestText(sourceId, runId);
    if (progress.done) return progress;
  }
  throw new Error("the build does not end");
}

export async function load(index: Index, texts: Record<string, string>): Promise<void> {
  for (const [sourceId, text] of Object.entries(texts)) {
    await index.stageText(sourceId, `Title of ${sourceId}`, text, ROOM);
    await ingest(index, sourceId);
  }
}

export function search(index: Index, question: string, ...previousQuestions: string[]): Promise<Retrieval> {
  return index.search({ question, previousQuestions, limit: 8 });
}

/** The sources found, best first, each once. */
export async function found(index: Index, question: string, ...previousQuestions: string[]): Promise<string[]> {
  const { passages } = await search(index, question, ...previousQuestions);
  return [...new Set(passages.map((passage) => passage.sourceId))];
}

/** A text that takes several steps to index; every section names `word`. */
export function longText(sections: number, word = "zebra"): string {
  const section = (at: number): string =>
    `## Section ${at}\n\nParagraph ${at} speaks of the ${word} at some length, so that it is a section.`;
  return Array.from({ length: sections }, (_, at) => section(at)).join("\n\n");
}

/** Every row of every table in an object's storage, shadow tables of the full-text index included. */
export function dump(sql: SqlStorage): Record<string, unknown[]> {
  const tables = sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'");
  return Object.fromEntries(tables.toArray().map(({ name }) => [name, sql.exec(`SELECT * FROM "${name}"`).toArray()]));
}
