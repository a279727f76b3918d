import { applyD1Migrations } from "cloudflare:test";
import { env } from "cloudflare:workers";

const SCHEMA =
  "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' AND name NOT LIKE '\\_cf%' ESCAPE '\\' ORDER BY type = 'trigger', type = 'index'";

let schema: string[] | undefined;

/**
 * Creates the service's tables in an empty database. For the first file of a worker it runs the migrations; for the others, the
 * statements of the resulting schema, in a tenth of the time.
 */
export async function createTables(database: D1Database): Promise<void> {
  if (schema) {
    await database.batch(schema.map((statement) => database.prepare(statement)));
    return;
  }
  await applyD1Migrations(database, env.TEST_MIGRATIONS);
  schema = (await database.prepare(SCHEMA).raw<[string]>()).map(([statement]) => statement);
}
