import { homeRoutes } from "../docs/home.ts";
import { createSurface } from "./surface.ts";

/** The home page and the health check. */
export const home = createSurface();

home.get("/healthz", (c) => c.json({ status: "ok" }));
home.route("/", homeRoutes);
