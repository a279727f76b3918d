import { trimTrailingSlash } from "hono/trailing-slash";
import { checking } from "../platform/http/checks.ts";
import { hostedPageRoutes } from "../widget/hosted-page.ts";
import { requireConfig } from "../workspaces/checks.ts";
import { createSurface } from "./surface.ts";

/** The hosted pages of agents. */
export const chat = createSurface();

chat.use("/chat/*", checking(requireConfig), trimTrailingSlash());
chat.route("/chat", hostedPageRoutes);
