import { createRouter } from "../platform/http/router.ts";
import { agentRoutes } from "./agent-routes.ts";
import { requireOperator } from "./auth.ts";
import { healthRoutes } from "./health-routes.ts";
import { secretRoutes } from "./secret-routes.ts";
import { keyRoutes, workspaceRoutes } from "./workspace-routes.ts";

/** The operator's surface. The routes of `backup/` are mounted beside these in app.ts. */
export const operatorRoutes = createRouter();

operatorRoutes.use(requireOperator);
const routers = [workspaceRoutes, keyRoutes, agentRoutes, healthRoutes, secretRoutes];
for (const routes of routers) operatorRoutes.route("/", routes);
