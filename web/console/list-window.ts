import { useEffect, useRef, useState } from "preact/hooks";
import type { Change } from "./live.ts";
import { type Query, useQuery } from "./query.ts";

interface Page<Item> {
  data: Item[];
  total: number;
  offset: number;
}

/** A long list of which only the rows around those in sight are held. */
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

/** As many as the API gives at once. */
const HELD = 100;
/** So many rows before and after those in sight are there already. */
const MARGIN = 20;
/** The largest offset of the API. */
const MAX_LENGTH = 100_000;
/** Between two reads while somebody scrolls. */
const PAUSE_MS = 200;

/** @param key which list it is: another one begins at its first row. */
export function useListWindow<Item extends { id: string }>(
  key: string,
  read: (page: { offset: number; limit: number }, signal: AbortSignal) => Promise<Page<Item>>,
  watch: (change: Change) => boolean,
): ListWindow<Item> {
  const [wanted, setWanted] = useState({ key, offset: 0 });
  const offset = wanted.key === key ? wanted.offset : 0;
  const query = useQuery(`${key} ${offset}`, (signal) => read({ offset, limit: HELD }, signal), { watch });
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
