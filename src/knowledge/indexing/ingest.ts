import { sha256OfPieces } from "../../platform/crypto/hashes.ts";
import { terms } from "../../text/terms.ts";
import { type Chunk, chunks, type ChunkSlices, cleanText } from "./chunk.ts";
import type { Generation, IndexStore, NewChunk, StagedText } from "./store.ts";

/** The progress of a build. The caller repeats the step until it is done. */
export type IngestProgress =
  | { done: false }
  | { done: true; outcome: "ready"; pagesIndexed: number; chunksCount: number; unchanged: boolean }
  | { done: true; outcome: "failed"; code: "text_missing" | "text_empty"; message: string };

/** A part of each content hash. Increment it with every change of chunks or terms, so that the next sync builds a new index. */
export const PIPELINE_VERSION = 4;
/**
 * The cost of one step, which takes about 5 ms, for which a search may have to wait. The cost of a chunk is its length, or
 * MIN_CHUNK_COST if it is shorter.
 */
export const STEP_COST = 32 * 1024;
const MIN_CHUNK_COST = 512;
/** The cost of a stretch of the text that is read without a chunk. */
const SLICE_COST = STEP_COST / 2;
/** The number of builds that one batch of the queue starts, each with a text of up to 5 MB. Without a cursor, each step reads the text again. */
const MAX_CACHED_CURSORS = 5;
const MAX_TITLE_LENGTH = 300;

/** A position in the chunks of one text, kept in memory between the steps of a build. */
export class ChunkCursor {
  /** The number of chunks returned so far. A cursor whose position differs from the stored one (after a failed write) is replaced. */
  position = 0;
  /** Whether all chunks were returned. */
  isAtEnd = false;
  private readonly chunks: ChunkSlices;

  /**
   * @param id of the generation or document that is built.
   * @param parts the text. Each part is cleaned by itself.
   */
  constructor(
    readonly id: number,
    parts: Iterable<string>,
    startAt: number,
  ) {
    this.chunks = chunksOf(parts);
    while (this.position < startAt && !this.isAtEnd) this.read();
  }

  /** The next chunks, until reading them costs this much. There may be none before the end, too. */
  next(maxCost: number): { chunks: Chunk[]; cost: number } {
    const found: Chunk[] = [];
    let cost = 0;
    while (cost < maxCost && !this.isAtEnd) {
      const chunk = this.read();
      if (chunk) found.push(chunk);
      cost += chunk ? Math.max(MIN_CHUNK_COST, chunk.content.length) : SLICE_COST;
    }
    return { chunks: found, cost };
  }

  private read(): Chunk | undefined {
    const { value, done = false } = this.chunks.next() as IteratorResult<Chunk | undefined, undefined>;
    this.isAtEnd = done;
    if (value) this.position++;
    return value;
  }
}

function* chunksOf(parts: Iterable<string>): ChunkSlices {
  let text = "";
  for (const part of parts) {
    if (text !== "" && part !== "") yield undefined;
    text += cleanText(part);
  }
  yield* chunks(text);
}

/** Indexes text sources in bounded steps, each as a new generation beside the live one. */
export class TextIngestion {
  /** The cursors of running builds by generation, oldest first. */
  private readonly cursors = new Map<number, ChunkCursor>();

  constructor(private readonly store: IndexStore) {}

  /**
   * Stores a text to be indexed; null renames the text that is stored, if there is one. The same text again changes nothing.
   * @param uploadId the file that has the text. If another file has replaced it, nothing is stored.
   * @param maxBytes the most bytes that all texts and pages of the agent may have.
   * @returns the bytes that they would have, if that is more; nothing is stored then.
   */
  async stage(
    sourceId: string,
    { name, text, uploadId }: { name: string; text: string | null; uploadId?: string | undefined },
    maxBytes: number,
  ): Promise<number | undefined> {
    const before = this.findText(sourceId);
    // A waiting file gets its new name when its text is extracted.
    if (text === null && !before) return undefined;
    const bytes = new TextEncoder().encode(text ?? this.store.readText(sourceId));
    const hash = await contentHash(name, bytes);
    // The hash is awaited, so the file or the text may have been replaced until now.
    if (uploadId !== undefined && !this.store.hasUpload(sourceId, uploadId)) return undefined;
    const stored = this.findText(sourceId);
    if (text === null && stored?.hash !== before?.hash) return this.stage(sourceId, { name, text, uploadId }, maxBytes);
    const isNew = stored?.hash !== hash;
    const total = this.store.textBytesBeside(sourceId) + bytes.length;
    if (isNew && total > maxBytes) return total;
    this.store.write(() => {
      if (isNew) this.store.putText(sourceId, { name, hash }, bytes);
      // A new name keeps a file that waits to replace the text.
      if (text !== null) this.store.deleteFile(sourceId);
    });
    return undefined;
  }

