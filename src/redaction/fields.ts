import type { z } from "@hono/zod-openapi";

/** The OpenAPI extension of fields that hold text of people, which a workspace may have masked. */
const EXTENSION = "x-redacted";

/** Marks a field as text of people, in its `meta`. Every text within it is masked too. */
export const REDACTED = { [EXTENSION]: true } as const;

/** The parts of zod's definition of a schema that lead to its fields. */
interface Definition {
  shape?: Record<string, z.ZodType>;
  element?: z.ZodType;
  valueType?: z.ZodType;
  innerType?: z.ZodType;
  in?: z.ZodType;
  out?: z.ZodType;
  options?: readonly z.ZodType[];
}

type Parent = Record<string, unknown>;

/**
 * Masks the marked fields of a valid input in place.
 * @param redact returns the masked text.
 * @returns whether anything was masked.
 */
export function redactFields(schema: z.ZodType, input: unknown, redact: (text: string) => string): boolean {
  return visit(schema, { input }, "input", redact);
}

function visit(schema: z.ZodType, parent: Parent, name: string, redact: (text: string) => string): boolean {
  const value = parent[name];
  if (value === null || value === undefined) return false;
  if (schema.meta()?.[EXTENSION] === true) return redactAll(parent, name, redact);
  const { shape, element, valueType, innerType, in: input, out, options } = schema.def as unknown as Definition;
  const same = [innerType, input, out, ...(options ?? [])].filter((one) => one !== undefined);
  let isChanged = false;
  for (const one of same) if (visit(one, parent, name, redact)) isChanged = true;
  if (typeof value !== "object") return isChanged;
  // The bound of the patterns' steps spares the last ones of a list, such as a question after its history.
  for (const child of Object.keys(value).toReversed()) {
    const own = shape?.[child] ?? element ?? valueType;
    if (own && visit(own, value as Parent, child, redact)) isChanged = true;
  }
  return isChanged;
}

/** Masks all texts, numbers and names within a value. A list is used instead of recursion, since deep nesting would exhaust the stack. */
function redactAll(parent: Parent, name: string, redact: (text: string) => string): boolean {
  let isChanged = false;
  const left: [Parent, string][] = [[parent, name]];
  for (let next = left.pop(); next; next = left.pop()) {
    const [holder, key] = next;
    const value = holder[key];
    if (typeof value === "string" || typeof value === "number") {
      const text = String(value);
      const masked = redact(text);
      if (masked === text) continue;
      holder[key] = masked;
      isChanged = true;
    } else if (typeof value === "object" && value !== null) {
      for (const child of Object.keys(value)) {
        const newName = Array.isArray(value) ? child : redact(child);
        if (newName !== child) {
          (value as Parent)[newName] = (value as Parent)[child];
          delete (value as Parent)[child];
          isChanged = true;
        }
        left.push([value as Parent, newName]);
      }
    }
  }
  return isChanged;
}
