import { newAddress, send } from "../../harness.ts";

/** An operation of the published document. */
export interface Operation {
  operationId: string;
  method: string;
  /** The path as documented, such as "/agents/{agent_id}". */
  path: string;
  definition: Record<string, any>;
}

/** The published document, asked of the service. */
export async function fetchDocument(): Promise<Record<string, any>> {
  const { body } = await send("GET", "/api/v1/openapi.json", { headers: newAddress() });
  return body;
}

/** Every operation of the published document. */
export async function listOperations(): Promise<Operation[]> {
  const { paths } = await fetchDocument();
  return Object.entries<Record<string, Record<string, any>>>(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, definition]) => ({
      operationId: definition["operationId"],
      method: method.toUpperCase(),
      path,
      definition,
    })),
  );
}
