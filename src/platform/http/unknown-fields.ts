import type { z } from "@hono/zod-openapi";

/** The response header that names the fields of a request that the operation does not know. */
export const UNKNOWN_FIELDS = "X-Unknown-Fields";

/** This is enough to find a misspelt name. A response must not grow with the request. */
const MAX_NAMED = 20;
const MAX_NAME_LENGTH = 100;

export type FieldPath = (string | number)[];

/** The part of zod's definition of a schema that lists its fields. */
interface Definition {
  type: string;
  shape?: Record<string, z.ZodType>;
  catchall?: unknown;
  element?: z.ZodType;
  innerType?: z.ZodType;
  in?: z.ZodType;
  out?: z.ZodType;
  options?: z.ZodType[];
}

/** The paths of the fields in a value that its schema ignores. A strict schema refuses them itself, and a record accepts any field. */
export function unknownFields(schema: z.ZodType, value: unknown): FieldPath[] {
  const def = schema.def as unknown as Definition;
  if (Array.isArray(value))
    return def.element ? value.flatMap((item, at) => under(at, unknownFields(def.element!, item))) : inner(def, value);
  if (typeof value !== "object" || value === null) return [];
  if (!def.shape) return inner(def, value);
  if (def.catchall) return [];
  return Object.entries(value).flatMap(([name, field]) =>
    Object.hasOwn(def.shape!, name) ? under(name, unknownFields(def.shape![name]!, field)) : [[name]],
  );
}

/** Like `unknownFields`, for a schema that wraps another one, such as an optional or transformed schema. */
function inner({ innerType, in: input, out, options }: Definition, value: unknown): FieldPath[] {
  if (innerType) return unknownFields(innerType, value);
  // One side of a pipe may be a check or a transform; the other one has the fields.
  if (input && out) return unknownFields(["custom", "transform"].includes(input.def.type) ? out : input, value);
  if (!options) return [];
  const fitting = options.find((option) => option.safeParse(value).success);
  return fitting ? unknownFields(fitting, value) : [];
}

function under(name: string | number, paths: FieldPath[]): FieldPath[] {
  return paths.map((path) => [name, ...path]);
}

/** Fields as a header's value: `tools.0.nmae, stauts`. */
export function toHeader(paths: readonly FieldPath[]): string {
  const names = paths.slice(0, MAX_NAMED).map((path) => encodeURIComponent(path.join(".").slice(0, MAX_NAME_LENGTH).toWellFormed()));
  return paths.length > MAX_NAMED ? `${names.join(", ")}, ...` : names.join(", ");
}
