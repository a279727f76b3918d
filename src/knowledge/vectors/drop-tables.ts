/** Removes every table of an object but these. */
export function dropTables(sql: SqlStorage, except: readonly string[]): void {
  const own = `name NOT IN (SELECT value FROM json_each(?)) AND name NOT LIKE '\\_cf%' ESCAPE '\\' AND name NOT LIKE 'sqlite%'`;
  // Virtual tables go first, and take those with them in which they keep what they hold.
  for (const kind of ["sql LIKE 'CREATE VIRTUAL%'", "true"]) {
    const query = `SELECT name FROM sqlite_master WHERE type = 'table' AND ${own} AND ${kind}`;
    const tables = sql.exec<{ name: string }>(query, JSON.stringify(except)).toArray();
    for (const { name } of tables) sql.exec(`DROP TABLE "${name}"`);
  }
}
