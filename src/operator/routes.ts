import { createRouter } from "../http/router.ts";
import { agentRoutes } from "./agent-routes.ts";
import { requireOperator } from "./auth.ts";
import { backupRoutes } from "./backup-routes.ts";
import { keyRoutes } from "./key-routes.ts";
import { workspaceRoutes } from "./workspace-routes.ts";

/** The surface of whoever runs the deployment. */
export const operatorRoutes = createRouter();

operatorRoutes.use(requireOperator);
for (const routes of [workspaceRoutes, keyRoutes, agentRoutes, backupRoutes]) operatorRoutes.route("/", routes);
