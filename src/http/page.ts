import { z } from "@hono/zod-openapi";
import { integerQuery } from "./fields.ts";

/** The paging parameters that the lists share. */
export const pageQuery = z.object({
  limit: integerQuery({ min: 1, max: 100, default: 20 }),
  offset: integerQuery({ min: 0, default: 0 }),
});

/** The envelope of every list. */
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

/** One page of a list of `total` records. */
export function toPage<Item>(data: Item[], total: number, { limit, offset }: { limit: number; offset: number }) {
  return { data, total, limit, offset, has_more: offset + data.length < total };
}

/** A list that is always answered whole, in the same envelope. */
export function wholePage<Item>(data: Item[]) {
  return { data, total: data.length, limit: data.length, offset: 0, has_more: false };
}
