/** What samples need of an operation as the OpenAPI document describes it. */
export interface DocumentedOperation {
  operationId: string;
  parameters?: DocumentedParameter[];
  requestBody?: { content: Record<string, { schema: { $ref: string } }> };
  responses: Record<string, { content?: Record<string, unknown> }>;
}

interface DocumentedParameter {
  in: string;
  name: string;
  schema: { format?: string; example?: string | number };
}

/** A value in a sample: identifiers are read from the environment, the rest stands there as it is. */
export type SampleValue = { variable: string } | { literal: string };

/** One request to show, in no language yet. */
export interface SampleCall {
  operationId: string;
  method: string;
  /** As documented, from the host's root on: "/api/v1/agents/{agent_id}". */
  path: string;
  /** Every name in the path, as documented: "agent_id". */
  pathNames: string[];
  query: [name: string, value: SampleValue][];
  /** Undefined where the operation takes none. */
  body: Record<string, unknown> | undefined;
  takesIdempotencyKey: boolean;
  isPaged: boolean;
  answers: "json" | "events" | "nothing";
}

const EVENTS = "text/event-stream";

/** The environment variable that holds an identifier: "agent_id" is read from AGENT_ID. */
export function variableOf(name: string): string {
  return name.toUpperCase();
}

/**
 * The requests that show an operation: one, and a streamed one beside it where the answer comes either way.
 * @param exampleOf the example that the document has of a schema.
 */
export function callsOf(
  path: string,
  method: string,
  operation: DocumentedOperation,
  exampleOf: (ref: string) => Record<string, unknown>,
): SampleCall[] {
  const parameters = operation.parameters ?? [];
  const named = (place: string) => parameters.filter((parameter) => parameter.in === place);
  const types = contentTypesOf(operation);
  const call: SampleCall = {
    operationId: operation.operationId,
    method: method.toUpperCase(),
    path,
    pathNames: named("path").map(({ name }) => name),
    query: named("query").flatMap(queryExample),
    body: operation.requestBody && exampleOf(operation.requestBody.content["application/json"]!.schema.$ref),
    takesIdempotencyKey: named("header").some(({ name }) => name === "Idempotency-Key"),
    isPaged: named("query").some(({ name }) => name === "offset"),
    answers: types.includes("application/json") ? "json" : types.includes(EVENTS) ? "events" : "nothing",
  };
  const comesEitherWay = call.answers === "json" && types.includes(EVENTS);
  return comesEitherWay ? [call, { ...call, body: { ...call.body, stream: true }, answers: "events" }] : [call];
}

/** A filter is shown where it has an example. */
function queryExample({ name, schema: { format, example } }: DocumentedParameter): SampleCall["query"] {
  if (example === undefined) return [];
  return [[name, format === "uuid" ? { variable: variableOf(name) } : { literal: String(example) }]];
}

/** The content types of the answers that are successes. */
function contentTypesOf({ responses }: DocumentedOperation): string[] {
  const successes = Object.entries(responses).filter(([status]) => status.startsWith("2"));
  return successes.flatMap(([, { content }]) => Object.keys(content ?? {}));
}
