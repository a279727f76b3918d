import { commentOf, fieldsOf, indented, type Schema, typeOf } from "./types.ts";

/** What the client needs of the OpenAPI document. */
export interface Document {
  servers: { url: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

interface Operation {
  operationId: string;
  summary: string;
  description?: string;
  parameters?: { in: string; name: string; required?: boolean; schema: Schema; description?: string }[];
  requestBody?: { content: { "application/json": { schema: Schema } } };
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
}

interface NamedOperation extends Operation {
  method: string;
  path: string;
}

/** The generated module of the client: the document's types, and where each operation is. */
export function moduleOf(document: Document): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path: document.servers[0]!.url + path,
    })),
  );
  const schemas = Object.entries(document.components.schemas).map(
    ([name, { description, ...schema }]) => `${commentOf(description)}${name}: ${typeOf(schema)};`,
  );
  const routes = operations.map(({ operationId, method, path }) => `${operationId}: ["${method}", "${path}"],`);
  return `// Written by \`npm run client\` from the service's OpenAPI document. Do not edit.

/** The records, and the bodies that requests have. */
export interface Schemas {
${indented(schemas.join("\n"))}
}

/** What each operation takes (the parameters of its path and query, and its body) and what it answers. */
export interface Operations {
${indented(operations.map(operationOf).join("\n"))}
}

/** The method and the path of each operation. */
export const ROUTES = {
${indented(routes.join("\n"))}
} as const satisfies Record<keyof Operations, readonly [method: string, path: string]>;
`;
}

function operationOf(operation: NamedOperation): string {
  const { operationId, summary, description } = operation;
  const type = `{\n${indented(`input: ${inputOf(operation)};\nanswer: ${answerOf(operation)};`)}\n}`;
  return `${commentOf([`${summary}.`, description].filter(Boolean).join(" "))}${operationId}: ${type};`;
}

/** Path, query and body in one: no two of them share a name. Headers are the client's business. */
function inputOf({ operationId, parameters = [], requestBody }: NamedOperation): string {
  const shown = parameters.filter((parameter) => parameter.in !== "header");
  const fields = shown.map(
    ({ name, schema, description }) => [name, description === undefined ? schema : { ...schema, description }] as const,
  );
  const body = requestBody ? [["body", requestBody.content["application/json"].schema] as const] : [];
  const all = [...fields, ...body];
  if (new Set(all.map(([name]) => name)).size < all.length) throw new Error(`${operationId} has two inputs of one name`);
  const required = [...shown.filter((parameter) => parameter.required).map(({ name }) => name), "body"];
  return all.length === 0 ? "{}" : fieldsOf(Object.fromEntries(all), required);
}

/** The record that a success answers; a stream of events is text. */
function answerOf({ responses }: Operation): string {
  const successes = Object.entries(responses).filter(([status]) => status.startsWith("2"));
  const contents = successes.map(([, { content }]) => content?.["application/json"] ?? content?.["text/event-stream"]);
  const schema = contents.find((content) => content !== undefined)?.schema;
  return schema ? typeOf(schema) : "undefined";
}
