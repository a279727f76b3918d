/** What of JSON Schema the document uses. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema;
  items?: Schema;
  allOf?: Schema[];
  anyOf?: Schema[];
}

/** What is known of schemas; the second line says nothing of a value's type, or what TypeScript has no word for. */
const KNOWN = new Set(
  `$ref type enum allOf anyOf properties required additionalProperties items
  description example default format pattern minLength maxLength minItems maxItems minimum maximum`.split(/\s+/),
);
const PLAIN_TYPES: Record<string, string> = { string: "string", integer: "number", number: "number", boolean: "boolean", null: "null" };

/**
 * A schema as a TypeScript type.
 * @throws Error where the schema says something that this does not know: a client must not be typed looser than the service.
 */
export function typeOf(schema: Schema): string {
  const { $ref, type, enum: values, allOf, anyOf } = schema;
  const unknown = Object.keys(schema).filter((name) => !KNOWN.has(name));
  if (unknown.length > 0) throw new Error(`No type is known for ${unknown.join(", ")} in ${JSON.stringify(schema)}`);
  if ($ref !== undefined) return `Schemas["${$ref.split("/").at(-1)!}"]`;
  if (values) return values.map((value) => JSON.stringify(value)).join(" | ");
  if (allOf) return allOf.map((part) => grouped(typeOf(part))).join(" & ");
  if (anyOf) return anyOf.map(typeOf).join(" | ");
  if (type === undefined) return "unknown";
  return [type]
    .flat()
    .map((name) => ofType(name, schema))
    .join(" | ");
}

function ofType(name: string, { properties, required, additionalProperties, items }: Schema): string {
  if (name === "array") return `${grouped(typeOf(items ?? {}))}[]`;
  if (name === "object") return properties ? fieldsOf(properties, required) : `Record<string, ${typeOf(additionalProperties ?? {})}>`;
  const plain = PLAIN_TYPES[name];
  if (plain === undefined) throw new Error(`No type is known for ${name}`);
  return plain;
}

/** An object type with these fields, each with its comment. */
export function fieldsOf(fields: Record<string, Schema>, required: readonly string[] = []): string {
  const lines = Object.entries(fields).map(([name, field]) => {
    const value = typeOf(field);
    return `${commentOf(field.description)}${name}${required.includes(name) ? `: ${value}` : `?: ${value} | undefined`};`;
  });
  return `{\n${indented(lines.join("\n"))}\n}`;
}

/** Some text as a comment before what it tells of; nothing for no text. */
export function commentOf(text: string | undefined): string {
  if (text === undefined) return "";
  const safe = text.replaceAll("*/", "*\\/");
  return safe.includes("\n") ? `/**\n${safe.replaceAll(/^/gm, " * ").replaceAll(/ +$/gm, "")}\n */\n` : `/** ${safe} */\n`;
}

/** Lines moved in by one step. */
export function indented(text: string): string {
  return text.replaceAll(/^(?=.)/gm, "  ");
}

function grouped(type: string): string {
  return / [|&] /.test(type) && !type.startsWith("{") ? `(${type})` : type;
}
