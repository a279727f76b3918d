import { DurableObject } from "cloudflare:workers";
import type { Operation } from "../platform/db/client.ts";
import { objectOf } from "../platform/objects.ts";
import { joinedBytes } from "../platform/read-stream.ts";

const SCHEMA = `CREATE TABLE IF NOT EXISTS file_parts (
  file_id TEXT NOT NULL, part INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (file_id, part))`;

/**
 * The bytes of the attachments of one workspace that are not in a bucket, in parts. D1 has the list of attachments. Every method is
 * idempotent.
 */
export class AttachmentFiles extends DurableObject<Env> {
  private get sql(): SqlStorage {
    return this.ctx.storage.sql;
  }

  /** Stores a part of a file, which replaces one of the same number. */
  async putPart(fileId: string, part: number, bytes: Uint8Array): Promise<void> {
    // The table is created with the first part, so that a read of an empty object stores nothing.
    this.sql.exec(SCHEMA);
    this.sql.exec("INSERT OR REPLACE INTO file_parts (file_id, part, bytes) VALUES (?, ?, ?)", fileId, part, bytes);
  }

  /** Reads a file; null if the object does not have it. */
  async read(fileId: string): Promise<Uint8Array | null> {
    const parts = this.partsOf("SELECT bytes FROM file_parts WHERE file_id = ? ORDER BY part", fileId);
    return parts.length > 0 ? joinedBytes(parts) : null;
  }

  /** Reads one part of a file; null if the object does not have it. */
  async readPart(fileId: string, part: number): Promise<Uint8Array | null> {
    return this.partsOf("SELECT bytes FROM file_parts WHERE file_id = ? AND part = ?", fileId, part)[0] ?? null;
  }

  /** Removes files. */
  async remove(fileIds: readonly string[]): Promise<void> {
    if (this.hasTable()) this.sql.exec("DELETE FROM file_parts WHERE file_id IN (SELECT value FROM json_each(?))", JSON.stringify(fileIds));
  }

  /** Removes everything, when the workspace is erased. */
  async erase(): Promise<void> {
    await this.ctx.storage.deleteAll();
  }

  private partsOf(query: string, ...values: SqlStorageValue[]): Uint8Array[] {
    if (!this.hasTable()) return [];
    return this.sql
      .exec<{ bytes: ArrayBuffer }>(query, ...values)
      .toArray()
      .map(({ bytes }) => new Uint8Array(bytes));
  }

  private hasTable(): boolean {
    return this.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'file_parts'").toArray().length > 0;
  }
}

/** The object that stores the files of a workspace. */
export function attachmentFilesOf({
  env,
  meter,
  workspaceId,
}: Pick<Operation, "env" | "meter" | "workspaceId">): DurableObjectStub<AttachmentFiles> {
  meter.countObjectHop();
  return objectOf(env, env.FILES, workspaceId);
}
