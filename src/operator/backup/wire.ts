import { z } from "@hono/zod-openapi";
import { integerQuery, slug, timestamp, uuid } from "../../http/fields.ts";
import { tally } from "./progress.ts";

/** Of an export's lines; another one is another format. */
export const FORMAT = 1;
/** A place may hold a question of 2,000 characters. */
const MAX_CURSOR_LENGTH = 16_000;
/** Pages of one request: well below the 1,000 queries that one invocation may make; a page takes two at most. */
export const MAX_PAGES = 200;
/** About 200 ms of the database's time. */
const MAX_RECORDS = 500;
/** A parameter of D1 ends at 2 MB, and the records of one table go to it as one. */
export const MAX_IMPORT_BYTES = 1_900_000;

export const exportQuery = z.object({
  cursor: z.string().max(MAX_CURSOR_LENGTH).optional().openapi({ description: "Of the line that an answer before ended with." }),
  pages: integerQuery({ min: 1, max: MAX_PAGES, default: MAX_PAGES }),
});

/** The first line of an export. */
const headerSchema = z.strictObject({
  type: z.literal("header"),
  format: z.literal(FORMAT),
  /** Names the tables and columns that the records have. */
  schema: z.string(),
  export_id: uuid(),
  workspace_id: uuid(),
  slug: slug(),
  exported_at: timestamp(),
  /** Which values of the two secrets the deployment had: their ids, not the values. */
  key_ids: z.strictObject({ ENCRYPTION_KEY: z.array(z.string()), KEY_SECRET: z.array(z.string()) }),
});

export type Header = z.infer<typeof headerSchema>;

/** The last line of an export. */
const endSchema = z.strictObject({ type: z.literal("end"), ...tally });

export type End = z.infer<typeof endSchema>;

const recordSchema = z.strictObject({ type: z.string(), record: z.record(z.string(), z.unknown()) });

export const importSchema = z.strictObject({ header: headerSchema, records: z.array(recordSchema).max(MAX_RECORDS) });

export const completeSchema = z.strictObject({ header: headerSchema, end: endSchema });

export const importStateSchema = z.object({
  state: z.enum(["importing", "checking", "complete"]).openapi({ description: "checking: ask again, until it is complete." }),
  warnings: z.array(z.string()),
});

export type ImportState = z.infer<typeof importStateSchema>;
