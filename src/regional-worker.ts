import { WorkerEntrypoint } from "cloudflare:workers";
import { app } from "./app.ts";
import { markForwarded } from "./platform/http/region.ts";

/** The Worker as a `RegionalEntry` calls it: it runs in the same place. */
export class RegionalWorker extends WorkerEntrypoint<Env> {
  override fetch(request: Request): Response | Promise<Response> {
    return app.fetch(markForwarded(request), this.env, this.ctx);
  }
}
