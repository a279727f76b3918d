import type { IndexStore } from "./store.ts";

/** What may wait to be read, of all sources: ten files of the largest size. */
const MAX_WAITING_BYTES = 200 * 1024 * 1024;

/** The uploaded files of an agent, until their text is extracted. */
export class FileParts {
  constructor(private readonly store: IndexStore) {}

  /** Stores a part, and with the first one drops what was stored before. @returns false where too many files wait. */
  put(sourceId: string, part: number, bytes: Uint8Array): boolean {
    return this.store.write(() => {
      const { sql } = this.store;
      if (part === 0) this.remove(sourceId);
      const waiting = sql.exec<{ bytes: number }>("SELECT coalesce(sum(length(bytes)), 0) AS bytes FROM file_parts").one().bytes;
      if (waiting + bytes.length > MAX_WAITING_BYTES) return false;
      sql.exec("INSERT OR REPLACE INTO file_parts (source_id, part, bytes) VALUES (?, ?, ?)", sourceId, part, bytes.slice().buffer);
      return true;
    });
  }

  /** A part's bytes; null after the last one. */
  read(sourceId: string, part: number): Uint8Array | null {
    if (this.store.isEmpty) return null;
    const query = "SELECT bytes FROM file_parts WHERE source_id = ? AND part = ?";
    const [row] = this.store.sql.exec<{ bytes: ArrayBuffer }>(query, sourceId, part).toArray();
    return row ? new Uint8Array(row.bytes) : null;
  }

  remove(sourceId: string): void {
    if (!this.store.isEmpty) this.store.sql.exec("DELETE FROM file_parts WHERE source_id = ?", sourceId);
  }
}
