import { backupRoutes } from "../backup/routes.ts";
import { useSession } from "../console/session.ts";
import { operatorRoutes } from "../operator/routes.ts";
import { checking } from "../platform/http/checks.ts";
import { requireConfig } from "../workspaces/checks.ts";
import { createSurface, serveDocument } from "./surface.ts";

const ROOT = "/operator/v1";

/** What runs a deployment. */
export const operator = createSurface();

operatorRoutes.route("/", backupRoutes);
serveDocument(operator, ROOT, async () => operatorRoutes);
operator.use(`${ROOT}/*`, checking(requireConfig, useSession));
operator.route(ROOT, operatorRoutes);
