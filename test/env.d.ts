import type { D1Migration } from "cloudflare:test";

declare global {
  namespace Cloudflare {
    interface Env {
      TEST_MIGRATIONS: D1Migration[];
      DB_1: D1Database;
      /** An empty database, that a test may add as a shard. */
      SPARE: D1Database;
      /** A bucket, that a test may bind as ATTACHMENTS. */
      TEST_BUCKET: R2Bucket;
    }
  }

  /** Vite's: the modules, or with `query: "?raw"` the texts, of all files that match. */
  interface ImportMeta {
    glob: <Value = Record<string, unknown>>(
      patterns: string[],
      options: { eager: true; query?: "?raw"; import?: "default" },
    ) => Record<string, Value>;
  }
}
