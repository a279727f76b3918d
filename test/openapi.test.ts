import { describe, expect, test } from "vitest";
import { EVENT_TYPES } from "../src/events/event-types.ts";
import { newAddress, send } from "./harness.ts";
import { fetchDocument, listOperations } from "./platform/http/document.ts";

const OPERATIONS = await listOperations();
const OPTIONAL_BODIES = new Set([
  "rotateIdentitySecret",
  "acceptDraft",
  "renewInvitation",
  "publishAgentDraft",
  "restoreAgentVersion",
  "suggestReply",
]);
const HEADERS = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-Request-Id"];

/** Every `$ref` in a value. */
function refsIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, part]) => (name === "$ref" ? [part as string] : refsIn(part)));
}

/** Resolves a JSON pointer in the document. */
function follow(document: Record<string, any>, ref: string): unknown {
  return ref
    .slice(2)
    .split("/")
    .reduce<any>((part, name) => part?.[name], document);
}

test("the document is served as JSON without a key", async () => {
  const answer = await send("GET", "/api/v1/openapi.json", { headers: newAddress() });
  expect(answer.status).toBe(200);
  expect(answer.headers.get("Content-Type")).toBe("application/json");
  expect(answer.body).toMatchObject({ openapi: "3.1.0", info: { version: "1.0.0" }, servers: [{ url: "/api/v1" }] });
});

test("the security scheme of the document is the key as a bearer token", async () => {
  const document = await fetchDocument();
  expect(document["security"]).toEqual([{ apiKey: [] }]);
  expect(document["components"].securitySchemes).toMatchObject({ apiKey: { type: "http", scheme: "bearer" } });
});

test("every reference resolves, and every header component is used", async () => {
  const document = await fetchDocument();
  const refs = new Set(refsIn(document));
  expect(refs.size).toBeGreaterThan(20);
  for (const ref of refs) expect(follow(document, ref), ref).toBeDefined();
  const used = [...refs].filter((ref) => ref.startsWith("#/components/headers/")).sort();
  expect(used).toEqual(
    Object.keys(document["components"].headers)
      .sort()
      .map((name) => `#/components/headers/${name}`),
  );
});

test("no component is nullable: a field that may be missing says so itself", async () => {
  const { schemas } = (await fetchDocument())["components"];
  for (const [name, { type }] of Object.entries<{ type?: unknown }>(schemas)) expect(["object", "string", undefined], name).toContain(type);
  const visitor = { $ref: "#/components/schemas/Visitor" };
  expect(schemas.Conversation.properties.visitor).toMatchObject({ anyOf: [visitor, { type: "null" }], description: expect.any(String) });
  expect(schemas.Conversation.properties.handoff).toMatchObject({ anyOf: [{}, { type: "null" }], description: expect.any(String) });
  expect(schemas.PrivacyFound.properties.visitors.items).toEqual(visitor);
});

test("the document describes the events that are sent to webhook endpoints, with the headers that sign them", async () => {
  const { webhooks } = await fetchDocument();
  const { parameters, requestBody } = webhooks.event.post;
  expect(parameters.map(({ name }: { name: string }) => name)).toEqual(["webhook-id", "webhook-timestamp", "webhook-signature"]);
  expect(requestBody.content["application/json"].schema).toEqual({ $ref: "#/components/schemas/WebhookEvent" });
  const { WebhookEvent: event, SourceSyncedEvent: synced } = (await fetchDocument())["components"].schemas;
  expect(Object.keys(event.discriminator.mapping)).toEqual([...EVENT_TYPES, "webhook.test"]);
  expect(event.oneOf).toContainEqual({ $ref: event.discriminator.mapping["webhook.test"] });
  expect(synced.properties.data.allOf[0]).toEqual({ $ref: "#/components/schemas/Source" });
});

