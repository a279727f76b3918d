import { DurableObject, exports, WorkerEntrypoint } from "cloudflare:workers";
import { app } from "./app.ts";
import { arrive } from "./platform/http/region.ts";

/**
 * An object without state in a region, which forwards requests to the Worker there. Each becomes an invocation of its own,
 * since the requests of one object share its connections and limits.
 */
export class RegionalEntry extends DurableObject<Env> {
  override fetch(request: Request): Promise<Response> {
    return exports.RegionalWorker.fetch(request);
  }
}

/** The Worker as entries call it: it runs in the same place. */
export class RegionalWorker extends WorkerEntrypoint<Env> {
  override fetch(request: Request): Response | Promise<Response> {
    return app.fetch(arrive(request), this.env, this.ctx);
  }
}
