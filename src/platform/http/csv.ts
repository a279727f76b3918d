import { z } from "@hono/zod-openapi";
import { type Cell, csvLine } from "../csv.ts";
import type { Page, Position } from "../db/sql.ts";
import type { AppContext } from "./context.ts";
import { encodeCursor } from "./page.ts";
import type { jsonResponse } from "./responses.ts";

/** The records that one query reads. Together they take 25 MB at most. */
const PAGE_SIZE = 1_000;
/**
 * The records of one response, which take 82 queries with the guards of their shard. The platform allows an invocation 1,000 queries.
 * The number also bounds the CPU time of an invocation.
 */
const MAX_RECORDS = 40_000;

const NEXT_CURSOR = "X-Next-Cursor";

/** The columns of a list as CSV: the name of each, and what a record has in it. */
export type CsvColumns<Item> = Readonly<Record<string, (item: Item) => Cell>>;

/** Returns whether the caller asks for a list as CSV. */
export function wantsCsv(c: AppContext): boolean {
  return /^\s*text\/csv\b/i.test(c.req.header("Accept") ?? "");
}

/** Responds with at least one record as CSV. All records have the same fields, which are the columns. */
export function csvRecords(c: AppContext, name: string, records: readonly Record<string, Cell>[]): Response {
  setCsvHeaders(c, name);
  return c.body([Object.keys(records[0]!), ...records.map(Object.values)].map(csvLine).join(""));
}

function setCsvHeaders(c: AppContext, name: string): void {
  c.header("Content-Type", "text/csv; charset=utf-8");
  c.header("Content-Disposition", `attachment; filename="${name}.csv"`);
}

/** Documents CSV as a further format of a response. */
export function withCsv<Response extends ReturnType<typeof jsonResponse>>(response: Response, description: string) {
  return { ...response, content: { ...response.content, "text/csv": { schema: z.string().meta({ description }) } } };
}

/** Documents CSV as a further format of a list. */
export function orCsv<Response extends ReturnType<typeof jsonResponse>>(response: Response) {
  const records = MAX_RECORDS.toLocaleString("en");
  const description = `With \`Accept: text/csv\`: up to ${records} records from the start of the list, or after \`cursor\`; limit and offset are ignored. Only the part from the start begins with the names of the columns, so that the parts can be joined to one file.`;
  const next = {
    description: "Only of CSV: the `cursor` with which the next part is read. The last part has no such header.",
    schema: { type: "string" as const },
  };
  return { ...withCsv(response, description), headers: { ...response.headers, [NEXT_CURSOR]: next } };
}

/** A list that can be read as CSV. */
interface CsvList<Row, Item> {
  /** The name of the file, without its ending. */
  name: string;
  columns: CsvColumns<Item>;
  /** The position after which the caller continues; undefined for the start of the list. */
  cursor: Position | undefined;
  /** Whether the list begins with its oldest record instead of the newest. */
  isOldestFirst?: boolean;
  /** Reads the rows of a page, and one more if there is another page. */
  readRows: (page: Page) => Promise<Row[]>;
  positionOf: (row: Row) => Position;
  toItem: (row: Row) => Item;
}

/**
 * Responds with a part of a list as CSV (RFC 4180, UTF-8), which is read page by page as the client takes it. A header has the cursor of
 * the next part. A failure aborts the response.
 */
export async function csvResponse<Row, Item>(c: AppContext, list: CsvList<Row, Item>): Promise<Response> {
  const { columns, cursor, isOldestFirst = false, readRows, positionOf, toItem } = list;
  const isAfter = (one: Position, other: Position) => (isOldestFirst ? isNewer(one, other) : isNewer(other, one));
  const readAfter = (position: Position | undefined) => readRows({ limit: PAGE_SIZE, offset: 0, cursor: position });
  // The first page is read before anything is answered: what is wrong with the query is an error, not a broken file.
  let rows = await readAfter(cursor);
  // The end of the part is found before its records are read, since the headers of a response are sent first.
  const lastOfPart = rows.length > PAGE_SIZE ? await readRows({ limit: 1, offset: MAX_RECORDS - 1, cursor }) : [];
  const end = lastOfPart.length > 1 ? positionOf(lastOfPart[0]!) : undefined;
  if (end) c.header(NEXT_CURSOR, encodeCursor(end));
  let head = cursor ? "" : csvLine(Object.keys(columns));
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const page = rows.slice(0, PAGE_SIZE);
    const items = page.filter((row) => !end || !isAfter(positionOf(row), end)).map(toItem);
    const lines = items.map((item) => csvLine(Object.values(columns).map((cell) => cell(item))));
    const text = head + lines.join("");
    head = "";
    if (text !== "") controller.enqueue(new TextEncoder().encode(text));
    const last = page.at(-1);
    const isAtEnd = rows.length <= PAGE_SIZE || !last || (end && !isAfter(end, positionOf(last)));
    if (isAtEnd) controller.close();
    else rows = await readAfter(positionOf(last));
  };
  const body = new ReadableStream<Uint8Array>({ pull }, { highWaterMark: 0 });
  setCsvHeaders(c, list.name);
  return c.body(body);
}

/** Whether a record is newer than another one. */
function isNewer(one: Position, other: Position): boolean {
  return one.atMs === other.atMs ? one.id > other.id : one.atMs > other.atMs;
}
