/*
 * A client of the operator API: workspaces, plans, keys, health, backups.
 *
 *   const operator = createOperatorClient({ baseUrl: "https://support.example.com", token: process.env.OPERATOR_TOKEN! });
 *   const workspace = await operator.createWorkspace({ body: { name: "Acme", slug: "acme", plan: "pro" } });
 */
import { type Operations, ROUTES } from "./operator-schema.ts";
import { createMethods, createSender, type MethodsFor, type SignalOptions, type Surface, type TransportOptions } from "./transport.ts";

export type { Operations, Schemas } from "./operator-schema.ts";
export { paginate } from "./paginate.ts";
export { ApiError } from "./transport.ts";

export interface OperatorClientOptions extends TransportOptions {
  /** The deployment's OPERATOR_TOKEN. It is a secret: never ship it to a browser. */
  token: string;
}

/** A method for each operation, named by its operationId. Each throws an ApiError if the service answers with an error. */
export type OperatorClient = MethodsFor<Operations, SignalOptions>;

/** Creates a client for the operator of a deployment. It does not repeat a POST that got no answer, which may have taken effect. */
export function createOperatorClient(options: OperatorClientOptions): OperatorClient {
  const surface: Surface = { routes: ROUTES, token: () => options.token, idempotencyKey: () => undefined };
  return createMethods(surface, createSender(surface, options)) as OperatorClient;
}
