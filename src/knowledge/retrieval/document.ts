import type { Passage } from "../../models/retrieval.ts";
import type { IndexStore } from "../indexing/store.ts";
import { IS_LIVE } from "../indexing/tables.ts";

/** Identifies a document of an agent. The URL of a text or a curated answer is null. */
export interface DocumentName {
  sourceId: string;
  url: string | null;
}

/** A part of a document that the agent answers from. */
export interface DocumentPart {
  type: "page" | "text" | "answer";
  title: string;
  url: string | null;
  text: string;
  /** Where the next part begins; null at the end. */
  next: number | null;
}

/** A passage of a source, as searches find it. */
export type SourcePassage = Pick<Passage, "type" | "title" | "url" | "heading" | "content">;

/** The chunks of a part, which fit into a model's context. */
const PART_CHUNKS = 16;

type Row = { id: number; heading: string | null; content: string };

/** Reads the part of a live document that begins after the chunk `after` (0 for the beginning); undefined if there is no such document. */
export function readDocumentPart(store: IndexStore, { sourceId, url }: DocumentName, after: number): DocumentPart | undefined {
  const query = `SELECT id, type, title FROM documents WHERE source_id = ? AND url IS ? AND ${IS_LIVE} ORDER BY id LIMIT 1`;
  const [document] = store.sql.exec<{ id: number; type: "page" | "text"; title: string }>(query, sourceId, url).toArray();
  if (!document) return answerPart(store, sourceId);
  const chunks = "SELECT id, heading, content FROM chunks WHERE document_id = ? AND id > ? ORDER BY id LIMIT ?";
  const rows = store.sql.exec<Row>(chunks, document.id, after, PART_CHUNKS + 1).toArray();
  const shown = rows.slice(0, PART_CHUNKS);
  const next = rows.length > PART_CHUNKS ? shown.at(-1)!.id : null;
  return { type: document.type, title: document.title, url, text: textOf(shown), next };
}

/** Lists the live passages of a source, or of its page with this URL, in the order of the text. */
export function listPassages(
  store: IndexStore,
  { sourceId, url }: DocumentName,
  { limit, offset }: { limit: number; offset: number },
): { passages: SourcePassage[]; total: number } {
  if (store.isEmpty) return { passages: [], total: 0 };
  const where = `source_id = ?1 AND (?2 IS NULL OR url = ?2) AND ${IS_LIVE}`;
  const [count] = store.all<{ total: number }>(
    `SELECT coalesce(sum(chunks_count), 0) AS total FROM documents WHERE ${where}`,
    sourceId,
    url,
  );
  // The texts of passages before the page are not read.
  const ids = `SELECT c.id FROM documents d JOIN chunks c ON c.document_id = d.id WHERE ${where} ORDER BY d.id, c.id LIMIT ?3 OFFSET ?4`;
  const query = `SELECT d.type, d.title, d.url, c.heading, c.content FROM chunks c JOIN documents d ON d.id = c.document_id
    WHERE c.id IN (${ids}) ORDER BY d.id, c.id`;
  return { passages: store.all<SourcePassage>(query, sourceId, url, limit, offset), total: count!.total };
}

function answerPart(store: IndexStore, id: string): DocumentPart | undefined {
  const answer = store.findAnswer(id);
  return answer && { type: "answer", title: answer.question, url: null, text: answer.answer, next: null };
}

/** Joins chunks to one text, with a heading wherever it changes. */
function textOf(chunks: readonly Row[]): string {
  const parts = chunks.flatMap(({ heading, content }, at) =>
    heading === null || heading === chunks[at - 1]?.heading ? [content] : [`# ${heading}`, content],
  );
  return parts.join("\n\n");
}
