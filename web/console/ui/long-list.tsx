import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ListWindow } from "../lists.ts";
import { formatNumber } from "./format.tsx";

interface Ref<Value> {
  current: Value;
}

export interface CurrentRow {
  key: string | number | undefined;
  at: number;
}

interface Props<Item> {
  list: ListWindow<Item>;
  /** The height of each row, in pixels. */
  rowHeight: number;
  /** The row that is scrolled into view when its key changes; its position is -1 while that is not known. */
  current: CurrentRow;
  row: (item: Item) => ComponentChildren;
  /** Shown above the rows, such as a note that there are none. */
  children?: ComponentChildren;
}

/** The rows before and after the visible ones that are rendered, for the keyboard and for quick scrolling. */
const SPARE_ROWS = 6;

/** A scrolling list of any length, which renders only the visible rows. They stay in place when others are inserted above them. */
export function LongList<Item extends { id: string }>({ list, rowHeight, current, row, children }: Props<Item>) {
  const scroller = useRef<HTMLDivElement>(null);
  const { length = 0 } = list;
  // The position is kept here because a hidden element may lose it. On a phone, an open conversation hides the list.
  const top = useRef(0);
  const [first, last] = useVisibleRows(scroller, top, rowHeight, length);
  useEffect(() => list.show(first, last), [first, last, list.key, length]);
  useStablePlace(scroller, top, list, rowHeight, first, last);
  useStableFocus(scroller);
  useLayoutEffect(() => {
    const { clientHeight, scrollTop } = scroller.current!;
    if (current.at < 0 || clientHeight === 0) return;
    const [from, to] = [current.at * rowHeight, (current.at + 1) * rowHeight];
    if (from < scrollTop) scroller.current!.scrollTop = from;
    else if (to > scrollTop + clientHeight) scroller.current!.scrollTop = to - clientHeight;
  }, [current.key, list.length === undefined]);
  const from = Math.max(0, first - SPARE_ROWS);
  const to = Math.min(length, last + SPARE_ROWS + 1);
  return (
    <div class="scroll" ref={scroller} tabIndex={-1} onKeyDown={moveFocus}>
      {children}
      <ul class="rows" style={{ height: `${length * rowHeight}px` }}>
        {Array.from({ length: Math.max(0, to - from) }, (_, at) => from + at).map((at) => {
          const item = list.itemAt(at);
          return (
            <li
              key={item?.id ?? at}
              data-id={item?.id}
              style={{ top: `${at * rowHeight}px`, height: `${rowHeight}px` }}
              aria-setsize={length}
              aria-posinset={at + 1}
              aria-busy={item === undefined}
            >
              {item ? row(item) : <span class="row-skeleton" />}
            </li>
          );
        })}
      </ul>
      {(list.query.data?.total ?? 0) > length && (
        <p class="end">Only the first {formatNumber(length)} are listed. Search for the others.</p>
      )}
    </div>
  );
}

/** Moves the focus to the next or previous row on ↓ and ↑. */
function moveFocus(event: KeyboardEvent): void {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const row = (event.target as Element).closest("li");
  const button = (event.key === "ArrowDown" ? row?.nextElementSibling : row?.previousElementSibling)?.querySelector("button");
  if (!button) return;
  event.preventDefault();
  button.focus();
}

/** Keeps the focus on a row that moves, and in the list if the row is no longer rendered. */
function useStableFocus(scroller: Ref<HTMLDivElement | null>): void {
  const focused = scroller.current?.contains(document.activeElement) ? document.activeElement : null;
  const id = focused?.closest<HTMLElement>("li")?.dataset["id"];
  useLayoutEffect(() => {
    if (!focused || document.activeElement !== document.body) return;
    const row = [...scroller.current!.querySelectorAll<HTMLElement>("li")].find((one) => one.dataset["id"] === id);
    (row?.querySelector("button") ?? scroller.current!).focus({ preventScroll: true });
  });
}

/** Returns the first and the last visible row. */
function useVisibleRows(
  scroller: Ref<HTMLDivElement | null>,
  top: Ref<number>,
  rowHeight: number,
  length: number,
): [first: number, last: number] {
  const [[first, last], setRows] = useState([0, 0]);
  useLayoutEffect(() => {
    const element = scroller.current!;
    const update = () => {
      if (element.clientHeight === 0) return;
      top.current = element.scrollTop;
      const rows: [number, number] = [
        Math.floor(top.current / rowHeight),
        Math.floor((top.current + element.clientHeight - 1) / rowHeight),
      ];
      setRows((before) => (before[0] === rows[0] && before[1] === rows[1] ? before : rows));
    };
    const observer = new ResizeObserver(() => {
      if (element.clientHeight > 0 && element.scrollTop !== top.current) element.scrollTop = top.current;
      update();
    });
    observer.observe(element);
    element.addEventListener("scroll", update, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", update);
    };
  }, [rowHeight]);
  const end = Math.max(0, length - 1);
  return [Math.min(first, end), Math.min(last, end)];
}

/** Scrolls along when rows above the visible ones are inserted or removed. */
function useStablePlace<Item extends { id: string }>(
  scroller: Ref<HTMLDivElement | null>,
  top: Ref<number>,
  list: ListWindow<Item>,
  rowHeight: number,
  first: number,
  last: number,
): void {
  const seen = useRef<{ at: number; id: string }[]>([]);
  useLayoutEffect(() => {
    const moves = seen.current.flatMap(({ at, id }) => {
      const now = list.indexOf(id);
      return now < 0 ? [] : [now - at];
    });
    // Most rows move by the same distance. A row that moves differently has new activity.
    const move = moves.toSorted((one, other) => one - other)[Math.floor(moves.length / 2)] ?? 0;
    if (move !== 0 && top.current > 0) scroller.current!.scrollTop = top.current += move * rowHeight;
    seen.current = [];
  }, [list.query.data]);
  useLayoutEffect(() => {
    seen.current = Array.from({ length: last - first + 1 }, (_, step) => first + step).flatMap((at) => {
      const item = list.itemAt(at);
      return item ? [{ at, id: item.id }] : [];
    });
  });
}
