/*
 * A client of the operator's surface: workspaces, plans, keys, health, backups.
 *
 *   const operator = createOperatorClient({ baseUrl: "https://support.example.com", token: process.env.OPERATOR_TOKEN! });
 *   const workspace = await operator.createWorkspace({ body: { name: "Acme", slug: "acme", plan: "pro" } });
 */
import { type Operations, ROUTES } from "./operator-schema.ts";
import { methodsOf, type MethodsFor, senderOf, type SignalOptions, type Surface, type TransportOptions } from "./transport.ts";

export type { Operations, Schemas } from "./operator-schema.ts";
export { paginate } from "./paginate.ts";
export { ApiError } from "./transport.ts";

export interface OperatorClientOptions extends TransportOptions {
  /** The deployment's OPERATOR_TOKEN. It is a secret: never ship it to a browser. */
  token: string;
}

/** A method for each operation, by its operationId. Each throws an ApiError where the service answers one. */
export type OperatorClient = MethodsFor<Operations, SignalOptions>;

/** Makes a client of a deployment's operator. A POST that nobody answers is not repeated: it may have been done. */
export function createOperatorClient(options: OperatorClientOptions): OperatorClient {
  const surface: Surface = { routes: ROUTES, token: () => options.token, idempotencyKey: () => undefined };
  return methodsOf(surface, senderOf(surface, options)) as OperatorClient;
}
