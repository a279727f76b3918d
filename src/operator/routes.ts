import { createRouter } from "../http/router.ts";
import { agentRoutes } from "./agent-routes.ts";
import { requireOperator } from "./auth.ts";
import { backupRoutes } from "./backup-routes.ts";
import { healthRoutes } from "./health-routes.ts";
import { keyRoutes } from "./key-routes.ts";
import { secretRoutes } from "./secret-routes.ts";
import { workspaceRoutes } from "./workspace-routes.ts";

/** The surface of whoever runs the deployment. */
export const operatorRoutes = createRouter();

operatorRoutes.use(requireOperator);
const routers = [workspaceRoutes, keyRoutes, agentRoutes, backupRoutes, healthRoutes, secretRoutes];
for (const routes of routers) operatorRoutes.route("/", routes);
