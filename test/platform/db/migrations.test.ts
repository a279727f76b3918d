import { env } from "cloudflare:workers";
import { expect, test } from "vitest";

/** Statements that take away what the Worker of the release before reads or writes. */
const TAKES_AWAY = /\b(?:DROP\s+(?:TABLE|COLUMN)|RENAME\s+(?:TO|COLUMN))\b/i;

test.each(env.TEST_MIGRATIONS)("$name only adds to the database", ({ queries }) => {
  expect(queries.filter((query) => TAKES_AWAY.test(query))).toEqual([]);
});
