import { Hono } from "hono";

// The least that a worker with this framework is, for `npm run bench -- --start`.
export default new Hono().get("/", (c) => c.text("ok"));
