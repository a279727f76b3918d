import type { D1Migration } from "cloudflare:test";

declare global {
  namespace Cloudflare {
    interface Env {
      TEST_MIGRATIONS: D1Migration[];
      DB_1: D1Database;
      /** An empty database, that a test may add as a shard. */
      SPARE: D1Database;
    }
  }
}
