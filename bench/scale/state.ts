import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** Where Miniflare keeps the files of its D1 databases, one for each, beside one of its own. */
const DATABASES = "d1/miniflare-D1DatabaseObject";
const OWN_FILE = "metadata.sqlite";

/**
 * Opens the service's one D1 database in a state folder whose Miniflare is closed, and runs `write` on it.
 * Nothing is kept safe from a crash meanwhile: the bench would start anew.
 */
export async function writeState(state: string, write: (db: DatabaseSync) => Promise<void>): Promise<void> {
  const folder = join(state, DATABASES);
  const files = readdirSync(folder).filter((file) => file.endsWith(".sqlite") && file !== OWN_FILE);
  if (files.length !== 1) throw new Error(`One database was expected in ${folder}: ${files.join(", ")}`);
  const db = new DatabaseSync(join(folder, files[0]!));
  db.exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000; PRAGMA temp_store = MEMORY");
  try {
    await write(db);
    // As workerd has it.
    db.exec("PRAGMA journal_mode = WAL");
  } finally {
    db.close();
  }
}
