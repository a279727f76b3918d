import { checking } from "../platform/http/checks.ts";
import { inRegionOf } from "../platform/http/region.ts";
import { createRouter } from "../platform/http/router.ts";
import { operatorAgentRoutes } from "./agent-routes.ts";
import { operatorAuditRoutes } from "./audit-routes.ts";
import { requireHealthReader, requireOperator } from "./auth.ts";
import { healthRoutes } from "./health-routes.ts";
import { secretRoutes } from "./secret-routes.ts";
import { usageRoutes } from "./usage-routes.ts";
import { operatorKeyRoutes, workspaceRoutes } from "./workspace-routes.ts";

const HEALTH_PATH = "/operator/v1/health";

/** The operator API. The checks here also run before the routes of `backup/`, which are mounted after these. */
export const operatorRoutes = createRouter();

// Monitors read the health with a token that opens no other path.
operatorRoutes.use(checking((c) => (c.req.path === HEALTH_PATH ? requireHealthReader(c) : requireOperator(c))));
operatorRoutes.use("/workspaces/:workspace_id/*", checking(inRegionOf("workspace_id")));
const routers = [workspaceRoutes, operatorKeyRoutes, operatorAgentRoutes, usageRoutes, healthRoutes, secretRoutes, operatorAuditRoutes];
for (const routes of routers) operatorRoutes.route("/", routes);
