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
export async function fetchDocument(root = "/api/v1"): Promise<Record<string, any>> {
  const { body } = await send("GET", `${root}/openapi.json`, { headers: newAddress() });
  return body;
}

/** Every operation of the published document. */
export async function listOperations(root?: string): Promise<Operation[]> {
  const { paths } = await fetchDocument(root);
  return Object.entries<Record<string, Record<string, any>>>(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, definition]) => ({
      operationId: definition["operationId"],
      method: method.toUpperCase(),
      path,
      definition,
    })),
  );
}
