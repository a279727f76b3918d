import { sql } from "drizzle-orm";
import { timestampJson } from "../db/json.ts";
import { sources } from "../db/schema.ts";

/** A source's wire record as SQL, for a statement that reads `sources` as s. A test holds it against that of wire.ts. */
export const SOURCE_JSON = sql`json_object('id', s.id, 'agent_id', s.agent_id, 'type', s.type, 'name', s.name, 'url', s.url,
  'status', s.status, 'schedule', s.schedule, 'max_pages', s.max_pages, 'pages_found', s.pages_found,
  'pages_indexed', s.pages_indexed, 'pages_failed', s.pages_failed, 'pages_skipped', s.pages_skipped, 'chunks_count', s.chunks_count,
  'error', json(CASE WHEN s.error_code IS NOT NULL
    THEN json_object('code', s.error_code, 'message', coalesce(s.error_message, '')) END),
  'last_synced_at', ${timestampJson(sql`s.last_synced_at`)}, 'next_sync_at', ${timestampJson(sql`s.next_sync_at`)},
  'created_at', ${timestampJson(sql`s.created_at`)}, 'updated_at', ${timestampJson(sql`s.updated_at`)})`;

/** The rows that it is made of. */
export const SOURCE_ROWS = sql`${sources} s`;
