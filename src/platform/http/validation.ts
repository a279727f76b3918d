import { extendZodWithOpenApi, z } from "@hono/zod-openapi";
import type { ValidationItem } from "./errors.ts";
import { similarName, type UnknownField } from "./unknown-fields.ts";

// The library adds `openapi` to all schemas. The bundler keeps it ahead of a module only if that module uses a value which depends on it,
// so each module that names a schema imports a value from here, at least indirectly.
extendZodWithOpenApi(z);

/** A larger input is left out of the error: a response must not be as large as the request. */
const MAX_ECHOED_INPUT_LENGTH = 16_384;
/** Bounds the response to a request with a hundred thousand invalid entries. */
const MAX_ITEMS = 100;

/** Fields that hold the caller's secrets: inputs with them are not echoed. */
const SECRET_FIELDS = ["headers", "secret", "client_secret", "link"];

type Issue = z.core.$ZodIssue;
type Target = "body" | "query" | "path";

/** The `params` of a custom check in our schemas: the error type and message in Pydantic's terms. */
interface CustomParams {
  type: string;
  msg?: string;
  ctx?: Record<string, unknown>;
}

/**
 * Returns the failed checks of one target in the form of Pydantic v2.
 * @param raw the validated input, which zod's issues do not carry.
 */
export function toItems(target: Target, issues: readonly Issue[], raw: unknown): ValidationItem[] {
  const shown = firstPerPath(issues).slice(0, MAX_ITEMS);
  return shown.map((issue) => {
    const input = valueAt(raw, issue.path);
    const missing = !input.present && issue.code !== "custom";
    const rule = missing ? { type: "missing", msg: "Field required" } : ruleOf(issue, input.value, target);
    const item: ValidationItem = { loc: [target, ...(issue.path as (string | number)[])], msg: rule.msg, type: rule.type };
    return {
      ...item,
      ...echo(rule.type === "missing" ? parentOf(raw, issue.path) : input.value, issue.path),
      ...(rule.ctx && { ctx: rule.ctx }),
    };
  });
}

/** Reports parameters that are given twice, since choosing one of the values silently would mislead the caller. */
export function repeatedItems(query: z.ZodType, given: Record<string, string[]>): ValidationItem[] {
  const known = "shape" in query ? Object.keys(query.shape as object) : [];
  const repeated = known.filter((name) => (given[name]?.length ?? 0) > 1);
  return repeated.map((name) => ({ loc: ["query", name], ...valueError("give this parameter once"), input: given[name] }));
}

/** Reports the fields of a body that the operation does not know. */
export function extraItems(fields: readonly UnknownField[], raw: unknown): ValidationItem[] {
  return fields.slice(0, MAX_ITEMS).map((field) => {
    const { path } = field;
    const similar = similarName(field);
    const msg = similar ? `Extra inputs are not permitted. Did you mean ${similar}?` : "Extra inputs are not permitted";
    const item: ValidationItem = { loc: ["body", ...path], msg, type: "extra_forbidden" };
    return { ...item, ...echo(valueAt(raw, path).value, path) };
  });
}

/** The first failed check of each field. For a number, the field's own bound takes precedence over the range of safe integers. */
function firstPerPath(issues: readonly Issue[]): Issue[] {
  const byPath = Map.groupBy(issues, (issue) => JSON.stringify(issue.path));
  return [...byPath.values()].map((same) => same.find((issue) => !isSafeRange(issue)) ?? same[0]!);
}

function isSafeRange(issue: Issue): boolean {
  if (issue.code === "too_big") return issue.maximum === Number.MAX_SAFE_INTEGER;
  return issue.code === "too_small" && issue.minimum === Number.MIN_SAFE_INTEGER;
}

/** Returns the zod parameters of a check that fails as Pydantic's `value_error`. */
export function valueErrorParams(message: string): { params: CustomParams } {
  return { params: valueError(message) };
}

/** Reports a problem with the field at a path as a `value_error`, if there is one. */
export function addProblem(ctx: z.RefinementCtx, problem: string | undefined, ...path: (string | number)[]): void {
  if (problem !== undefined) ctx.addIssue({ code: "custom", path, ...valueErrorParams(problem) });
}

/** Returns the type, message and context of a failed check that is Pydantic's `value_error`. */
export function valueError(message: string) {
  return { type: "value_error", msg: message.charAt(0).toUpperCase() + message.slice(1), ctx: { error: message } };
}

/** Returns `{ input }` if the input may be shown, and an empty object otherwise. */
function echo(input: unknown, path: readonly PropertyKey[]): { input?: unknown } {
  const json = JSON.stringify(input);
  if (json === undefined || json.length > MAX_ECHOED_INPUT_LENGTH) return {};
  return SECRET_FIELDS.some((field) => path.includes(field) || json.includes(`"${field}":`)) ? {} : { input };
}

interface Rule {
  type: string;
  msg: string;
  ctx?: Record<string, unknown>;
}

