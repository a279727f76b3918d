/** A sample as viewers of OpenAPI documents take it. */
interface CodeSample {
  lang: string;
  label: string;
  source: string;
}

/** What samples need of a document. */
interface DocumentedApi {
  servers?: { url: string }[] | undefined;
  paths?: Record<string, object> | undefined;
  components?: { schemas?: Record<string, object> } | undefined;
}

/**
 * Adds copyable samples to every operation of a document, made from its own contract: under `x-codeSamples`, as other
 * viewers read them too.
 * @throws Error where a body has no example.
 */
export function addSamples(document: DocumentedApi): void {
  const root = document.servers?.[0]?.url ?? "";
  const exampleOf = (ref: string) => exampleIn(document, ref);
  for (const [path, methods] of Object.entries(document.paths ?? {})) {
    for (const [method, operation] of Object.entries<DocumentedOperation>({ ...methods })) {
      const calls = callsOf(root + path, method, operation, exampleOf);
      Object.assign(operation, { "x-codeSamples": calls.flatMap((call, at) => samplesOf(call, at === 0 ? "" : ", streamed")) });
    }
  }
}

function samplesOf(call: SampleCall, manner: string): CodeSample[] {
  return [
    { lang: "Shell", label: `curl${manner}`, source: curlSample(call) },
    { lang: "TypeScript", label: `TypeScript${manner}`, source: typescriptSample(call) },
    { lang: "Python", label: `Python${manner}`, source: pythonSample(call) },
  ];
}

function exampleIn(document: DocumentedApi, ref: string): Record<string, unknown> {
  const schema: { example?: Record<string, unknown> } = document.components?.schemas?.[ref.split("/").at(-1)!] ?? {};
  if (!schema.example) throw new Error(`${ref} has no example, which its operation's samples send`);
  return schema.example;
}

/** What samples need of an operation as the OpenAPI document describes it. */
interface DocumentedOperation {
  operationId: string;
  parameters?: DocumentedParameter[];
  requestBody?: { content: Record<string, { schema: { $ref: string } }> };
  responses: Record<string, { content?: Record<string, unknown> }>;
}

interface DocumentedParameter {
  in: string;
  name: string;
  schema: { format?: string; example?: string | number };
}

/** A value in a sample: identifiers are read from the environment, the rest stands there as it is. */
type SampleValue = { variable: string } | { literal: string };

/** One request to show, in no language yet. */
interface SampleCall {
  operationId: string;
  method: string;
  /** As documented, from the host's root on: "/api/v1/agents/{agent_id}". */
  path: string;
  /** Every name in the path, as documented: "agent_id". */
  pathNames: string[];
  query: [name: string, value: SampleValue][];
  /** Undefined where the operation takes none. */
  body: Record<string, unknown> | undefined;
  takesIdempotencyKey: boolean;
  isPaged: boolean;
  answers: "json" | "events" | "nothing";
}

const EVENTS = "text/event-stream";

/** The environment variable that holds an identifier: "agent_id" is read from AGENT_ID. */
function variableOf(name: string): string {
  return name.toUpperCase();
}

/**
 * The requests that show an operation: one, and a streamed one beside it where the answer comes either way.
 * @param exampleOf the example that the document has of a schema.
 */
function callsOf(
  path: string,
  method: string,
  operation: DocumentedOperation,
  exampleOf: (ref: string) => Record<string, unknown>,
): SampleCall[] {
  const parameters = operation.parameters ?? [];
  const named = (place: string) => parameters.filter((parameter) => parameter.in === place);
  const types = contentTypesOf(operation);
  const call: SampleCall = {
    operationId: operation.operationId,
    method: method.toUpperCase(),
    path,
    pathNames: named("path").map(({ name }) => name),
    query: named("query").flatMap(queryExample),
    body: operation.requestBody && exampleOf(operation.requestBody.content["application/json"]!.schema.$ref),
    takesIdempotencyKey: named("header").some(({ name }) => name === "Idempotency-Key"),
    isPaged: named("query").some(({ name }) => name === "offset"),
    answers: types.includes("application/json") ? "json" : types.includes(EVENTS) ? "events" : "nothing",
  };
  const comesEitherWay = call.answers === "json" && types.includes(EVENTS);
  return comesEitherWay ? [call, { ...call, body: { ...call.body, stream: true }, answers: "events" }] : [call];
}

/** A filter is shown where it has an example. */
function queryExample({ name, schema: { format, example } }: DocumentedParameter): SampleCall["query"] {
  if (example === undefined) return [];
  return [[name, format === "uuid" ? { variable: variableOf(name) } : { literal: String(example) }]];
}

/** The content types of the answers that are successes. */
function contentTypesOf({ responses }: DocumentedOperation): string[] {
  const successes = Object.entries(responses).filter(([status]) => status.startsWith("2"));
  return successes.flatMap(([, { content }]) => Object.keys(content ?? {}));
}

