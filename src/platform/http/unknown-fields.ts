import type { z } from "@hono/zod-openapi";
import { editDistance } from "../text.ts";

/** The response header that names the fields of a request that the operation does not know. */
export const UNKNOWN_FIELDS = "X-Unknown-Fields";

/** This is enough to find a misspelt name. A response must not grow with the request. */
const MAX_NAMED = 20;
const MAX_NAME_LENGTH = 100;

type FieldPath = (string | number)[];

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

/** A field of a request that the operation does not know. */
export interface UnknownField {
  path: FieldPath;
  /** The names that the operation knows in its place. */
  known?: readonly string[];
}

/** Lists the fields in a value that its schema ignores. A strict schema refuses them itself, and a record accepts any field. */
export function unknownFields(schema: z.ZodType, value: unknown): UnknownField[] {
  const def = schema.def as unknown as Definition;
  if (Array.isArray(value))
    return def.element ? value.flatMap((item, at) => under(at, unknownFields(def.element!, item))) : inner(def, value);
  if (typeof value !== "object" || value === null) return [];
  if (!def.shape) return inner(def, value);
  if (def.catchall) return [];
  const { shape } = def;
  const known = Object.keys(shape);
  return Object.entries(value).flatMap(([name, field]) =>
    Object.hasOwn(shape, name) ? under(name, unknownFields(shape[name]!, field)) : [{ path: [name], known }],
  );
}

/** Like `unknownFields`, for a schema that wraps another one, such as an optional or transformed schema. */
function inner({ innerType, in: input, out, options }: Definition, value: unknown): UnknownField[] {
  if (innerType) return unknownFields(innerType, value);
  // One side of a pipe may be a check or a transform; the other one has the fields.
  if (input && out) return unknownFields(["custom", "transform"].includes(input.def.type) ? out : input, value);
  if (!options) return [];
  const fitting = options.find((option) => option.safeParse(value).success);
  return fitting ? unknownFields(fitting, value) : [];
}

function under(name: string | number, fields: UnknownField[]): UnknownField[] {
  return fields.map((field) => ({ ...field, path: [name, ...field.path] }));
}

/** A name differs from a misspelt one by at most this many edits, and by fewer than half of its letters. */
const MAX_EDITS = 2;

/** Returns the known name that is most similar to the name of an unknown field; undefined if none is similar. */
export function similarName({ path, known = [] }: UnknownField): string | undefined {
  const misspelt = String(path.at(-1)).toLowerCase();
  const candidates = known
    .map((name) => ({ name, edits: editDistance(misspelt, name, MAX_EDITS) }))
    .filter(({ name, edits }) => edits <= MAX_EDITS && edits < name.length / 2);
  return candidates.sort((a, b) => a.edits - b.edits)[0]?.name;
}

/** Formats fields as a header's value: `tools.0.nmae;did_you_mean=name, colour`. */
export function toHeader(fields: readonly UnknownField[]): string {
  const names = fields.slice(0, MAX_NAMED).map((field) => {
    const similar = similarName(field);
    const name = encodeURIComponent(field.path.join(".").slice(0, MAX_NAME_LENGTH).toWellFormed());
    return similar ? `${name};did_you_mean=${similar}` : name;
  });
  return fields.length > MAX_NAMED ? `${names.join(", ")}, ...` : names.join(", ");
}