function ruleOf(issue: Issue, input: unknown, target: Target): Rule {
  switch (issue.code) {
    case "invalid_type":
      return typeRule(issue.expected, input, target);
    case "too_small":
      return sizeRule(issue.origin, "min", Number(issue.minimum), input);
    case "too_big":
      return sizeRule(issue.origin, "max", Number(issue.maximum), input);
    case "invalid_value":
      return literalRule(issue.values.map(String));
    case "invalid_format":
      return issue.format === "regex" ? valueError(issue.message) : formatRule(issue.format, input);
    case "custom":
      return customRule(issue.params as CustomParams | undefined, issue.message);
    default:
      return valueError(issue.message);
  }
}

const TYPE_RULES: Record<string, Rule> = {
  string: { type: "string_type", msg: "Input should be a valid string" },
  // Every number of the API is an integer; zod checks for a number first.
  number: { type: "int_type", msg: "Input should be a valid integer" },
  int: { type: "int_type", msg: "Input should be a valid integer" },
  boolean: { type: "bool_type", msg: "Input should be a valid boolean" },
  array: { type: "list_type", msg: "Input should be a valid list" },
  object: { type: "dict_type", msg: "Input should be an object" },
  record: { type: "dict_type", msg: "Input should be an object" },
};

function typeRule(expected: string, input: unknown, target: Target): Rule {
  if (expected === "int" && target === "query") return intParsing();
  return (
    TYPE_RULES[expected] ?? { type: `${expected}_type`, msg: `Input should be a valid ${expected}`, ctx: { input_type: typeof input } }
  );
}

function sizeRule(origin: string, side: "min" | "max", bound: number, input: unknown): Rule {
  const few = side === "min";
  if (origin === "string") {
    const ctx = few ? { min_length: bound } : { max_length: bound };
    const msg = `String should have at ${few ? "least" : "most"} ${bound} character${bound === 1 ? "" : "s"}`;
    return { type: few ? "string_too_short" : "string_too_long", msg, ctx };
  }
  if (origin === "array") {
    const actual = Array.isArray(input) ? input.length : 0;
    const msg = `List should have at ${few ? "least" : "most"} ${bound} item${bound === 1 ? "" : "s"} after validation, not ${actual}`;
    const ctx = { field_type: "List", [few ? "min_length" : "max_length"]: bound, actual_length: actual };
    return { type: few ? "too_short" : "too_long", msg, ctx };
  }
  return few
    ? { type: "greater_than_equal", msg: `Input should be greater than or equal to ${bound}`, ctx: { ge: bound } }
    : { type: "less_than_equal", msg: `Input should be less than or equal to ${bound}`, ctx: { le: bound } };
}

function literalRule(values: string[]): Rule {
  const quoted = values.map((value) => `'${value}'`);
  const expected = quoted.length > 1 ? `${quoted.slice(0, -1).join(", ")} or ${quoted.at(-1)!}` : quoted.join("");
  return { type: "literal_error", msg: `Input should be ${expected}`, ctx: { expected } };
}

function formatRule(format: string, input: unknown): Rule {
  if (format === "guid" || format === "uuid") {
    const error = "expected 32 hexadecimal digits in groups of 8-4-4-4-12";
    return { type: "uuid_parsing", msg: `Input should be a valid UUID, ${error}`, ctx: { error } };
  }
  if (format === "datetime") {
    const error = "expected RFC 3339, such as 2026-01-31T12:00:00Z";
    return { type: "datetime_parsing", msg: `Input should be a valid datetime, ${error}`, ctx: { error } };
  }
  if (format === "email") {
    const error = `value is not a valid email address: ${String(input).includes("@") ? "check the part before and after the @-sign" : "an email address must have an @-sign"}`;
    return { type: "value_error", msg: error, ctx: { error } };
  }
  return valueError(`expected ${format}`);
}

function customRule(params: CustomParams | undefined, message: string): Rule {
  if (params?.type === "int_parsing") return intParsing();
  if (params?.type === "missing") return { type: "missing", msg: "Field required" };
  if (params === undefined) return valueError(message);
  const rule = { type: params.type, msg: params.msg ?? message };
  return params.ctx ? { ...rule, ctx: params.ctx } : rule;
}

function intParsing(): Rule {
  return { type: "int_parsing", msg: "Input should be a valid integer, unable to parse string as an integer" };
}

function valueAt(raw: unknown, path: readonly PropertyKey[]): { present: boolean; value: unknown } {
  let value = raw;
  for (const key of path) {
    // The JSON in a field of a form is a text here.
    if (typeof value === "string") return { present: true, value: undefined };
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return { present: false, value: undefined };
    value = (value as Record<PropertyKey, unknown>)[key];
  }
  return { present: value !== undefined, value };
}

function parentOf(raw: unknown, path: readonly PropertyKey[]): unknown {
  return valueAt(raw, path.slice(0, -1)).value;
}
