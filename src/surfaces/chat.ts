import { trimTrailingSlash } from "hono/trailing-slash";
import { hostedPageRoutes } from "../widget/hosted-page.ts";
import { requireConfig } from "../workspaces/middleware.ts";
import { createSurface } from "./surface.ts";

/** The hosted pages of agents. */
export const chat = createSurface();

chat.use("/chat/*", requireConfig, trimTrailingSlash());
chat.route("/chat", hostedPageRoutes);
