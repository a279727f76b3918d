import { useEffect, useRef, useState } from "preact/hooks";
import { nextPlace, type Place } from "../../client/paginate.ts";
import type { Change } from "./live.ts";
import { type Query, useQuery } from "./query.ts";

/*
 * Long lists. `usePages` reads a list page by page, as the reader comes to its end; `useListWindow` holds the rows around those
 * in sight, so that the reader can jump anywhere.
 */

interface Page<Item> {
  data: Item[];
  total: number;
  offset: number;
  has_more: boolean;
  next_cursor?: string | null;
}

/** Reads one page of a list, with a method of the client. */
type ReadPage<Item> = (place: Place, options: { signal?: AbortSignal | undefined }) => Promise<Page<Item>>;

/** The changes after which a list is read again. */
type Watch = (change: Change) => boolean;

// --- A list that grows ---------------------------------------------------------------------------------------------------

const PAGE_SIZE = 50;

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

/** The items read after the first page, and where the next page begins; null at the end of the list. */
interface Later<Item> {
  key: string;
  data: readonly Item[];
  next: Place | null;
}

/** @param key identifies the list; with another key the hook starts over. */
export function usePages<Item extends { id: string }>(key: string, read: ReadPage<Item>, watch?: Watch): Pages<Item> {
  const [more, setMore] = useState<Later<Item> | undefined>();
  const [error, setError] = useState<unknown>();
  const isLoading = useRef(false);
  const shown = useRef<readonly Item[]>([]);
  const readFirst = async (signal: AbortSignal) => {
    const page = await read({ limit: PAGE_SIZE }, { signal });
    if (!signal.aborted) setMore((later) => (later?.key === key ? laterThan(page.data, shown.current, later) : undefined));
    return page;
  };
  const first = useQuery(key, readFirst, watch ? { watch } : {});
  const own = more?.key === key ? more : undefined;
  const next = own ? own.next : first.data ? nextPlace(first.data) : null;
  const loadMore = async () => {
    if (isLoading.current || next === null) return;
    isLoading.current = true;
    setError(undefined);
    // From now on the later pages keep what new items push off the first one.
    setMore(own ?? { key, data: [], next });
    try {
      const page = await read({ limit: PAGE_SIZE, ...next }, {});
      setMore((later) => (later?.key === key ? { ...later, data: [...later.data, ...page.data], next: nextPlace(page) } : later));
    } catch (failure) {
      setError(failure);
    }
    isLoading.current = false;
  };
  const items = unique([...(first.data?.data ?? []), ...(own?.data ?? [])]);
  shown.current = items;
  return { items, total: first.data?.total, first, hasMore: next !== null, loadMore: () => void loadMore(), error };
}

/** The later pages after the first page was read again; undefined if so many items are new that there is a gap between the two. */
function laterThan<Item extends { id: string }>(
  first: readonly Item[],
  shown: readonly Item[],
  later: Later<Item>,
): Later<Item> | undefined {
  const last = shown.findIndex(({ id }) => id === first.at(-1)?.id);
  return last < 0 ? undefined : { ...later, data: shown.slice(last + 1) };
}

/** Drops the later copy of an item that moved to the top while later pages were read. */
function unique<Item extends { id: string }>(items: Item[]): Item[] {
  return [...new Map(items.toReversed().map((one) => [one.id, one])).values()].toReversed();
}

// --- A list of which only the rows around those in sight are held ----------------------------------------------------------

export interface ListWindow<Item> {
  key: string;
  /** How many rows can be shown; undefined until the first ones are read. */
  length: number | undefined;
  /** Undefined while it is read, and where the list has no such row. */
  itemAt: (at: number) => Item | undefined;
  /** Of an item that is held; else -1. */
  indexOf: (id: string | undefined) => number;
  query: Pick<Query<Page<Item>>, "data" | "error" | "isLoading" | "reload">;
  /** Reads what is missing around the rows in sight. */
  show: (first: number, last: number) => void;
}

/** The largest page of the API. */
const HELD = 100;
/** Rows before and after those in sight that are held in advance. */
const MARGIN = 20;
/** The largest offset of the API. */
const MAX_LENGTH = 100_000;
/** The least time between two reads while somebody scrolls. */
const PAUSE_MS = 200;

/** @param key identifies the list; with another key the hook starts at the first row. */
export function useListWindow<Item extends { id: string }>(key: string, read: ReadPage<Item>, watch: Watch): ListWindow<Item> {
  const [wanted, setWanted] = useState({ key, offset: 0 });
  const offset = wanted.key === key ? wanted.offset : 0;
  const query = useQuery(`${key} ${offset}`, (signal) => read({ offset, limit: HELD }, { signal }), { watch });
  const held = useRef<{ key: string; page: Page<Item> } | undefined>(undefined);
  if (query.data) held.current = { key, page: query.data };
  // Rows that were read before stay in sight while those around them are read.
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
      const hasAfter = offset + HELD >= (length ?? 0) || last < offset + HELD - MARGIN;
      if (!hasBefore || !hasAfter) moveTo(Math.max(0, Math.floor((first + last - HELD) / 2)));
    },
  };
}

/** Calls at once, and then with the latest value when a pause has passed. */
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
