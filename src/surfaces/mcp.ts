import { mcpRoutes } from "../mcp/routes.ts";
import { loadWholeApi } from "./api.ts";
import { createSurface } from "./surface.ts";

/** The integrators' API as tools of assistants. */
export const mcp = createSurface();

mcp.route("/mcp", mcpRoutes(loadWholeApi));
