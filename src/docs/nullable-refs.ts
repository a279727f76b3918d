/** A reference that may be null, as the generator writes it: no value is both a record and null. */
interface WrittenRef {
  allOf: [{ $ref: string }, { type: ["object", "null"] } & Record<string, unknown>];
}

/**
 * Rewrites, everywhere in a document, what means "this record or null" and says "this record and, beside that, an object or
 * null", which no null fulfils.
 */
export function mendNullableRefs(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(mendNullableRefs);
  if (typeof value !== "object" || value === null) return value;
  if (isWrittenRef(value)) {
    const [ref, { type: _, ...rest }] = value.allOf;
    return { anyOf: [ref, { type: "null" }], ...rest };
  }
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, mendNullableRefs(part)]));
}

function isWrittenRef(value: object): value is WrittenRef {
  const [ref, own] = "allOf" in value && Array.isArray(value.allOf) ? (value.allOf as Record<string, unknown>[]) : [];
  return ref !== undefined && "$ref" in ref && Array.isArray(own?.["type"]) && own["type"].join() === "object,null";
}
