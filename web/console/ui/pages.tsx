import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Pages } from "../pages.ts";
import { Button } from "./button.tsx";
import { ErrorState, Loaded } from "./states.tsx";

/** Reads the next page when the end of a list comes into sight. */
export function EndOfPages({ pages: { hasMore, items, loadMore, error } }: { pages: Omit<Pages<unknown>, "first"> }) {
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

interface TableProps<Item extends { id: string }> {
  pages: Pages<Item>;
  /** Read aloud before the table. */
  label: string;
  columns: readonly (readonly [title: string, cell: (item: Item) => ComponentChildren, kind?: "number"])[];
  empty: ComponentChildren;
}

/** A list as a table. */
export function PagesTable<Item extends { id: string }>({ pages, label, columns, empty }: TableProps<Item>) {
  return (
    <Loaded query={pages.first}>
      {() =>
        pages.items.length === 0 ? (
          empty
        ) : (
          <>
            <div class="table-scroll" tabIndex={0} role="region" aria-label={label}>
              <table>
                <thead>
                  <tr>
                    {columns.map(([title, , kind]) => (
                      <th key={title} scope="col" class={kind ?? ""}>
                        {title}
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {pages.items.map((item) => (
                    <tr key={item.id}>
                      {columns.map(([title, cell, kind]) => (
                        <td key={title} class={kind ?? ""}>
                          {cell(item)}
                        </td>
                      ))}
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
            <EndOfPages pages={pages} />
          </>
        )
      }
    </Loaded>
  );
}
