import { DurableObject, exports, WorkerEntrypoint } from "cloudflare:workers";
import { app } from "./app.ts";
import { arrive } from "./platform/http/region.ts";

/**
 * An object that holds nothing and stands in a region: it has requests answered where it is. Each is an invocation of its
 * own, since an object's own requests share its connections and its limits.
 */
export class RegionalEntry extends DurableObject<Env> {
  override fetch(request: Request): Promise<Response> {
    return exports.RegionalWorker.fetch(request);
  }
}

/** The Worker, called by an entry: it runs beside it. */
export class RegionalWorker extends WorkerEntrypoint<Env> {
  override fetch(request: Request): Response | Promise<Response> {
    return app.fetch(arrive(request), this.env, this.ctx);
  }
}
