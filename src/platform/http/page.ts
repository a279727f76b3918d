import { z } from "@hono/zod-openapi";
import { BASE64URL } from "../crypto/base64url.ts";
import type { Page, Position } from "../db/sql.ts";
import { integerQuery } from "./fields.ts";
import { valueErrorParams } from "./validation.ts";

/** The offset has a limit, since the database reads every record before the page, and a larger offset would delay other requests. */
const OFFSET = { min: 0, max: 100_000, default: 0 };

/** The paging parameters of the lists. */
export const pageQuery = z.object({
  limit: integerQuery({ min: 1, max: 100, default: 20 }),
  offset: integerQuery(OFFSET),
});

/** Returns the schema of a page, which is the envelope of every list. */
export function pageOf<Item extends z.ZodType>(item: Item, name: string) {
  return z
    .object({
      data: z.array(item),
      total: z.int(),
      limit: z.int(),
      offset: z.int(),
      has_more: z.boolean(),
    })
    .openapi(name);
}

/** Returns one page of a list of `total` records. */
export function toPage<Item>(data: Item[], total: number, { limit, offset }: { limit: number; offset: number }) {
  return { data, total, limit, offset, has_more: offset + data.length < total };
}

/** Returns a list without paging, in the same envelope. */
export function wholePage<Item>(data: Item[]) {
  return { data, total: data.length, limit: data.length, offset: 0, has_more: false };
}

/** A cursor encodes the position of the page's last record. */
const positionSchema = z.tuple([z.int().gte(0), z.guid()]);

/** The paging parameters of long lists: an offset, or the cursor of the previous page. */
export const cursorQuery = pageQuery.extend({
  offset: integerQuery({ ...OFFSET, instead: "instead, send the next_cursor of the previous page as cursor" }),
  cursor: z
    .string()
    .max(200)
    .optional()
    .transform((text, ctx) => {
      if (text === undefined) return undefined;
      const position = decodeCursor(text);
      if (position) return position;
      ctx.addIssue({ code: "custom", input: text, ...valueErrorParams("use the next_cursor of the previous page, unchanged") });
      return z.NEVER;
    })
    .meta({
      type: "string",
      description:
        "The next_cursor of the previous page. Records that are added meanwhile do not shift the pages. Do not send offset with it.",
    }),
});

/** Returns the schema of a page of a long list, which also has a cursor. */
export function cursorPageOf<Item extends z.ZodType>(item: Item, name: string) {
  return pageOf(item, `${name}Base`)
    .extend({ next_cursor: z.string().nullable().meta({ description: "Null on the last page." }) })
    .openapi(name);
}

/**
 * Returns one page of a long list.
 * @param rows one record more than the page holds, if there is one.
 */
export function toCursorPage<Row, Item>(
  rows: Row[],
  total: number,
  { limit, offset }: Page,
  positionOf: (row: Row) => Position,
  toItem: (row: Row) => Item,
) {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const hasMore = rows.length > limit;
  return {
    data: shown.map(toItem),
    total,
    limit,
    offset,
    has_more: hasMore,
    next_cursor: hasMore && last ? encodeCursor(positionOf(last)) : null,
  };
}

/** Returns the cursor with which a list continues after the record at a position. */
export function encodeCursor({ atMs, id }: Position): string {
  return BASE64URL.encode(new TextEncoder().encode(JSON.stringify([atMs, id])));
}

/** Returns the position that a cursor encodes; undefined if the text is not a cursor. */
function decodeCursor(text: string): Position | undefined {
  try {
    const json = new TextDecoder().decode(BASE64URL.decode(text));
    const [atMs, id] = positionSchema.parse(JSON.parse(json));
    return { atMs, id };
  } catch {
    return undefined;
  }
}
