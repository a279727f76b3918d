import { useRef, useState } from "preact/hooks";
import type { Change } from "./live.ts";
import { type Query, useQuery } from "./query.ts";

interface Page<Item> {
  data: Item[];
  total: number;
  next_cursor?: string | null;
}

/** How a page of a list is read; without a cursor, the first one. */
type ReadPage<Item> = (cursor: string | undefined, signal?: AbortSignal) => Promise<Page<Item>>;

/** Reads a list that has offsets alone, as one with cursors is read. */
export function byOffset<Item>(
  read: (offset: number, signal?: AbortSignal) => Promise<Page<Item> & { offset: number; has_more: boolean }>,
): ReadPage<Item> {
  return async (cursor, signal) => {
    const page = await read(Number(cursor ?? 0), signal);
    return { ...page, next_cursor: page.has_more ? String(page.offset + page.data.length) : null };
  };
}

/** A list that is read page by page as the reader comes to its end. */
export interface Pages<Item> {
  items: readonly Item[];
  total: number | undefined;
  /** The first page, which is read again when something changes. */
  first: Query<Page<Item>>;
  hasMore: boolean;
  loadMore: () => void;
  /** Why a later page could not be read. */
  error: unknown;
}

/** @param key which list it is: another one begins anew. */
export function usePages<Item extends { id: string }>(key: string, read: ReadPage<Item>, watch?: (change: Change) => boolean): Pages<Item> {
  const [more, setMore] = useState<Later<Item> | undefined>();
  const [error, setError] = useState<unknown>();
  const isLoading = useRef(false);
  const shown = useRef<readonly Item[]>([]);
  const readFirst = async (signal: AbortSignal) => {
    const page = await read(undefined, signal);
    if (!signal.aborted) setMore((later) => (later?.key === key ? laterThan(page.data, shown.current, later) : undefined));
    return page;
  };
  const first = useQuery(key, readFirst, watch ? { watch } : {});
  const own = more?.key === key ? more : undefined;
  const cursor = own ? own.cursor : (first.data?.next_cursor ?? null);
  const loadMore = async () => {
    if (isLoading.current || cursor === null) return;
    isLoading.current = true;
    setError(undefined);
    // From now on the later pages keep what new items push off the first one.
    setMore(own ?? { key, data: [], cursor });
    try {
      const page = await read(cursor);
      const next = page.next_cursor ?? null;
      setMore((later) => (later?.key === key ? { ...later, data: [...later.data, ...page.data], cursor: next } : later));
    } catch (failure) {
      setError(failure);
    }
    isLoading.current = false;
  };
  const items = unique([...(first.data?.data ?? []), ...(own?.data ?? [])]);
  shown.current = items;
  return { items, total: first.data?.total, first, hasMore: cursor !== null, loadMore: () => void loadMore(), error };
}

/** What was read behind the first page, and where to read on. */
interface Later<Item> {
  key: string;
  data: readonly Item[];
  cursor: string | null;
}

/** The later pages behind a first one that was read again; none where so much is new that there is a gap between them. */
function laterThan<Item extends { id: string }>(
  first: readonly Item[],
  shown: readonly Item[],
  later: Later<Item>,
): Later<Item> | undefined {
  const last = shown.findIndex(({ id }) => id === first.at(-1)?.id);
  return last < 0 ? undefined : { ...later, data: shown.slice(last + 1) };
}

/** What moved to the top while later pages were read stands there alone. */
function unique<Item extends { id: string }>(items: Item[]): Item[] {
  return [...new Map(items.toReversed().map((one) => [one.id, one])).values()].toReversed();
}
