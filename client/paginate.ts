interface ListInput {
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

/** Every record of a list, page after page: `for await (const lead of paginate(client.listLeads, { q: "ann" })) …` */
export async function* paginate<Item, Query extends ListInput | undefined>(
  list: (input: Query) => Promise<Page<Item>>,
  ...[query]: undefined extends Query ? [query?: NoInfer<Query>] : [query: NoInfer<Query>]
): AsyncGenerator<Item, void> {
  let next = { limit: LARGEST_PAGE, ...query };
  for (;;) {
    const page = await list(next as Query);
    yield* page.data;
    if (!page.has_more || page.data.length === 0) return;
    const place = page.next_cursor ? { cursor: page.next_cursor, offset: undefined } : { offset: page.offset + page.data.length };
    next = { ...next, ...place };
  }
}
