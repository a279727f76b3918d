// openapi-typescript needs the compiler API of TypeScript 5, which TypeScript 7 does not have.

/** The part of JSON Schema that the document uses. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  format?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema;
  items?: Schema;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
}

/** The known keywords. Those of the second line do not change a type, or TypeScript cannot express them. */
const KNOWN = new Set(
  `$ref type enum allOf anyOf oneOf properties required additionalProperties items
  discriminator description example default format pattern minLength maxLength minItems maxItems minimum maximum x-redacted`.split(/\s+/),
);
const PLAIN_TYPES: Record<string, string> = { string: "string", integer: "number", number: "number", boolean: "boolean", null: "null" };

/**
 * A schema as a TypeScript type.
 * @throws Error where the schema says something that this does not know: a client must not be typed looser than the service.
 */
export function typeFor(schema: Schema): string {
  const { $ref, type, enum: values, format, allOf, anyOf, oneOf } = schema;
  const unknown = Object.keys(schema).filter((name) => !KNOWN.has(name));
  if (unknown.length > 0) throw new Error(`No type is known for ${unknown.join(", ")} in ${JSON.stringify(schema)}`);
  if ($ref !== undefined) return `Schemas["${$ref.split("/").at(-1)!}"]`;
  if (values) return values.map((value) => JSON.stringify(value)).join(" | ");
  if (format === "binary") return "Blob";
  if (allOf) return allOf.map((part) => grouped(typeFor(part))).join(" & ");
  const choices = anyOf ?? oneOf;
  if (choices) return choices.map(typeFor).join(" | ");
  if (type === undefined) return "unknown";
  return [type]
    .flat()
    .map((name) => ofType(name, schema))
    .join(" | ");
}

function ofType(name: string, { properties, required, additionalProperties, items }: Schema): string {
  if (name === "array") return `${grouped(typeFor(items ?? {}))}[]`;
  if (name === "object") return properties ? objectTypeFor(properties, required) : `Record<string, ${typeFor(additionalProperties ?? {})}>`;
  const plain = PLAIN_TYPES[name];
  if (plain === undefined) throw new Error(`No type is known for ${name}`);
  return plain;
}

/** An object type with these fields, each with its comment. */
export function objectTypeFor(fields: Record<string, Schema>, required: readonly string[] = []): string {
  const lines = Object.entries(fields).map(([name, field]) => {
    const value = typeFor(field);
    return `${toComment(field.description)}${name}${required.includes(name) ? `: ${value}` : `?: ${value} | undefined`};`;
  });
  return `{\n${indent(lines.join("\n"))}\n}`;
}

/** A text as a comment, with its line break; empty for no text. */
export function toComment(text: string | undefined): string {
  if (text === undefined) return "";
  const safe = text.replaceAll("*/", "*\\/");
  return safe.includes("\n") ? `/**\n${safe.replaceAll(/^/gm, " * ").replaceAll(/ +$/gm, "")}\n */\n` : `/** ${safe} */\n`;
}

/** The same lines, indented by one step. */
function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, "  ");
}

function grouped(type: string): string {
  const isOneObject = type.startsWith("{") && !/^\} [|&] /m.test(type);
  return / [|&] /.test(type) && !isOneObject ? `(${type})` : type;
}

/** The part of the OpenAPI document that the client uses. */
export interface Document {
  tags?: { name: string; description?: string }[];
  servers: { url: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

interface Operation {
  operationId: string;
  summary: string;
  tags?: string[];
  "x-scope"?: string;
  "x-other-scope"?: string;
  description?: string;
  parameters?: { in: string; name: string; required?: boolean; schema: Schema; description?: string }[];
  requestBody?: { required?: boolean; content: Partial<Record<"application/json" | typeof FORM, { schema: Schema }>> };
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
}

const FORM = "multipart/form-data";

export interface NamedOperation extends Operation {
  method: string;
  path: string;
}

/** The operations of a document, with their whole paths. */
export function operationsOf(document: Document): NamedOperation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path: document.servers[0]!.url + path,
    })),
  );
}

/** The generated module of the client: the document's types, and where each operation is. */
export function generateSchemaModule(document: Document): string {
  const operations = operationsOf(document);
  const schemas = Object.entries(document.components.schemas).map(
    ([name, { description, ...schema }]) => `${toComment(description)}${name}: ${typeFor(schema)};`,
  );
  const routes = operations.map(({ operationId, method, path }) => `${operationId}: ["${method}", "${path}"],`);
  return `// Written by \`npm run client\` from the service's OpenAPI document. Do not edit.

/** The records, and the bodies that requests have. */
export interface Schemas {
${indent(schemas.join("\n"))}
}

/** What each operation takes (the parameters of its path and query, and its body) and what it answers. */
export interface Operations {
${indent(operations.map(operationOf).join("\n"))}
}

/** The method and the path of each operation. */
export const ROUTES = {
${indent(routes.join("\n"))}
} as const satisfies Record<keyof Operations, readonly [method: string, path: string]>;
`;
}

function operationOf(operation: NamedOperation): string {
  const { operationId, summary, description } = operation;
  const type = `{\n${indent(`input: ${inputOf(operation)};\nanswer: ${answerOf(operation)};`)}\n}`;
  return `${toComment([`${summary}.`, description].filter(Boolean).join(" "))}${operationId}: ${type};`;
}

/** The parameters of path and query, and the body, in one type: no two of them share a name. The client sends the headers itself. */
function inputOf({ operationId, parameters = [], requestBody }: NamedOperation): string {
  const shown = parameters.filter((parameter) => parameter.in !== "header");
  const fields = shown.map(
    ({ name, schema, description }) => [name, description === undefined ? schema : { ...schema, description }] as const,
  );
  const contents = ["application/json", FORM] as const;
  const schemas = contents.flatMap((type) => requestBody?.content[type]?.schema ?? []);
  const body = schemas.length > 0 ? [["body", schemas.length > 1 ? { anyOf: schemas } : schemas[0]!] as const] : [];
  const all = [...fields, ...body];
  if (new Set(all.map(([name]) => name)).size < all.length) throw new Error(`${operationId} has two inputs of one name`);
  const required = [...shown.filter((parameter) => parameter.required).map(({ name }) => name), ...(requestBody?.required ? ["body"] : [])];
  return all.length === 0 ? "{}" : objectTypeFor(Object.fromEntries(all), required);
}

/** The content types that a client reads, in the order of preference. */
const READ_TYPES = ["application/json", "text/event-stream", "application/x-ndjson"];

/** The type of a successful answer; a stream of events and lines of records are text. */
function answerOf({ responses }: Operation): string {
  const successes = Object.entries(responses).filter(([status]) => status.startsWith("2"));
  const contents = successes.map(([, { content }]) => READ_TYPES.map((type) => content?.[type]).find((one) => one !== undefined));
  const schema = contents.find((content) => content !== undefined)?.schema;
  return schema ? typeFor(schema) : "undefined";
}
