import { z } from "@hono/zod-openapi";
import { type Cell, csvLine } from "../csv.ts";
import type { AppContext } from "./context.ts";
import type { jsonResponse } from "./responses.ts";
import type { Page, Position } from "../db/sql.ts";
import { decodeCursor } from "./page.ts";

/** The number of records that one read gets. More would need more memory; fewer would need more trips to the database. */
const PAGE_SIZE = 500;

/** The columns of a list as CSV: each name with a function that returns the cell of a record. */
export type CsvColumns<Item> = Readonly<Record<string, (item: Item) => Cell>>;

/** Whether the caller asks for a list as CSV. */
export function wantsCsv(c: AppContext): boolean {
  return /^\s*text\/csv\b/i.test(c.req.header("Accept") ?? "");
}

/** Documents CSV as a further format of a list. */
export function orCsv<Response extends ReturnType<typeof jsonResponse>>(response: Response) {
  const schema = z.string().meta({ description: "The whole list, with `Accept: text/csv`. The parameters limit and offset are ignored." });
  return { ...response, content: { ...response.content, "text/csv": { schema } } };
}

/**
 * A whole list as CSV (RFC 4180, UTF-8), read page by page as the client takes it. A failure aborts the response.
 * @param readPage reads a page of the list.
 */
export async function csvResponse<Item>(
  c: AppContext,
  name: string,
  columns: CsvColumns<Item>,
  readPage: (page: Page & { cursor: Position | undefined }) => Promise<{ data: Item[]; next_cursor: string | null }>,
): Promise<Response> {
  const read = (cursor?: string | null) => readPage({ limit: PAGE_SIZE, offset: 0, cursor: cursor ? decodeCursor(cursor) : undefined });
  // The first page is read before the response starts, so that an invalid query gets an error and not a broken file.
  let page: Awaited<ReturnType<typeof read>> | undefined = await read();
  let head = csvLine(Object.keys(columns));
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    if (!page) return controller.close();
    const lines = page.data.map((item) => csvLine(Object.values(columns).map((cell) => cell(item))));
    controller.enqueue(new TextEncoder().encode(head + lines.join("")));
    head = "";
    page = page.next_cursor === null ? undefined : await read(page.next_cursor);
  };
  const body = new ReadableStream<Uint8Array>({ pull }, { highWaterMark: 0 });
  c.header("Content-Type", "text/csv; charset=utf-8");
  c.header("Content-Disposition", `attachment; filename="${name}.csv"`);
  return c.body(body);
}
