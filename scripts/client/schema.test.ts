import assert from "node:assert/strict";
import { test } from "node:test";
import { objectTypeFor, type Schema, toComment, typeFor } from "./schema.ts";

const TYPES: [schema: object, type: string][] = [
  [{ type: "string", format: "uuid", maxLength: 3 }, "string"],
  [{ type: ["integer", "null"] }, "number | null"],
  [{ enum: ["a", "b", null] }, `"a" | "b" | null`],
  [{ type: "array", items: { anyOf: [{ type: "string" }, { type: "boolean" }] } }, "(string | boolean)[]"],
  [{ type: "object", additionalProperties: { type: "number" } }, "Record<string, number>"],
  [{ type: "object" }, "Record<string, unknown>"],
  [{}, "unknown"],
  [{ anyOf: [{ $ref: "#/components/schemas/Visitor" }, { type: "null" }] }, `Schemas["Visitor"] | null`],
  [{ allOf: [{ $ref: "#/components/schemas/A" }, { anyOf: [{ type: "string" }, { type: "null" }] }] }, `Schemas["A"] & (string | null)`],
  [{ type: "array", items: { type: "object", properties: { a: { type: "null" } } } }, "{\n  a?: null | undefined;\n}[]"],
  [
    {
      type: "array",
      items: {
        oneOf: [
          { type: "object", properties: { a: { type: "null" } } },
          { type: "object", properties: {} },
        ],
      },
    },
    "({\n  a?: null | undefined;\n} | {\n\n})[]",
  ],
];

for (const [schema, type] of TYPES) void test(`${JSON.stringify(schema)} is ${type}`, () => assert.equal(typeFor(schema as Schema), type));

void test("an unknown keyword or type is refused at every level", () => {
  for (const schema of [
    { not: {} },
    { type: "array", items: { prefixItems: [] } },
    { type: "object", properties: { a: { type: "tuple" } } },
  ]) {
    assert.throws(() => typeFor(schema as Schema), /No type is known for (not|prefixItems|tuple)/);
  }
});

void test("fields have comments, and optional ones are marked", () => {
  const fields = objectTypeFor({ id: { type: "string", description: "Its id." }, q: { type: "string" } }, ["id"]);
  assert.equal(fields, "{\n  /** Its id. */\n  id: string;\n  q?: string | undefined;\n}");
});

void test("text that would end a comment is escaped", () => {
  assert.equal(toComment("Send */* or\n\nnothing."), "/**\n * Send *\\/* or\n *\n * nothing.\n */\n");
  assert.equal(toComment(undefined), "");
});