/** The call as a command of a POSIX shell. */
function curlSample(call: SampleCall): string {
  const flags = call.answers === "events" ? ["-N"] : [];
  if (call.method !== "GET" && !(call.method === "POST" && call.body)) flags.push(`-X ${call.method}`);
  const headers = ["Authorization: Bearer $API_KEY"];
  if (call.body) headers.push("Content-Type: application/json");
  const lines = [
    ["curl", ...flags, `"$BASE_URL${pathOf(call)}"`].join(" "),
    ...headers.map((header) => `-H "${header}"`),
    ...(call.body ? [`-d '${JSON.stringify(call.body, null, 2).replaceAll("'", `'\\''`)}'`] : []),
  ];
  return lines.join(" \\\n  ");
}

function pathOf({ path, query }: SampleCall): string {
  const search = query.map(([name, value]) => `${name}=${curlValueOf(value)}`).join("&");
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => `$${variableOf(name)}`);
  return search === "" ? filled : `${filled}?${search}`;
}

function curlValueOf(value: SampleValue): string {
  return "variable" in value ? `$${value.variable}` : encodeURIComponent(value.literal);
}

/** Longer than the service takes for an answer; a stream has a comment every 15 seconds. */
const TIMEOUT_SECONDS = 60;

/** The call by Python's requests. */
function pythonSample(call: SampleCall): string {
  const imports = ["import os", ...(call.takesIdempotencyKey ? ["import uuid"] : []), "", "import requests"];
  return `${imports.join("\n")}\n\n${statementsOf(call)}\n`;
}

function statementsOf(call: SampleCall): string {
  const request = `requests.${call.method.toLowerCase()}(\n${argumentsOf(call)
    .map((argument) => `    ${argument.replaceAll("\n", "\n    ")},`)
    .join("\n")}\n)`;
  if (call.answers === "events") {
    return `with ${request} as response:
    response.raise_for_status()
    for line in response.iter_lines(decode_unicode=True):
        print(line)`;
  }
  const shown = call.answers === "json" ? "\nprint(response.json())" : "";
  return `response = ${request}\nresponse.raise_for_status()${shown}`;
}

function argumentsOf(call: SampleCall): string[] {
  const headers = [`"Authorization": f"Bearer {os.environ['API_KEY']}"`];
  if (call.takesIdempotencyKey) headers.push(`"Idempotency-Key": str(uuid.uuid4())`);
  const path = call.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => `{os.environ['${variableOf(name)}']}`);
  return [
    `f"{os.environ['BASE_URL']}${path}"`,
    `headers={${headers.join(", ")}}`,
    ...(call.query.length > 0 ? [`params={${call.query.map(([name, value]) => `"${name}": ${pythonValueOf(value)}`).join(", ")}}`] : []),
    ...(call.body ? [`json=${pythonLiteralOf(call.body)}`] : []),
    ...(call.answers === "events" ? ["stream=True"] : []),
    `timeout=${TIMEOUT_SECONDS}`,
  ];
}

function pythonValueOf(value: SampleValue): string {
  return "variable" in value ? `os.environ["${value.variable}"]` : pythonLiteralOf(value.literal);
}

/** A JSON value as Python writes it, objects laid out over lines. */
function pythonLiteralOf(value: unknown): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(pythonLiteralOf).join(", ")}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  const fields = Object.entries(value).map(([name, field]) => `${JSON.stringify(name)}: ${pythonLiteralOf(field)},`);
  return `{\n${fields.map((field) => `    ${field.replaceAll("\n", "\n    ")}`).join("\n")}\n}`;
}

/** The typed client's method that streams what the operation answers whole. */
const STREAMING_METHOD = "streamAnswer";

/** The call by the typed client of this repository. */
function typescriptSample(call: SampleCall): string {
  const ids = call.query.flatMap(([, value]) => ("variable" in value ? [value.variable] : []));
  const variables = ["BASE_URL", "API_KEY", ...new Set([...call.pathNames.map(variableOf), ...ids])];
  return `import { ${call.isPaged ? "createClient, paginate" : "createClient"} } from "./client/index.ts";

const { ${variables.map((name) => `${name} = ""`).join(", ")} } = process.env;
const client = createClient({ baseUrl: BASE_URL, apiKey: API_KEY });

${statementOf(call)}
`;
}

function statementOf(call: SampleCall): string {
  const input = inputOf(call);
  if (call.isPaged) {
    const list = [`client.${call.operationId}`, ...(input === "" ? [] : [input])].join(", ");
    return `for await (const record of paginate(${list})) {\n  console.log(record);\n}`;
  }
  if (call.answers === "events") {
    const method = call.body ? STREAMING_METHOD : call.operationId;
    return `for await (const event of client.${method}(${input})) {\n  console.log(event);\n}`;
  }
  const request = `await client.${call.operationId}(${input});`;
  return call.answers === "json" ? `const answer = ${request}\nconsole.log(answer);` : request;
}

/** The method's argument; empty where there is nothing to say. */
function inputOf({ pathNames, query, body, answers }: SampleCall): string {
  const { stream: _, ...asked } = body ?? {};
  const fields = [
    ...pathNames.map((name) => `${name}: ${variableOf(name)}`),
    ...query.map(([name, value]) => `${name}: ${typescriptValueOf(value)}`),
    ...(body ? [`body: ${typescriptLiteralOf(answers === "events" ? asked : body)}`] : []),
  ];
  if (fields.length === 0) return "";
  if (fields.length === 1 && !body) return `{ ${fields[0]!} }`;
  return `{\n${fields.map((field) => `  ${field.replaceAll("\n", "\n  ")},`).join("\n")}\n}`;
}

function typescriptValueOf(value: SampleValue): string {
  return "variable" in value ? value.variable : JSON.stringify(value.literal);
}

/** A JSON value as TypeScript writes it, objects laid out over lines. */
function typescriptLiteralOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(typescriptLiteralOf).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).map(([name, field]) => `${name}: ${typescriptLiteralOf(field)},`);
  return `{\n${fields.map((field) => `  ${field.replaceAll("\n", "\n  ")}`).join("\n")}\n}`;
}
