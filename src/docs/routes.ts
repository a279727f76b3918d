import { Hono } from "hono";
import type { AppEnv } from "../platform/http/context.ts";
import viewer from "./viewer.browser.js";

/** The page loads the viewer alone, and connects to this service alone. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Support Agent Service API</title>
    <link rel="icon" href="/docs/favicon-32x32.png" />
    <link rel="stylesheet" href="/docs/swagger-ui.css" />
  </head>
  <body>
    <div id="viewer"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/viewer.js"></script>
  </body>
</html>
`;

/** The API reference in a browser. Its viewer, Swagger UI, is among the assets (scripts/web.ts). */
export const docsRoutes = new Hono<AppEnv>();

docsRoutes.get("/", (c) => {
  c.header("Content-Security-Policy", CONTENT_SECURITY_POLICY);
  return c.html(PAGE);
});

docsRoutes.get("/viewer.js", (c) => c.body(viewer, 200, { "Content-Type": "text/javascript; charset=utf-8" }));
