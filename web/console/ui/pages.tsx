import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Pages } from "../lists.ts";
import { Button } from "./button.tsx";
import { ErrorState, Loaded } from "./states.tsx";
import { type Column, Table } from "./table.tsx";

/** Loads the next page when the end of a list becomes visible. */
function EndOfPages({ hasMore, items, loadMore, error }: Omit<Pages<unknown>, "first">) {
  const element = useRef<HTMLDivElement>(null);
  const latest = useRef(loadMore);
  latest.current = loadMore;
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && latest.current(), { rootMargin: "600px" });
    if (element.current) observer.observe(element.current);
    return () => observer.disconnect();
  }, [hasMore, items.length]);
  if (error) return <ErrorState error={error} retry={loadMore} />;
  if (!hasMore) return null;
  return (
    <div ref={element} class="end">
      <Button variant="quiet" onClick={loadMore}>
        Show more
      </Button>
    </div>
  );
}

interface Props<Item> {
  pages: Pages<Item>;
  /** Shown if the list has no items. */
  empty: ComponentChildren;
}

/** A list that loads more at its end, once the first page is loaded. */
function LoadedPages<Item extends { id: string }>({ pages, empty, children }: Props<Item> & { children: ComponentChildren }) {
  return (
    <Loaded query={pages.first}>
      {() =>
        pages.items.length === 0 ? (
          empty
        ) : (
          <>
            {children}
            <EndOfPages {...pages} />
          </>
        )
      }
    </Loaded>
  );
}

/** A list as cards. */
export function PagesCards<Item extends { id: string }>({ card, ...props }: Props<Item> & { card: (item: Item) => ComponentChildren }) {
  return (
    <LoadedPages {...props}>
      <ul class="stack">
        {props.pages.items.map((item) => (
          <li key={item.id} class="card">
            {card(item)}
          </li>
        ))}
      </ul>
    </LoadedPages>
  );
}

/** A list as a table. */
export function PagesTable<Item extends { id: string }>({
  label,
  columns,
  ...props
}: Props<Item> & { label: string; columns: readonly Column<Item>[] }) {
  return (
    <LoadedPages {...props}>
      <Table label={label} columns={columns} rows={props.pages.items} keyOf={({ id }) => id} />
    </LoadedPages>
  );
}
