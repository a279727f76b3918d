import { widgetRoutes } from "../widget/routes.ts";
import { createSurface, serveDocument } from "./surface.ts";

const ROOT = "/widget/v1";

/** What the browsers of visitors call. */
export const widget = createSurface();

serveDocument(widget, ROOT, async () => widgetRoutes);
widget.route(ROOT, widgetRoutes);
