import type { Operation } from "../platform/db/client.ts";
import { conversationIndexOf } from "./conversation-index.ts";
import type { ConversationQuery } from "./search-index.ts";
import { type ConversationFilter, listConversations, type OrderedPage, pageConversations } from "./list-store.ts";
import { listContents } from "./search-store.ts";
import { snippetOf, type SnippetPart, toPhrases } from "./search-text.ts";
import type { ListedRow } from "./wire.ts";

/** The text of a conversation that matches a search. */
interface Match {
  message_id: string | null;
  snippet: SnippetPart[];
}

interface Found {
  /** The rows of the page, and one more if there is another page. */
  rows: ListedRow[];
  matches: Map<string, Match>;
  total: number;
}

/** A search, or a list if `q` is missing. The order and the filters that the index lacks apply only to a list. */
type MaybeSearch = ConversationFilter & OrderedPage & { q?: string | undefined };

/**
 * Reads one page of conversations by last activity, and the total. With `q`, the index finds them.
 * @returns undefined while the index is being built.
 */
export async function findConversations(op: Operation, { q, ...query }: MaybeSearch): Promise<Found | undefined> {
  const { db, workspaceId } = op;
  if (!q) {
    const [rows, [counted]] = await db.batch(pageConversations(db, workspaceId, query));
    return { rows, matches: new Map(), total: counted?.total ?? 0 };
  }
  const result = await search(op, { ...query, q });
  if (result.outcome === "indexing") return undefined;
  const { hits, total } = result;
  if (hits.length === 0) return { rows: [], matches: new Map(), total };
  const recordIds = hits.flatMap(({ recordId }) => recordId ?? []);
  const ids = hits.map(({ id }) => id);
  const [found, ...texts] = await db.batch([listConversations(db, workspaceId, ids), ...listContents(db, workspaceId, recordIds)]);
  const rowOf = new Map(found.map((row) => [row.record.id, row]));
  const contentOf = new Map(texts.flat().map(({ id, content }) => [id, content]));
  const phrases = toPhrases(q);
  const matchOf = ({ record: { subject, visitor } }: ListedRow, recordId: string | null): Match => {
    const about = [subject, visitor?.name, visitor?.email].filter(Boolean).join(" · ");
    return { message_id: recordId, snippet: snippetOf(recordId === null ? about : (contentOf.get(recordId) ?? ""), phrases) };
  };
  const shown = hits.flatMap(({ id, recordId }) => {
    const row = rowOf.get(id);
    return row ? [{ row, match: matchOf(row, recordId) }] : [];
  });
  return { rows: shown.map(({ row }) => row), matches: new Map(shown.map(({ row, match }) => [row.record.id, match])), total };
}

/** Reads one page of conversations like `findConversations`, without the total and the texts that match. */
export async function listConversationRows(op: Operation, { q, ...query }: MaybeSearch): Promise<ListedRow[] | undefined> {
  const { db, workspaceId } = op;
  if (!q) {
    const [page] = pageConversations(db, workspaceId, query);
    return (await db.batch([page]))[0];
  }
  const result = await search(op, { ...query, q });
  if (result.outcome === "indexing") return undefined;
  const ids = result.hits.map(({ id }) => id);
  return ids.length === 0 ? [] : (await db.batch([listConversations(db, workspaceId, ids)]))[0];
}

async function search(op: Operation, query: ConversationQuery) {
  const { cost, ...result } = await conversationIndexOf(op).search(query);
  op.meter.add(cost);
  return result;
}