test("the document does not contain the operator API", async () => {
  const document = await fetchDocument();
  expect(JSON.stringify(document)).not.toContain("/workspaces");
  for (const name of ["Workspace", "WorkspaceCreate", "AuditEntry", "WorkspaceUsage"]) {
    expect(Object.keys(document["components"].schemas)).not.toContain(name);
  }
});

/**
 * The documents of the three surfaces, each with its snapshot: a change of the contract is a diff to review. To accept it:
 * npx vitest run test/openapi.test.ts -u
 */
const SURFACES = [
  ["/api/v1", "openapi.json"],
  ["/widget/v1", "openapi.widget.json"],
  ["/operator/v1", "openapi.operator.json"],
] as const;

describe.each(SURFACES)("the document of %s", (root, snapshot) => {
  const read = async (): Promise<Record<string, any>> => (await send("GET", `${root}/openapi.json`, { headers: newAddress() })).body;

  /** The schemas of a document, by their location. */
  const schemasIn = (part: unknown, place = ""): [string, Record<string, any>][] => {
    if (typeof part !== "object" || part === null || place.endsWith(".example")) return [];
    const own: [string, Record<string, any>][] = "properties" in part ? [[place, part]] : [];
    return [...own, ...Object.entries(part).flatMap(([name, child]) => schemasIn(child, `${place}.${name}`))];
  };

  test("equals its snapshot", async () => {
    await expect(`${JSON.stringify(await read(), null, 2)}\n`).toMatchFileSnapshot(`./${snapshot}`);
  });

  test("explains every field and every parameter", async () => {
    const document = await read();
    const schemas = [...schemasIn(document["components"].schemas), ...schemasIn(document["paths"])];
    expect(schemas.length).toBeGreaterThan(10);
    const unexplained = schemas.flatMap(([place, { properties }]) =>
      Object.entries<Record<string, any>>(properties).flatMap(([name, field]) =>
        /\S/.test(field["description"] ?? "") || field["$ref"] ? [] : [`${place}.${name}`],
      ),
    );
    const parameters = Object.values<Record<string, any>>(document["paths"])
      .flatMap((methods) => Object.values<any>(methods))
      .flatMap(({ operationId, parameters = [] }) =>
        parameters.filter((one: any) => !one.description).map((one: any) => `${operationId}.${one.name}`),
      );
    expect([...unexplained, ...parameters]).toEqual([]);
  });

  test("has an example of its own for every error status", async () => {
    const { paths } = await read();
    const byStatus = new Map<string, string>();
    for (const operation of Object.values<any>(paths).flatMap((methods) => Object.values<any>(methods))) {
      for (const [status, { content }] of Object.entries<any>(operation.responses).filter(([each]) => each >= "400")) {
        const { example } = content["application/json"];
        // Health answers 503 with its report.
        if (!example && operation.operationId === "getHealth") continue;
        expect(example.error, `${operation.operationId} ${status}`).toMatchObject({
          code: expect.any(String),
          message: expect.stringMatching(/\S/),
        });
        byStatus.set(status, example.error.message);
      }
    }
    expect(new Set(byStatus.values()).size).toBe(byStatus.size);
  });

  test("names each operation once, under a described tag", async () => {
    const { paths, tags } = await read();
    const operations = Object.values<any>(paths).flatMap((methods) => Object.values<any>(methods));
    for (const field of ["operationId", "summary"]) expect(new Set(operations.map((one) => one[field])).size).toBe(operations.length);
    expect(new Set(operations.map((one) => one.tags[0]))).toEqual(new Set(tags.map(({ name }: any) => name)));
  });
});

test("operationIds and summaries are unique", () => {
  for (const field of ["operationId", "summary"]) {
    const values = OPERATIONS.map(({ definition }) => definition[field]);
    expect(new Set(values).size).toBe(values.length);
  }
});

