import type { Passage } from "../models/retrieval.ts";
import { HEADING_SEPARATOR } from "./indexing/chunk.ts";
import type { SearchResult } from "./wire.ts";

/** The wire record of a passage; its heading is part of its title. */
export function toSearchResult(passage: Passage): SearchResult {
  const { url, type, content, score } = passage;
  return { title: titleOf(passage), url, source_id: passage.sourceId, type, content, score };
}

/** A passage's title with the headings it stands under; the first one is often the title itself. */
export function titleOf({ title, heading }: Pick<Passage, "title" | "heading">): string {
  const headings = heading?.split(HEADING_SEPARATOR) ?? [];
  return [title, ...(headings[0] === title ? headings.slice(1) : headings)].join(" › ");
}
