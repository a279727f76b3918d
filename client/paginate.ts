/** The position of a page in a list: after a cursor, or from an offset on. */
export interface Place {
  limit?: number | undefined;
  offset?: number | undefined;
  cursor?: string | undefined;
}

interface Page<Item> {
  data: Item[];
  offset: number;
  has_more: boolean;
  next_cursor?: string | null;
}

const LARGEST_PAGE = 100;

/** Yields every record of a list, page by page: `for await (const lead of paginate(client.listLeads, { q: "ann" })) …` */
export async function* paginate<Item, Query extends Place | undefined>(
  list: (input: Query) => Promise<Page<Item>>,
  ...[query]: undefined extends Query ? [query?: NoInfer<Query>] : [query: NoInfer<Query>]
): AsyncGenerator<Item, void> {
  for (let place: Place | null = {}; place !== null;) {
    const page: Page<Item> = await list({ limit: LARGEST_PAGE, ...query, ...place } as Query);
    yield* page.data;
    place = nextPlace(page);
  }
}

/** Where the next page of a list begins; null after the last one. */
export function nextPlace({ data, offset, has_more: hasMore, next_cursor: cursor }: Page<unknown>): Place | null {
  if (!hasMore || data.length === 0) return null;
  return cursor ? { cursor, offset: undefined } : { offset: offset + data.length };
}
