import { z } from "@hono/zod-openapi";
import { decryptSecret, encryptSecret } from "../platform/crypto/secrets.ts";
import { integerQuery, slug, timestamp, uuid } from "../platform/http/fields.ts";
import { schemaVersion } from "./records.ts";

const position = z.array(z.union([z.string(), z.number()]));

/** The number of records of each type, and their checksum. */
const totals = {
  counts: z.record(z.string(), z.int().gte(0)).meta({ description: "The number of records of each type." }),
  checksum: z
    .string()
    .regex(/^[0-9a-f]{64}$/, "use the checksum of the export, unchanged")
    .meta({ description: "The checksum of all records, which does not depend on their order." }),
};

/** How much of a workspace has been read, and the totals so far. It is stored with imports and in cursors. */
export const progressSchema = z.strictObject({
  exportId: z.guid(),
  /** The current part's index, and the key of the last row that was read in it; null at its start. */
  part: z.int().gte(0),
  after: position.nullable(),
  /** The last exported agent and attachment. */
  lastIds: z.object({ agents: z.string(), attachments: z.string() }).partial(),
  ...totals,
});

export type Progress = z.infer<typeof progressSchema>;
/** The key of a row: its values of the columns that its part is ordered by. */
export type Position = z.infer<typeof position>;

const NO_RECORDS = "0".repeat(64);

/** The progress before the first record. */
export function createProgress(exportId: string): Progress {
  return { exportId, part: 0, after: null, counts: {}, checksum: NO_RECORDS, lastIds: {} };
}

/** The version of the file format. */
export const FORMAT = 1;
/** A position may hold a question's key of 200 characters, escaped and encoded. */
const MAX_CURSOR_LENGTH = 16_000;
/** Pages per request. A page takes up to two queries, and an invocation may make 1,000. */
export const MAX_PAGES = 200;
/** Records per request: about 200 ms of database time. */
const MAX_RECORDS = 500;
/** The records of one table are one bound parameter, which D1 limits to 2 MB. */
export const MAX_IMPORT_BYTES = 1_900_000;

export const exportQuery = z.object({
  cursor: z.string().max(MAX_CURSOR_LENGTH).optional().meta({ description: "The cursor in the last line of the previous response." }),
  pages: integerQuery({ min: 1, max: MAX_PAGES, default: MAX_PAGES }).meta({ description: "The number of pages of one response." }),
});

/** The first line of an export. */
const headerSchema = z.strictObject({
  type: z.literal("header").meta({ description: "The type of the line." }),
  format: z.literal(FORMAT).meta({ description: "The version of the file format." }),
  schema: z.string().meta({ description: "Identifies the tables and columns of the records." }),
  export_id: uuid().meta({ description: "The id of the export." }),
  workspace_id: uuid(),
  slug: slug().meta({ description: "The workspace's slug." }),
  exported_at: timestamp().meta({ description: "When it was exported." }),
  key_ids: z
    .strictObject({
      ENCRYPTION_KEY: z.array(z.string()).meta({ description: "The ids of its values." }),
      KEY_SECRET: z.array(z.string()).meta({ description: "The ids of its values." }),
    })
    .meta({ description: "The secrets of the exporting deployment." }),
});

export type Header = z.infer<typeof headerSchema>;

/** The last line of an export. */
const endSchema = z.strictObject({ type: z.literal("end").meta({ description: "The type of the line." }), ...totals });

export type End = z.infer<typeof endSchema>;

const recordSchema = z.strictObject({
  type: z.string().meta({ description: "The type of the record." }),
  record: z.record(z.string(), z.unknown()).meta({ description: "The columns of the record." }),
});

const HEADER_EXAMPLE = {
  type: "header",
  format: FORMAT,
  schema: "…",
  export_id: "019c1423-e000-7d42-8a55-6f1d2e3ce100",
  workspace_id: "019c1423-e000-7d42-8a55-6f1d2e3ca000",
  slug: "acme",
  exported_at: "2026-01-31T12:00:00.000Z",
  key_ids: { ENCRYPTION_KEY: ["1f0c9a2b"], KEY_SECRET: ["7d4e8c11"] },
};

const header = headerSchema.meta({ description: "The export's first line." });

export const importSchema = z
  .strictObject({
    header,
    records: z.array(recordSchema).max(MAX_RECORDS).meta({ description: "Further lines of the export, in any order." }),
  })
  .openapi("WorkspaceImport", { example: { header: HEADER_EXAMPLE, records: [] } });

export const completeSchema = z
  .strictObject({ header, end: endSchema.meta({ description: "The export's last line." }) })
  .openapi("ImportCompletion", { example: { header: HEADER_EXAMPLE, end: { type: "end", counts: { agents: 2 }, checksum: NO_RECORDS } } });

export const importStateSchema = z
  .object({
    state: z
      .enum(["importing", "checking", "complete"])
      .meta({ description: "If it is `checking`, repeat the request until it is `complete`." }),
    warnings: z
      .array(z.string())
      .meta({ description: "What does not work in this deployment until it is configured, such as stored secrets that it cannot read." }),
  })
  .openapi("ImportState");

export type ImportState = z.infer<typeof importStateSchema>;

/** An export's progress as a cursor. It is encrypted because it may contain a visitor's question, and URLs are logged. */
export async function toCursor(env: Env, workspaceId: string, progress: Progress): Promise<string> {
  return encryptSecret(env, JSON.stringify(progress), await contextOf(workspaceId));
}

/** Decrypts a cursor of the same workspace and the same tables; undefined for any other text. */
export async function fromCursor(env: Env, workspaceId: string, cursor: string): Promise<Progress | undefined> {
  try {
    return progressSchema.parse(JSON.parse(await decryptSecret(env, cursor, await contextOf(workspaceId))));
  } catch {
    return undefined;
  }
}

async function contextOf(workspaceId: string): Promise<string> {
  return `export/${workspaceId}/${await schemaVersion()}`;
}