describe.each(OPERATIONS.map((operation) => [operation.operationId, operation] as const))("%s", (_, { method, path, definition }) => {
  const responses: Record<string, any> = definition["responses"];

  test("has an operationId, a described tag and a summary", async () => {
    const document = await fetchDocument();
    expect(definition["operationId"]).toMatch(/^[a-z]+[A-Z]\w+$/);
    expect(definition["summary"]).toMatch(/^[A-Z].*[^.]$/);
    expect(document["tags"].map(({ name }: { name: string }) => name)).toContain(definition["tags"][0]);
    expect(definition["tags"]).toHaveLength(1);
  });

  test("documents its success and every error", () => {
    const statuses = Object.keys(responses);
    const successes = statuses.filter((status) => status.startsWith("2"));
    expect(successes).toEqual(definition["operationId"] === "resumeAnswer" ? ["200", "204"] : [expect.any(String)]);
    for (const status of ["401", "429", "500", "503"]) expect(statuses).toContain(status);
    if (path.includes("{")) for (const status of ["404", "422"]) expect(statuses).toContain(status);
    if (definition["requestBody"]) for (const status of ["413", "422"]) expect(statuses).toContain(status);
    if (definition["operationId"] !== "getMe") expect(statuses).toContain("403");
  });

  test("every response has its headers and its schema", () => {
    const isPaged = definition["parameters"]?.some(({ name }: { name: string }) => name === "cursor");
    for (const [status, response] of Object.entries(responses)) {
      const retry = status === "429" || status === "503" ? ["Retry-After"] : [];
      const own = status === "401" ? ["WWW-Authenticate"] : [];
      const ofCsv = isPaged && response.content?.["text/csv"] ? ["X-Next-Cursor"] : [];
      const names = Object.keys(response.headers).filter((name) => !own.includes(name));
      expect(names.sort(), status).toEqual([...retry, ...ofCsv, ...HEADERS].sort());
      expect(response.description).toMatch(/\S/);
      if (status === "204") {
        expect(response.content).toBeUndefined();
        continue;
      }
      const isStream = status === "200" && definition["operationId"] === "resumeAnswer";
      const { schema } = response.content[isStream ? "text/event-stream" : "application/json"];
      if (status.startsWith("2")) expect(schema.$ref).toMatch(/^#\/components\/schemas\/\w+$/);
      else expect(schema.$ref).toBe(`#/components/schemas/${status === "422" ? "ValidationError" : "Error"}`);
    }
  });

  test("documents its body and its parameters", () => {
    const parameters: { name: string; in: string; required?: boolean }[] = definition["parameters"] ?? [];
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    expect(parameters.filter((parameter) => parameter.in === "path").map(({ name }) => name)).toEqual(inPath);
    for (const parameter of parameters) if (parameter.in === "path") expect(parameter.required).toBe(true);
    if (!definition["requestBody"]) {
      expect(["GET", "DELETE", "POST"]).toContain(method);
      return;
    }
    expect(definition["requestBody"].required).toBe(!OPTIONAL_BODIES.has(definition["operationId"]));
    const { "application/json": json, "multipart/form-data": form } = definition["requestBody"].content;
    expect((json ?? form).schema.$ref).toMatch(/^#\/components\/schemas\/\w+$/);
  });
});

test("paging is documented with its bounds and defaults", () => {
  for (const { operationId, definition } of OPERATIONS) {
    const limit = definition["parameters"]?.find((parameter: { name: string }) => parameter.name === "limit");
    if (!limit) continue;
    expect(limit, operationId).toMatchObject({
      in: "query",
      required: false,
      schema: { type: "integer", minimum: 1, maximum: 100, default: 20 },
    });
    // New messages would move an offset, which begins at the latest; events are counted nowhere.
    if (["listMessages", "listEvents"].includes(operationId)) continue;
    const offset = definition["parameters"].find((parameter: { name: string }) => parameter.name === "offset");
    expect(offset, operationId).toMatchObject({ in: "query", required: false, schema: { type: "integer", minimum: 0, default: 0 } });
  }
});
