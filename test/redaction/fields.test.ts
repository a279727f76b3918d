import { expect, test } from "vitest";
import { z } from "@hono/zod-openapi";
import { REDACTED, redactFields } from "../../src/redaction/fields.ts";
import { newAddress, send } from "../harness.ts";

interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  format?: string;
  pattern?: string;
  const?: unknown;
  "x-redacted"?: boolean;
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema | boolean;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
}

interface Document {
  paths: Record<string, Record<string, { operationId: string; tags: string[]; requestBody?: any }>>;
  components: { schemas: Record<string, Schema> };
}

/** The groups of operations that take what people write. The others take settings, knowledge and addresses of programs. */
const OF_PEOPLE = new Set(["Chat", "OpenAI", "Conversations", "Leads", "Visitors"]);

/** Operations of these groups that take settings. */
const SETTINGS = new Set(["createSavedReply", "updateSavedReply", "updateBusinessHours"]);

/** Text fields of these operations that are not masked: ids, tokens, labels, and settings to try out. */
const NOT_MASKED = new Set(
  `agent_id user user.id author.id author.name assignee.id assignee.name tags.[] add_tags.[] remove_tags.[] model tool_call_id messages.[].tool_call_id
  results.[].tool_call_id filter.* filter.*.[] settings.instructions settings.model client_tools.[] visitor_token turnstile_token
  identity_token user_hash`.split(/\s+/),
);

/** The paths of the text fields of a schema that are not marked. Ids, times, addresses and fixed values are no texts. */
function unmarked(document: Document, schema: Schema, path: string[] = [], seen: string[] = []): string[] {
  if (schema["x-redacted"]) return [];
  const name = schema.$ref?.split("/").at(-1);
  if (name !== undefined) return seen.includes(name) ? [] : unmarked(document, document.components.schemas[name]!, path, [...seen, name]);
  const isText = [schema.type].flat().includes("string") && !schema.enum && !schema.format && !schema.pattern && schema.const === undefined;
  const within = (child: Schema | boolean | undefined, ...further: string[]) =>
    typeof child === "object" ? unmarked(document, child, [...path, ...further], seen) : [];
  return [
    ...(isText ? [path.join(".")] : []),
    ...Object.entries(schema.properties ?? {}).flatMap(([field, child]) => within(child, field)),
    ...within(schema.items, "[]"),
    ...within(schema.additionalProperties, "*"),
    ...[schema.anyOf, schema.oneOf, schema.allOf].flatMap((parts) => (parts ?? []).flatMap((part) => within(part))),
  ];
}

test("each text field of operations that take what people write is marked, or known not to be such text", async () => {
  const found = new Set<string>();
  for (const root of ["/api/v1", "/widget/v1"]) {
    const document = (await send("GET", `${root}/openapi.json`, { headers: newAddress() })).body as Document;
    for (const { operationId, tags, requestBody } of Object.values(document.paths).flatMap(Object.values)) {
      const schema = requestBody?.content["application/json"]?.schema as Schema | undefined;
      if (!schema || !OF_PEOPLE.has(tags[0]) || SETTINGS.has(operationId)) continue;
      for (const path of unmarked(document, schema)) if (!NOT_MASKED.has(path)) found.add(`${operationId}: ${path}`);
    }
  }
  expect([...found]).toEqual([]);
});

test("marked fields are masked wherever they are in an input, with the names and numbers in them", () => {
  const text = () => z.string().meta({ ...REDACTED });
  const schema = z.object({
    plain: z.string(),
    text: text().nullable().optional(),
    list: z.array(z.object({ text: text().default("") })),
    either: z.union([z.object({ text: text() }), z.number()]),
    piped: text().transform((value) => value.trim()),
    byName: z.record(z.string(), z.object({ text: text() })),
    any: z.record(z.string(), z.unknown()).meta({ ...REDACTED }),
  });
  const input = {
    plain: "x",
    text: "x",
    list: [{ text: "x" }],
    either: { text: "x" },
    piped: "x",
    byName: { one: { text: "x" } },
    any: { x: ["x", 1, { deep: [null, true, "x"] }] },
  };
  const redact = (value: string) => value.replaceAll(/^[x1]$/g, "-");
  expect(redactFields(schema, input, redact)).toBe(true);
  expect(input).toEqual({
    plain: "x",
    text: "-",
    list: [{ text: "-" }],
    either: { text: "-" },
    piped: "-",
    byName: { one: { text: "-" } },
    any: { "-": ["-", "-", { deep: [null, true, "-"] }] },
  });
  expect(redactFields(schema, input, redact)).toBe(false);
});
