import { Hono } from "hono";
import type { AppEnv } from "../platform/http/context.ts";
import { findDemoAgent } from "./home.ts";
import viewer from "./viewer.browser.js";

/**
 * The page may load scripts from this service only, and connect to this service only. Inline styles are allowed, since the viewer
 * writes style attributes and its style sheet; inline scripts are not.
 */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>Support Agent Service: documentation</title>
    <link rel="icon" href="/icon.svg" />
  </head>
  <body>
    <div id="viewer"></div>
    <noscript>The reference needs JavaScript. Its OpenAPI documents: <a href="/api/v1/openapi.json">/api/v1/openapi.json</a>,
    <a href="/widget/v1/openapi.json">/widget/v1/openapi.json</a>, <a href="/operator/v1/openapi.json">/operator/v1/openapi.json</a>.</noscript>
    <script type="module" src="/docs/scalar/standalone.esm.js"></script>
    <script type="module" src="/docs/viewer.js"></script>
  </body>
</html>
`;

/** The reference and the guides, shown by the viewer Scalar, which scripts/web.ts adds to the assets. */
export const docsRoutes = new Hono<AppEnv>();

docsRoutes.get("/", (c) => {
  c.header("Content-Security-Policy", CONTENT_SECURITY_POLICY);
  return c.html(PAGE);
});

docsRoutes.get("/viewer.js", (c) => c.body(viewer, 200, { "Content-Type": "text/javascript; charset=utf-8" }));

/** The demo agent, which the page fills in on a developer's machine. */
docsRoutes.get("/demo.json", async (c) => {
  c.header("Cache-Control", "no-store");
  return c.json({ agent_id: (await findDemoAgent(c)) ?? null });
});
