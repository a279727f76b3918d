import { z } from "@hono/zod-openapi";
import { isUuid } from "../db/ids.ts";
import { toSingleLine } from "../text.ts";
import { valueErrorParams } from "./validation.ts";

// Building schemas takes time when an isolate starts, so the two that most records use are built once.
const UUID = z.guid().toLowerCase().meta({ format: "uuid", example: "019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00" });
const TIMESTAMP = z.string().meta({ format: "date-time", example: "2026-01-31T12:00:00.000Z" });

const SLUG = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

/** Returns the schema of an id: any UUID, turned into lower case. */
export const uuid = () => UUID;

const MAX_SLUG_LENGTH = 63;

const AGENT_REF = z
  .string()
  .overwrite((text) => UUID.safeParse(text).data ?? text)
  .refine(
    (text) => isUuid(text) || (text.length <= MAX_SLUG_LENGTH && SLUG.test(text)),
    valueErrorParams("write the id or slug of an agent"),
  )
  .meta({ type: "string", description: "The agent's id or slug.", example: "019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00" });

/** Returns the schema of an agent in a request, by its id or slug. The router turns the slug in a field `agent_id` into the id. */
export const agentRef = () => AGENT_REF;

const MAX_PERSON_NAME_LENGTH = 120;

const HAS_CONTENT = /[^\s\p{Cc}\p{Cf}]/u;

/** Returns the schema of a text that people read: it is not empty, and not only white space and control characters. */
export const filledText = (maxLength: number) =>
  z
    .string()
    .min(1)
    .max(maxLength)
    .refine((value) => HAS_CONTENT.test(value), valueErrorParams("write something that can be seen"));

const toLine = (text: string) => toSingleLine(text, text.length);

/** Returns the schema of the name of a person, as one line: line breaks and other control characters become spaces. */
export const personName = () => z.string().max(MAX_PERSON_NAME_LENGTH).overwrite(toLine);

/** Returns the schema of a name of a person that is not empty, as one line. */
export const filledPersonName = () => filledText(MAX_PERSON_NAME_LENGTH).overwrite(toLine);

/** Returns the schema of an email address as HTML's `<input type="email">` accepts it, with a domain that has a dot. */
export const emailAddress = () =>
  z
    .email({ pattern: z.regexes.html5Email, abort: true })
    .refine((address) => address.includes(".", address.indexOf("@")), valueErrorParams("use an address whose domain has a dot"));

/** Returns the schema of a time in a response: RFC 3339 in UTC with milliseconds. */
export const timestamp = () => TIMESTAMP;

const INTEGER = /^[+-]?[0-9]+$/;

/**
 * Returns the schema of a whole number in a query, in decimal digits.
 * @param bounds `instead` tells the caller what to do instead of sending a number that is too large.
 */
export function integerQuery(bounds: { min: number; max: number; default: number; instead?: string }) {
  const { min, max, instead } = bounds;
  const tooLarge = { type: "less_than_equal", msg: `Input should be less than or equal to ${max}: ${instead}`, ctx: { le: max } };
  const range = z.number().gte(min);
  return z
    .string()
    .optional()
    .transform((text, ctx) => {
      if (text === undefined) return bounds.default;
      if (INTEGER.test(text)) return Math.min(Math.max(Number(text), -Number.MAX_VALUE), Number.MAX_VALUE);
      ctx.addIssue({ code: "custom", params: { type: "int_parsing" }, input: text });
      return z.NEVER;
    })
    .pipe(instead === undefined ? range.lte(max) : range.refine((value) => value <= max, { params: tooLarge }))
    .meta({ type: "integer", minimum: min, maximum: max, default: bounds.default });
}

const rfc3339 = z.iso.datetime({ offset: true, local: true });

/** Returns the schema of a time in a query: RFC 3339, in UTC if it has no offset, turned into milliseconds. */
export function timeQuery() {
  return z
    .string()
    .transform((text, ctx) => {
      // An unescaped plus sign of an offset is decoded as a space; T and Z may be lower case (RFC 3339, 5.6).
      const time = text.replace(/ (?=\d\d:\d\d$)/, "+").toUpperCase();
      if (!rfc3339.safeParse(time).success) {
        ctx.addIssue({ code: "invalid_format", format: "datetime", input: text });
        return z.NEVER;
      }
      return Date.parse(/(?:Z|[+-]\d\d:\d\d)$/.test(time) ? time : `${time}Z`);
    })
    .meta({ type: "string", format: "date-time", example: "2026-01-31T12:00:00Z" });
}

/** Formats Unix milliseconds as a time in a response. */
export function toTimestamp(ms: number): string {
  return new Date(ms).toISOString();
}

/** Like `toTimestamp`, for a time that may be null. */
export function toTimestampOrNull(ms: number | null): string | null {
  return ms === null ? null : toTimestamp(ms);
}

type CamelCase<Name> = Name extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelCase<Tail>>}` : Name;

type Stored<Name, Value> = Name extends `${string}_at` ? (null extends Value ? number | null : number) : Value;

/** The columns that a record's fields come from. */
type ColumnsOf<Fields> = { [Name in keyof Fields as CamelCase<Name>]: Stored<Name, Fields[Name]> };

/**
 * Returns the wire record of a row, in the order of its schema. A field's value is that of the column with the same name in camel case; a
 * time (`…_at`) is written as RFC 3339. Fields without such a column are given as `own`.
 */
export function toRecord<Schema extends z.ZodObject, Own extends Partial<z.infer<Schema>>>(
  schema: Schema,
  row: ColumnsOf<Omit<z.infer<Schema>, keyof Own>>,
  own: Own,
): z.infer<Schema> {
  const columns = row as Record<string, unknown>;
  const record: Record<string, unknown> = {};
  for (const { name, column, isTime } of fieldsOf(schema)) {
    const value = name in own ? own[name as keyof Own] : columns[column];
    record[name] = isTime && typeof value === "number" ? toTimestamp(value) : value;
  }
  return record as z.infer<Schema>;
}

interface RecordField {
  name: string;
  column: string;
  isTime: boolean;
}

const fieldsBySchema = new WeakMap<z.ZodObject, RecordField[]>();

function fieldsOf(schema: z.ZodObject): RecordField[] {
  let fields = fieldsBySchema.get(schema);
  if (!fields) {
    const toColumn = (name: string) => name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
    fields = Object.keys(schema.shape).map((name) => ({ name, column: toColumn(name), isTime: name.endsWith("_at") }));
    fieldsBySchema.set(schema, fields);
  }
  return fields;
}

/** Returns the schema of a slug: lower-case letters, digits and single hyphens between them. */
export const slug = () =>
  z
    .string()
    .min(1)
    .max(MAX_SLUG_LENGTH)
    .refine((value) => SLUG.test(value), valueErrorParams("use small letters, digits and single hyphens between them"))
    .meta({ pattern: SLUG.source, example: "acme-support" });
