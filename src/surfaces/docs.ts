import { docsRoutes } from "../docs/routes.ts";
import { createSurface } from "./surface.ts";

/** The reference and the guides. */
export const docs = createSurface();

docs.route("/docs", docsRoutes);