  /** Takes one step of building a generation. */
  step(sourceId: string, runId: string): IngestProgress {
    const text = this.findText(sourceId);
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
      this.store.deleteFile(sourceId);
      this.store.deleteIndexOf(sourceId);
    });
  }

  forgetAll(): void {
    this.cursors.clear();
  }

  private findText(sourceId: string): StagedText | undefined {
    return this.store.isEmpty ? undefined : this.store.findText(sourceId);
  }

  private generationFor(sourceId: string, runId: string, hash: string): Generation {
    const building = this.store.findGeneration(sourceId, "building");
    if (building?.runId === runId && building.hash === hash) return building;
    if (building) this.store.deleteGeneration(building);
    const generation = this.store.createGeneration(sourceId, runId, hash);
    const title = this.store.findText(sourceId)!.name;
    // The stored text is counted instead of the document.
    this.store.createDocument({ sourceId, generationId: generation.id, type: "text", url: null, title, hash, textBytes: 0 });
    return generation;
  }

  private build(sourceId: string, title: string, generation: Generation): IngestProgress {
    const document = this.store.findDocument(generation.id, sourceId)!;
    const cursor = this.cursorAt(sourceId, generation, document.chunksCount);
    const { chunks: next } = cursor.next(STEP_COST);
    const titleTerms = titleTermsOf(title);
    this.store.addChunks(
      document.id,
      generation.id,
      next.map((chunk) => newChunk(chunk, titleTerms)),
    );
    if (!cursor.isAtEnd) return { done: false };
    this.cursors.delete(generation.id);
    if (document.chunksCount + next.length === 0) {
      return this.fail(sourceId, "text_empty", "The text holds nothing to answer from. Create the source again with text.");
    }
    this.store.switchLive(sourceId, generation.id);
    return this.ready(sourceId, false);
  }

  /** A cursor after the chunks that are indexed already. */
  private cursorAt(sourceId: string, { id }: Generation, indexed: number): ChunkCursor {
    const cached = this.cursors.get(id);
    if (cached?.position === indexed) return cached;
    this.cursors.delete(id);
    if (this.cursors.size === MAX_CACHED_CURSORS) this.cursors.delete(this.cursors.keys().next().value!);
    const cursor = new ChunkCursor(id, this.store.textParts(sourceId), indexed);
    this.cursors.set(id, cursor);
    return cursor;
  }

  private ready(sourceId: string, unchanged: boolean): IngestProgress {
    const { pages, chunks: chunksCount } = this.store.countLive(sourceId);
    return { done: true, outcome: "ready", pagesIndexed: pages, chunksCount, unchanged };
  }

  private fail(sourceId: string, code: "text_missing" | "text_empty", message: string): IngestProgress {
    this.drop(sourceId);
    return { done: true, outcome: "failed", code, message };
  }

  /** Removes a source's unfinished generation. */
  private drop(sourceId: string): void {
    const building = this.store.isEmpty ? undefined : this.store.findGeneration(sourceId, "building");
    if (!building) return;
    this.cursors.delete(building.id);
    this.store.write(() => this.store.deleteGeneration(building));
  }
}

/** The index terms of a title, which all chunks of its document share. */
export function titleTermsOf(title: string): string {
  return terms(title.slice(0, MAX_TITLE_LENGTH)).join(" ");
}

/** The index terms of a heading; "" without a heading. */
export function headingTermsOf(heading: string | null): string {
  return heading === null ? "" : terms(heading).join(" ");
}

/** A chunk with its index terms. */
export function newChunk({ heading, content }: Chunk, titleTerms: string): NewChunk {
  return { heading, content, titleTerms, headingTerms: headingTermsOf(heading), bodyTerms: terms(content).join(" ") };
}

function contentHash(name: string, bytes: Uint8Array): Promise<string> {
  return sha256OfPieces([new TextEncoder().encode(`${name.length}:${name}:`), bytes]);
}
