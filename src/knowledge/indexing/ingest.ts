import { terms } from "../../text/terms.ts";
import { type Chunk, chunks, cleanText } from "./chunk.ts";
import type { Generation, IndexStore, NewChunk } from "./store.ts";

/** How far the building of a source has come. The caller asks again until it is done. */
export type IngestProgress =
  | { done: false }
  | { done: true; outcome: "ready"; pagesIndexed: number; chunksCount: number; unchanged: boolean }
  | { done: true; outcome: "failed"; code: "text_missing" | "text_empty"; message: string };

/** Part of each content hash: raised whenever chunks or terms are made differently, so that a sync builds anew. */
export const PIPELINE_VERSION = 1;
/** About 20 ms of work: a search that arrives meanwhile waits no longer. Half as many would cost a third more in all. */
export const CHUNKS_PER_STEP = 64;
/**
 * Builds whose place in the text is remembered between steps: as many as one batch of the queue begins at once, each with
 * its text of 5 MB. One that was forgotten reads its text again at each step.
 */
const REMEMBERED_BUILDS = 5;
const MAX_TITLE_LENGTH = 300;

interface Build {
  generationId: number;
  chunks: Iterator<Chunk>;
  /** How many were taken: where storage says otherwise (a write failed), the place is found anew. */
  taken: number;
}

/** Builds generations of text sources in bounded steps, beside the live ones. */
export class TextIngestion {
  private readonly builds: Build[] = [];

  constructor(private readonly store: IndexStore) {}

  /** Keeps a text for building. The same text again changes nothing. */
  async stage(sourceId: string, name: string, text: string): Promise<void> {
    const bytes = new TextEncoder().encode(text);
    const hash = await contentHash(name, bytes);
    if (!this.store.isEmpty && this.store.findText(sourceId)?.hash === hash) return;
    this.store.write(() => this.store.putText(sourceId, { name, hash }, bytes));
  }

  /** One step of building a generation. */
  step(sourceId: string, runId: string): IngestProgress {
    const text = this.store.isEmpty ? undefined : this.store.findText(sourceId);
    if (!text) return this.fail(sourceId, "text_missing", "The text of this source is not stored. Delete the source and create it again.");
    const hash = `${PIPELINE_VERSION}:${text.hash}`;
    if (this.store.findGeneration(sourceId, "live")?.hash === hash) {
      this.drop(sourceId);
      return this.ready(sourceId, true);
    }
    return this.store.write(() => this.build(sourceId, text.name, this.generationFor(sourceId, runId, hash)));
  }

  /** Removes all of a source. */
  remove(sourceId: string): void {
    if (this.store.isEmpty) return;
    this.drop(sourceId);
    this.store.write(() => {
      this.store.deleteText(sourceId);
      this.store.deleteIndexOf(sourceId);
    });
  }

  forgetAll(): void {
    this.builds.length = 0;
  }

  private generationFor(sourceId: string, runId: string, hash: string): Generation {
    const begun = this.store.findGeneration(sourceId, "building");
    if (begun?.runId === runId && begun.hash === hash) return begun;
    if (begun) this.store.deleteGeneration(begun);
    const generation = this.store.createGeneration(sourceId, runId, hash);
    const title = this.store.findText(sourceId)!.name;
    this.store.createDocument({ sourceId, generationId: generation.id, type: "text", url: null, title, hash });
    return generation;
  }

  private build(sourceId: string, title: string, generation: Generation): IngestProgress {
    const document = this.store.findDocument(generation.id, sourceId)!;
    const build = this.resume(sourceId, generation, document.chunksCount);
    const next = take(build.chunks, CHUNKS_PER_STEP);
    build.taken += next.length;
    const titleTerms = titleTermsOf(title);
    this.store.addChunks(
      document.id,
      generation.id,
      next.map((chunk) => newChunk(chunk, titleTerms)),
    );
    if (next.length === CHUNKS_PER_STEP) return { done: false };
    this.forget(generation.id);
    if (document.chunksCount + next.length === 0) {
      return this.fail(sourceId, "text_empty", "The text holds nothing to answer from. Create the source again with its text.");
    }
    this.store.switchLive(sourceId, generation.id);
    return this.ready(sourceId, false);
  }

  /** The build at its place in the text, after `indexed` chunks. */
  private resume(sourceId: string, { id }: Generation, indexed: number): Build {
    const remembered = this.builds.find((build) => build.generationId === id);
    if (remembered?.taken === indexed) return remembered;
    this.forget(id);
    const build = { generationId: id, chunks: chunks(cleanText(this.store.readText(sourceId))), taken: indexed };
    take(build.chunks, indexed);
    this.builds.push(build);
    if (this.builds.length > REMEMBERED_BUILDS) this.builds.shift();
    return build;
  }

  private ready(sourceId: string, unchanged: boolean): IngestProgress {
    const { pages, chunks: chunksCount } = this.store.countLive(sourceId);
    return { done: true, outcome: "ready", pagesIndexed: pages, chunksCount, unchanged };
  }

  private fail(sourceId: string, code: "text_missing" | "text_empty", message: string): IngestProgress {
    this.drop(sourceId);
    return { done: true, outcome: "failed", code, message };
  }

  /** Removes what is half-built of a source. */
  private drop(sourceId: string): void {
    const begun = this.store.isEmpty ? undefined : this.store.findGeneration(sourceId, "building");
    if (!begun) return;
    this.forget(begun.id);
    this.store.write(() => this.store.deleteGeneration(begun));
  }

  private forget(generationId: number): void {
    const at = this.builds.findIndex((build) => build.generationId === generationId);
    if (at >= 0) this.builds.splice(at, 1);
  }
}

/** A title's terms, for all chunks that stand under it. */
export function titleTermsOf(title: string): string {
  return terms(title.slice(0, MAX_TITLE_LENGTH)).join(" ");
}

/** A heading's terms; "" for a chunk without one. */
export function headingTermsOf(heading: string | null): string {
  return heading === null ? "" : terms(heading).join(" ");
}

/** A chunk with what the index has of it. */
export function newChunk({ heading, content }: Chunk, titleTerms: string): NewChunk {
  return { heading, content, titleTerms, headingTerms: headingTermsOf(heading), bodyTerms: terms(content).join(" ") };
}

/** The next of an iterator's values, at most so many. */
export function take<T>(iterator: Iterator<T>, count: number): T[] {
  const taken: T[] = [];
  while (taken.length < count) {
    const { value, done } = iterator.next();
    if (done) break;
    taken.push(value);
  }
  return taken;
}

async function contentHash(name: string, bytes: Uint8Array): Promise<string> {
  const head = new TextEncoder().encode(`${name.length}:${name}:`);
  const all = new Uint8Array(head.length + bytes.length);
  all.set(head);
  all.set(bytes, head.length);
  return new Uint8Array(await crypto.subtle.digest("SHA-256", all)).toHex();
}
