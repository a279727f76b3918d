import { consoleRoutes } from "../console/routes.ts";
import { checking } from "../platform/http/checks.ts";
import { requireConfig } from "../workspaces/checks.ts";
import { createSurface } from "./surface.ts";

/** What the console calls besides the APIs. */
export const console = createSurface();

console.use("/console/*", checking(requireConfig));
console.route("/console", consoleRoutes);
