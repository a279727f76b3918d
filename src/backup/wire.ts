import { z } from "@hono/zod-openapi";
import { decryptSecret, encryptSecret } from "../platform/crypto/secrets.ts";
import { integerQuery, slug, timestamp, uuid } from "../platform/http/fields.ts";

const place = z.array(z.union([z.string(), z.number()]));

/** What a walk has met: how many records of each type, and their checksum. */
const tally = {
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

/**
 * An export's progress as the text that its caller goes on with. Encrypted: a place may be a question that somebody asked,
 * and addresses with cursors in them stand in logs.
 */
export function toCursor(env: Env, workspaceId: string, progress: Progress): Promise<string> {
  return encryptSecret(env, JSON.stringify(progress), placeOf(workspaceId));
}

/** Reads what `toCursor` made for the same workspace; undefined for anything else. */
export async function fromCursor(env: Env, workspaceId: string, cursor: string): Promise<Progress | undefined> {
  try {
    return progressSchema.parse(JSON.parse(await decryptSecret(env, cursor, placeOf(workspaceId))));
  } catch {
    return undefined;
  }
}

function placeOf(workspaceId: string): string {
  return `export/${workspaceId}`;
}
