import { z } from "@hono/zod-openapi";

const place = z.array(z.union([z.string(), z.number()]));

/** What a walk has met: how many records of each type, and their checksum. */
export const tally = {
  counts: z.record(z.string(), z.int().gte(0)),
  checksum: z.string().regex(/^[0-9a-f]{64}$/),
};

/** How far a walk through a workspace has come, and what it has met so far. */
export const progressSchema = z.strictObject({
  exportId: z.guid(),
  /** The part that is next, and the last key of it that was read; null before its first. */
  part: z.int().gte(0),
  after: place.nullable(),
  ...tally,
});

export type Progress = z.infer<typeof progressSchema>;
/** A row's values of the columns that its part is read in the order of. */
export type Place = z.infer<typeof place>;

const NO_RECORDS = "0".repeat(64);

/** The beginning of a walk. */
export function beginProgress(exportId: string): Progress {
  return { exportId, part: 0, after: null, counts: {}, checksum: NO_RECORDS };
}
