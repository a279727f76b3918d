import type { MiddlewareHandler } from "hono";
import type { AppEnv } from "./context.ts";

/** What browsers must keep to with every response. A page names what it loads in a Content-Security-Policy of its own. */
const HEADERS = {
  "X-Content-Type-Options": "nosniff",
  "Strict-Transport-Security": "max-age=31536000",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
};

/** Adds the security headers to every response. */
export const securityHeaders: MiddlewareHandler<AppEnv> = async (c, next) => {
  const add = () => {
    for (const [name, value] of Object.entries(HEADERS)) c.header(name, value);
  };
  add();
  await next();
  // A response that another fetch returned takes no headers from before it.
  if (!c.res.headers.has("X-Content-Type-Options")) add();
};
