/** The items of `detail` as Pydantic v2 writes them, spelt out here so that no rule of the service checks itself. */
export interface Item {
  loc: (string | number)[];
  msg: string;
  type: string;
  input?: unknown;
  ctx?: Record<string, unknown>;
}

/** Where, split at the dots: "body.user.id"; numbers are list positions. */
type At = string;

const at = (path: At) => path.split(".").map((part) => (/^\d+$/.test(part) ? Number(part) : part));

export const missing = (path: At, input: unknown): Item => ({ loc: at(path), msg: "Field required", type: "missing", input });

export const notString = (path: At, input: unknown): Item => ({
  loc: at(path),
  msg: "Input should be a valid string",
  type: "string_type",
  input,
});

export const tooShort = (path: At, input: string, min: number): Item => ({
  loc: at(path),
  msg: `String should have at least ${min} character${min === 1 ? "" : "s"}`,
  type: "string_too_short",
  input,
  ctx: { min_length: min },
});

export const tooLong = (path: At, input: string, max: number): Item => ({
  loc: at(path),
  msg: `String should have at most ${max} characters`,
  type: "string_too_long",
  input,
  ctx: { max_length: max },
});

export const notUuid = (path: At, input: string): Item => ({
  loc: at(path),
  msg: "Input should be a valid UUID, expected 32 hexadecimal digits in groups of 8-4-4-4-12",
  type: "uuid_parsing",
  input,
  ctx: { error: "expected 32 hexadecimal digits in groups of 8-4-4-4-12" },
});

export const unparsedInteger = (path: At, input: string): Item => ({
  loc: at(path),
  msg: "Input should be a valid integer, unable to parse string as an integer",
  type: "int_parsing",
  input,
});

export const notInteger = (path: At, input: unknown): Item => ({
  loc: at(path),
  msg: "Input should be a valid integer",
  type: "int_type",
  input,
});

export const notBoolean = (path: At, input: unknown): Item => ({
  loc: at(path),
  msg: "Input should be a valid boolean",
  type: "bool_type",
  input,
});

export const below = (path: At, input: unknown, ge: number): Item => ({
  loc: at(path),
  msg: `Input should be greater than or equal to ${ge}`,
  type: "greater_than_equal",
  input,
  ctx: { ge },
});

export const above = (path: At, input: unknown, le: number): Item => ({
  loc: at(path),
  msg: `Input should be less than or equal to ${le}`,
  type: "less_than_equal",
  input,
  ctx: { le },
});

/** @param expected the values as Pydantic lists them: "'a', 'b' or 'c'". */
export const notOneOf = (path: At, input: unknown, expected: string): Item => ({
  loc: at(path),
  msg: `Input should be ${expected}`,
  type: "literal_error",
  input,
  ctx: { expected },
});

export const notList = (path: At, input: unknown): Item => ({
  loc: at(path),
  msg: "Input should be a valid list",
  type: "list_type",
  input,
});

export const tooFew = (path: At, input: unknown[], min: number): Item => ({
  loc: at(path),
  msg: `List should have at least ${min} item${min === 1 ? "" : "s"} after validation, not ${input.length}`,
  type: "too_short",
  input,
  ctx: { field_type: "List", min_length: min, actual_length: input.length },
});

export const tooMany = (path: At, input: unknown[], max: number): Item => ({
  loc: at(path),
  msg: `List should have at most ${max} items after validation, not ${input.length}`,
  type: "too_long",
  input,
  ctx: { field_type: "List", max_length: max, actual_length: input.length },
});

export const notObject = (path: At, input: unknown): Item => ({
  loc: at(path),
  msg: "Input should be an object",
  type: "dict_type",
  input,
});

export const notJson = (position: number, error = "the body is not valid JSON"): Item => ({
  loc: ["body", position],
  msg: "JSON decode error",
  type: "json_invalid",
  input: {},
  ctx: { error },
});

export const wrong = (path: At, input: unknown, error: string): Item => ({
  loc: at(path),
  msg: error.charAt(0).toUpperCase() + error.slice(1),
  type: "value_error",
  input,
  ctx: { error },
});

export const notEmail = (path: At, input: string, why: string): Item => {
  const error = `value is not a valid email address: ${why}`;
  return { loc: at(path), msg: error, type: "value_error", input, ctx: { error } };
};
