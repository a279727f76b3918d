import { type SQL, sql } from "drizzle-orm";
import { limitsOf, PLAN_NAMES } from "../account/plans.ts";

const PLANS_WITH_WEBHOOKS = PLAN_NAMES.filter((plan) => limitsOf(plan, {}).webhooks);

/**
 * SQL condition: the workspace may use webhooks, by its plan or the operator's override. It is `limitsOf` in SQL, for
 * statements that must not deliver otherwise.
 * @param alias the statement's alias of `workspaces`.
 */
export function hasWebhooks(alias: string): SQL {
  const of = sql.identifier(alias);
  return sql`coalesce(json_extract(${of}.limits, '$.webhooks'), ${of}.plan IN ${PLANS_WITH_WEBHOOKS})`;
}
