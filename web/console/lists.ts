import { useEffect, useRef, useState } from "preact/hooks";
import { nextPlace, type Place } from "../../client/paginate.ts";
import type { Change } from "../../src/events/live-protocol.ts";
import { type Query, useQuery } from "./query.ts";

/*
 * Long lists. `usePages` loads a list page by page, as the user scrolls to its end; `useListWindow` keeps only the rows around the
 * visible ones, so that the user can jump anywhere.
 */

interface Page<Item> {
  data: Item[];
  total: number;
  offset: number;
  has_more: boolean;
  next_cursor?: string | null;
}

/** Reads a page of a list with a method of the client. */
type ReadPage<Item> = (place: Place, options: { signal?: AbortSignal | undefined }) => Promise<Page<Item>>;

/** Returns whether a list is read again after a change. */
type Watch = (change: Change) => boolean;

// --- A list that grows ---------------------------------------------------------------------------------------------------

const PAGE_SIZE = 50;

export interface Pages<Item> {
  items: readonly Item[];
  total: number | undefined;
  /** The query of the first page, which is repeated when something changes. Its `reload` has the later pages read again too. */
  first: Query<Page<Item>>;
  hasMore: boolean;
  loadMore: () => void;
  /** The error of a later page. */
  error: unknown;
}

/** The items after the first page, and the position of the next page, which is null at the end of the list. */
interface Later<Item> {
  key: string;
  data: readonly Item[];
  next: Place | null;
  error?: unknown;
}

/** @param key identifies the list. When it changes, the hook starts over. */
export function usePages<Item extends { id: string }>(key: string, read: ReadPage<Item>, watch?: Watch): Pages<Item> {
  const [more, setMore] = useState<Later<Item> | undefined>();
  /** The list of which a later page is being read. */
  const loading = useRef<string>(undefined);
  const shown = useRef<readonly Item[]>([]);
  const readFirst = async (signal: AbortSignal) => {
    const page = await read({ limit: PAGE_SIZE }, { signal });
    if (!signal.aborted) setMore((later) => (later?.key === key ? laterThan(page.data, shown.current, later) : undefined));
    return page;
  };
  const first = useQuery(key, readFirst, watch);
  const own = more?.key === key ? more : undefined;
  const next = own ? own.next : first.data ? nextPlace(first.data) : null;
  const loadMore = async () => {
    if (loading.current === key || next === null) return;
    loading.current = key;
    // From now on, items that new ones push off the first page are kept among the later pages.
    setMore({ ...(own ?? { key, data: [], next }), error: undefined });
    try {
      const page = await read({ limit: PAGE_SIZE, ...next }, {});
      setMore((later) => (later?.key === key ? { ...later, data: [...later.data, ...page.data], next: nextPlace(page) } : later));
    } catch (error) {
      setMore((later) => (later?.key === key ? { ...later, error } : later));
    }
    if (loading.current === key) loading.current = undefined;
  };
  const items = unique([...(first.data?.data ?? []), ...(own?.data ?? [])]);
  shown.current = items;
  const reload = () => {
    setMore(undefined);
    first.reload();
  };
  return {
    items,
    total: first.data?.total,
    first: { ...first, reload },
    hasMore: next !== null,
    loadMore: () => void loadMore(),
    error: own?.error,
  };
}

/** Updates the later pages after the first one was read again. Returns undefined if more items are new than the first page holds. */
function laterThan<Item extends { id: string }>(
  first: readonly Item[],
  shown: readonly Item[],
  later: Later<Item>,
): Later<Item> | undefined {
  const last = shown.findIndex(({ id }) => id === first.at(-1)?.id);
  return last < 0 ? undefined : { ...later, data: shown.slice(last + 1) };
}

/** Removes the later copy of an item that moved to the top between two reads. */
function unique<Item extends { id: string }>(items: Item[]): Item[] {
  return [...new Map(items.toReversed().map((one) => [one.id, one])).values()].toReversed();
}

// --- A list of which only the rows around the visible ones are kept ---------------------------------------------------------

export interface ListWindow<Item> {
  key: string;
  /** The number of rows that can be shown; undefined until the first ones are read. */
  length: number | undefined;
  /** The item of a row; undefined while it is being read, and if there is no such row. */
  itemAt: (at: number) => Item | undefined;
  /** The row of an item; -1 if the item is not kept. */
  indexOf: (id: string | undefined) => number;
  query: Pick<Query<Page<Item>>, "data" | "error" | "isLoading" | "reload">;
  /** Sets the visible rows, and reads those that are missing around them. */
  show: (first: number, last: number) => void;
}

/** The largest page of the API. */
const WINDOW_SIZE = 100;
/** The rows before and after the visible ones that are read in advance. */
const MARGIN = 20;
/** The largest offset of the API. */
const MAX_LENGTH = 100_000;
/** The least time between two reads while the user scrolls. */
const PAUSE_MS = 200;

/** @param key identifies the list. When it changes, the hook starts at the first row. */
export function useListWindow<Item extends { id: string }>(key: string, read: ReadPage<Item>, watch: Watch): ListWindow<Item> {
  const [wanted, setWanted] = useState({ key, offset: 0 });
  const offset = wanted.key === key ? wanted.offset : 0;
  const query = useQuery(`${key} ${offset}`, (signal) => read({ offset, limit: WINDOW_SIZE }, { signal }), watch);
  const held = useRef<{ key: string; page: Page<Item> } | undefined>(undefined);
  if (query.data) held.current = { key, page: query.data };
  // The rows that were read before stay visible while others are read.
  const page = held.current?.key === key ? held.current.page : undefined;
  const length = page && Math.min(page.total, MAX_LENGTH);
  const moveTo = useThrottled((to: number) => setWanted({ key, offset: to }), key);
  return {
    key,
    length,
    itemAt: (at) => page?.data[at - page.offset],
    indexOf: (id) => {
      const at = page?.data.findIndex((item) => item.id === id) ?? -1;
      return at < 0 ? -1 : at + page!.offset;
    },
    query: { ...query, data: page },
    show: (first, last) => {
      const hasBefore = offset === 0 || first >= offset + MARGIN;
      const hasAfter = offset + WINDOW_SIZE >= (length ?? 0) || last < offset + WINDOW_SIZE - MARGIN;
      if (!hasBefore || !hasAfter) moveTo(Math.max(0, Math.floor((first + last - WINDOW_SIZE) / 2)));
    },
  };
}

/** Calls a function at once, and after each pause with the latest value. */
function useThrottled(then: (value: number) => void, key: string): (value: number) => void {
  const state = useRef<{ timer?: ReturnType<typeof setTimeout> | undefined; value?: number | undefined }>({});
  const latest = useRef(then);
  latest.current = then;
  useEffect(
    () => () => {
      clearTimeout(state.current.timer);
      state.current = {};
    },
    [key],
  );
  const call = (value: number) => {
    if (state.current.timer !== undefined) {
      state.current.value = value;
      return;
    }
    latest.current(value);
    state.current = {
      timer: setTimeout(() => {
        const { value: waiting } = state.current;
        state.current = {};
        if (waiting !== undefined) call(waiting);
      }, PAUSE_MS),
    };
  };
  return call;
}
