import { z } from "@hono/zod-openapi";
import type { ToolParameters } from "../platform/db/columns.ts";
import { isShallow } from "../platform/json.ts";
import { addProblem, valueErrorParams } from "../platform/http/validation.ts";

const MAX_DEPTH = 16;
/** The limit in characters of JSON: about 1,000 tokens that a model reads with every question. */
const MAX_LENGTH = 4_096;
const MAX_PROPERTIES = 50;
/** Enough for an order number. Whether a pattern can be matched in linear time is checked when the tool is saved. */
const MAX_PATTERN_LENGTH = 200;

const TYPES = ["string", "number", "integer", "boolean", "object", "array", "null"] as const;
const FORMATS = ["date-time", "date", "time", "email", "uri", "uuid", "hostname", "ipv4", "ipv6"] as const;
/** Names that are safe in queries and in the output of models. `__proto__` is not one. */
const PROPERTY_NAME = /^(?!__)[A-Za-z_][A-Za-z0-9_.-]{0,63}$/;
const DIALECT = "https://json-schema.org/draft/2020-12/schema";

const size = () => z.int().gte(0).optional();
const number = () => z.custom<number>((value) => typeof value === "number", valueErrorParams("use a number")).optional();
const type = z.union([z.enum(TYPES), z.array(z.enum(TYPES)).min(1)], `use one of ${TYPES.join(", ")}, or a list of them`);

const annotations = {
  title: z.string().optional(),
  description: z.string().optional(),
  default: z.unknown().optional(),
  examples: z.array(z.unknown()).optional(),
};

/** A nested schema. References are not allowed, so that each schema can be checked by itself. */
const node: z.ZodType<{ type?: string | string[] | undefined }> = z.lazy(() =>
  z.strictObject({
    ...annotations,
    type: type.optional(),
    enum: z.array(z.unknown()).min(1).optional(),
    const: z.unknown().optional(),
    format: z.enum(FORMATS).optional(),
    pattern: z.string().max(MAX_PATTERN_LENGTH).refine(isPattern, valueErrorParams("write a regular expression")).optional(),
    minLength: size(),
    maxLength: size(),
    minimum: number(),
    maximum: number(),
    exclusiveMinimum: number(),
    exclusiveMaximum: number(),
    multipleOf: number(),
    minItems: size(),
    maxItems: size(),
    uniqueItems: z.boolean().optional(),
    items: node.optional(),
    properties: properties.optional(),
    required: z.array(z.string()).optional(),
    additionalProperties: z.union([z.boolean(), node]).optional(),
    anyOf: z.array(node).min(1).optional(),
    oneOf: z.array(node).min(1).optional(),
    allOf: z.array(node).min(1).optional(),
  }),
);

const properties = z.record(z.string(), node).superRefine((declared, ctx) => {
  const names = Object.keys(declared);
  if (names.length > MAX_PROPERTIES) addProblem(ctx, `declare at most ${MAX_PROPERTIES}`);
  for (const name of names.filter((each) => !PROPERTY_NAME.test(each))) {
    addProblem(ctx, "name it with letters, digits, _ . and -, beginning with a letter, at most 64", name);
  }
});

const root = z.strictObject({
  ...annotations,
  $schema: z.literal(DIALECT).optional(),
  type: z.literal("object"),
  properties: properties.default({}),
  required: z.array(z.string()).optional(),
  additionalProperties: z.literal(false).optional(),
});

/** A tool's parameters: the subset of JSON Schema 2020-12 that models and validators agree on. */
export const parametersSchema = z
  .custom<object>((value) => isShallow(value, MAX_DEPTH), valueErrorParams(`nest it at most ${MAX_DEPTH} deep`))
  .pipe(root)
  .superRefine(({ properties: declared, required = [] }, ctx) => {
    for (const name of required.filter((each) => !Object.hasOwn(declared, each))) {
      addProblem(ctx, `the name ${name} is not among the properties`, "required");
    }
  })
  .refine((schema) => JSON.stringify(schema).length <= MAX_LENGTH, valueErrorParams(`write at most ${MAX_LENGTH} characters of JSON`))
  .transform((schema) => schema as ToolParameters)
  .default({ type: "object", properties: {} });

function isPattern(text: string): boolean {
  try {
    void new RegExp(text, "u");
    return true;
  } catch {
    return false;
  }
}
