import type { surfaceAt } from "./surfaces/surfaces.ts";

let find: typeof surfaceAt | undefined;

/** The HTTP entrance of the service. Hono and the database's client are loaded with the first request: an object's isolate needs neither. */
export const app = {
  fetch: async (request: Request, env: Env, context: ExecutionContext): Promise<Response> => {
    find ??= (await import("./surfaces/surfaces.ts")).surfaceAt;
    const surface = await find(request);
    return surface.fetch(request, env, context);
  },
};
