import { isUuid } from "../platform/db/ids.ts";

/** A code sample of an operation, as viewers of OpenAPI documents expect it under `x-codeSamples`. */
interface CodeSample {
  lang: string;
  label: string;
  source: string;
}

/** The parts of an OpenAPI document from which samples are made. */
interface DocumentedApi {
  servers?: { url: string }[] | undefined;
  paths?: Record<string, object> | undefined;
  components?: { schemas?: Record<string, object> } | undefined;
}

interface DocumentedOperation {
  operationId: string;
  security?: object[];
  parameters?: DocumentedParameter[];
  requestBody?: { content: Record<string, { schema: { $ref: string } }> };
  responses: Record<string, { content?: Record<string, unknown> }>;
}

interface DocumentedParameter {
  in: string;
  name: string;
  schema: { format?: string; example?: string | number };
}

/** The environment variable that holds the caller's credential. `isOptional` if most operations need none. */
interface Credential {
  variable: string;
  isOptional?: boolean;
}

/** A typed client: the module that makes it, its factory, and the option that takes the token. */
interface SampleClient {
  module: string;
  factory: string;
  tokenOption: string;
}

/** The clients of the APIs, by the variable of their credential. */
const CLIENTS: Record<string, SampleClient> = {
  SUPPORT_KEY: { module: "@support-agent/client", factory: "createClient", tokenOption: "apiKey" },
  OPERATOR_TOKEN: { module: "@support-agent/client/operator", factory: "createOperatorClient", tokenOption: "token" },
  VISITOR_TOKEN: { module: "@support-agent/client/widget", factory: "createWidgetClient", tokenOption: "visitorToken" },
};

/**
 * Adds curl, TypeScript and Python samples to every operation of a document, made from its contract and examples.
 * @throws Error if a body has no example.
 */
export function addSamples(document: DocumentedApi, credential: Credential): void {
  const root = document.servers?.[0]?.url ?? "";
  for (const [path, methods] of Object.entries(document.paths ?? {})) {
    for (const [method, operation] of Object.entries<DocumentedOperation>({ ...methods })) {
      // A WebSocket has no samples: its description shows how to connect.
      if (operation.responses["101"]) continue;
      const content = operation.requestBody?.content ?? {};
      const ref = (content["application/json"] ?? content[FORM])?.schema.$ref;
      const body = ref === undefined ? undefined : withAgent(exampleOf(document, ref));
      const token = credential.isOptional && !operation.security ? undefined : credential.variable;
      const client = CLIENTS[credential.variable]!;
      const calls = callsOf({ path: root + path, method, token, client }, operation, body);
      Object.assign(operation, { "x-codeSamples": calls.flatMap(samplesOf) });
    }
  }
}

function exampleOf(document: DocumentedApi, ref: string): Record<string, unknown> {
  const schema: { example?: Record<string, unknown> } = document.components?.schemas?.[ref.split("/").at(-1)!] ?? {};
  if (!schema.example) throw new Error(`${ref} has no example, which its operation's samples send`);
  return schema.example;
}

/** A value that a sample reads from the environment. */
class Variable {
  constructor(readonly name: string) {}

  toJSON(): string {
    return `$${this.name}`;
  }
}

/** The fields of bodies that hold the id of an agent. A sample reads it from the environment, so that it runs as it is. */
const AGENT_FIELDS = ["agent_id", "model"];

function withAgent(body: Record<string, unknown>): Record<string, unknown> {
  const named = AGENT_FIELDS.filter((name) => isUuid(String(body[name])));
  return { ...body, ...Object.fromEntries(named.map((name) => [name, new Variable(variableOf("agent_id"))])) };
}

function samplesOf(call: SampleCall, index: number): CodeSample[] {
  const suffix = index === 0 ? "" : ", streamed";
  return [
    { lang: "Shell", label: `curl${suffix}`, source: curlSample(call) },
    { lang: "TypeScript", label: `TypeScript${suffix}`, source: typescriptSample(call) },
    { lang: "Python", label: `Python${suffix}`, source: pythonSample(call) },
  ];
}

// --- The request of a sample -----------------------------------------------------------------------------------------

/** The value of a query parameter. Ids are read from an environment variable. */
type SampleValue = { variable: string } | { literal: string };

const FORM = "multipart/form-data";
/** The field of a form that holds a file. Its example is the name of the file. */
const FILE_FIELD = "file";

/** The request that a sample sends, independent of the language. */
interface SampleCall {
  operationId: string;
  method: string;
  /** The environment variable that holds the token; undefined if the operation needs none. */
  token: string | undefined;
  /** The typed client of the API. */
  client: SampleClient;
  /** The whole path: "/api/v1/agents/{agent_id}". */
  path: string;
  /** The names in the path: "agent_id". */
  pathNames: string[];
  query: [name: string, value: SampleValue][];
  body: Record<string, unknown> | undefined;
  /** Whether the body is sent as a form with a file. */
  isForm: boolean;
  acceptsIdempotencyKey: boolean;
  isPaged: boolean;
  response: "json" | "events" | "text" | "empty";
}

const EVENT_STREAM = "text/event-stream";

/** The requests of an operation's samples: one, and a second one that streams if the operation offers both. */
function callsOf(
  { path, method, token, client }: Pick<SampleCall, "path" | "method" | "token" | "client">,
  operation: DocumentedOperation,
  body: SampleCall["body"],
): SampleCall[] {
  const parameters = operation.parameters ?? [];
  const parametersIn = (place: string) => parameters.filter((parameter) => parameter.in === place);
  const contentTypes = successContentTypes(operation);
  const call: SampleCall = {
    operationId: operation.operationId,
    method: method.toUpperCase(),
    token,
    client,
    path,
    pathNames: parametersIn("path").map(({ name }) => name),
    query: parametersIn("query").flatMap(queryExample),
    body,
    isForm: operation.requestBody !== undefined && !("application/json" in operation.requestBody.content),
    acceptsIdempotencyKey: parametersIn("header").some(({ name }) => name === "Idempotency-Key"),
    isPaged: parametersIn("query").some(({ name }) => name === "offset"),
    response: responseOf(contentTypes),
  };
  if (call.response !== "json" || !contentTypes.includes(EVENT_STREAM)) return [call];
  return [call, { ...call, body: { ...body, stream: true }, response: "events" }];
}

function responseOf(contentTypes: string[]): SampleCall["response"] {
  if (contentTypes.includes("application/json")) return "json";
  if (contentTypes.includes(EVENT_STREAM)) return "events";
  return contentTypes.length > 0 ? "text" : "empty";
}

/** A query parameter is in the samples if it has an example. */
function queryExample({ name, schema: { format, example } }: DocumentedParameter): SampleCall["query"] {
  if (example === undefined) return [];
  return [[name, format === "uuid" || name === "agent_id" ? { variable: variableOf(name) } : { literal: String(example) }]];
}

function successContentTypes({ responses }: DocumentedOperation): string[] {
  const successes = Object.entries(responses).filter(([status]) => status.startsWith("2"));
  return successes.flatMap(([, { content }]) => Object.keys(content ?? {}));
}

/** The environment variable that holds an id: SUPPORT_AGENT, which `npm run dev` prints, for "agent_id", and SOURCE_ID for "source_id". */
function variableOf(name: string): string {
  return name === "agent_id" ? "SUPPORT_AGENT" : name.toUpperCase();
}

function fillPath(path: string, valueOf: (variable: string) => string): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => valueOf(variableOf(name)));
}

function indent(text: string, width: number): string {
  return text.replaceAll("\n", `\n${" ".repeat(width)}`);
}

// --- curl ------------------------------------------------------------------------------------------------------------

function curlSample({ method, token, path, query, body, isForm, response }: SampleCall): string {
  const flags = response === "events" ? ["-N"] : [];
  if (method !== "GET" && !(method === "POST" && body)) flags.push(`-X ${method}`);
  const headers = [...(token ? [`Authorization: Bearer $${token}`] : []), ...(body && !isForm ? ["Content-Type: application/json"] : [])];
  const search = query.map(([name, value]) => `${name}=${"variable" in value ? `$${value.variable}` : encodeURIComponent(value.literal)}`);
  const url = [fillPath(path, (variable) => `$${variable}`), ...(search.length > 0 ? [search.join("&")] : [])].join("?");
  const lines = [
    ["curl", ...flags, `"$SUPPORT_URL${url}"`].join(" "),
    ...headers.map((header) => `-H "${header}"`),
    ...(body && isForm
      ? formFields(body).map(([name, value]) => `-F ${shellQuoted(`${name}=${name === FILE_FIELD ? "@" : ""}${value}`)}`)
      : []),
    ...(body && !isForm ? [`-d ${withVariables(body, shellQuoted(JSON.stringify(body, null, 2)))}`] : []),
  ];
  return lines.join(" \\\n  ");
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Moves the variables of a body out of the single quotes, so that the shell expands them. */
function withVariables(body: Record<string, unknown>, quoted: string): string {
  return variablesIn(body).reduce((text, name) => text.replaceAll(`"$${name}"`, `"'"$${name}"'"`), quoted);
}

function variablesIn(body: Record<string, unknown> = {}): string[] {
  return Object.values(body).flatMap((value) => (value instanceof Variable ? [value.name] : []));
}

/** The fields of a form: texts as they are, other values as JSON. */
function formFields(body: Record<string, unknown>): [name: string, value: string][] {
  return Object.entries(body).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]);
}

// --- Python, with requests -------------------------------------------------------------------------------------------

/** This is longer than any answer takes. A stream has a comment every 15 seconds. */
const TIMEOUT_SECONDS = 60;

function pythonSample(call: SampleCall): string {
  const imports = ["import os", ...(call.acceptsIdempotencyKey ? ["import uuid"] : []), "", "import requests"];
  const lines = pythonArguments(call).map((argument) => `    ${indent(argument, 4)},\n`);
  const request = `requests.${call.method.toLowerCase()}(\n${lines.join("")})`;
  return `${imports.join("\n")}\n\n${pythonStatements(request, call.response)}\n`;
}

function pythonStatements(request: string, response: SampleCall["response"]): string {
  if (response === "events") {
    return `with ${request} as response:
    response.raise_for_status()
    for line in response.iter_lines(decode_unicode=True):
        print(line)`;
  }
  const shown = { json: "\nprint(response.json())", text: "\nprint(response.text)", empty: "" }[response];
  return `response = ${request}\nresponse.raise_for_status()${shown}`;
}

function pythonArguments({ token, path, query, body, isForm, acceptsIdempotencyKey, response }: SampleCall): string[] {
  const headers = token ? [`"Authorization": f"Bearer {os.environ['${token}']}"`] : [];
  if (acceptsIdempotencyKey) headers.push(`"Idempotency-Key": str(uuid.uuid4())`);
  const valueOf = (value: SampleValue) => ("variable" in value ? `os.environ["${value.variable}"]` : JSON.stringify(value.literal));
  const url = fillPath(path, (variable) => `{os.environ['${variable}']}`);
  return [
    `f"{os.environ['SUPPORT_URL']}${url}"`,
    ...(headers.length > 0 ? [`headers={${headers.join(", ")}}`] : []),
    ...(query.length > 0 ? [`params={${query.map(([name, value]) => `"${name}": ${valueOf(value)}`).join(", ")}}`] : []),
    ...(body ? (isForm ? pythonForm(body) : [`json=${literalOf(body, PYTHON)}`]) : []),
    ...(response === "events" ? ["stream=True"] : []),
    `timeout=${TIMEOUT_SECONDS}`,
  ];
}

function pythonForm(body: Record<string, unknown>): string[] {
  const { [FILE_FIELD]: file, ...fields } = Object.fromEntries(formFields(body));
  return [`files={"${FILE_FIELD}": open(${JSON.stringify(file)}, "rb")}`, `data=${literalOf(fields, PYTHON)}`];
}

// --- TypeScript, with the typed client ---------------------------------------------------------------------------------

/** The client's methods that stream the answer of an operation, by its id. */
const STREAMING_METHODS: Record<string, string> = {
  askAgent: "streamAnswer",
  sendVisitorMessage: "streamVisitorMessage",
  suggestReply: "streamSuggestedReply",
};

function typescriptSample(call: SampleCall): string {
  const isUnknownToClient = call.response === "events" && call.body !== undefined && !STREAMING_METHODS[call.operationId];
  if (isUnknownToClient) return fetchSample(call);
  const { module, factory, tokenOption } = call.client;
  const queryVariables = call.query.flatMap(([, value]) => ("variable" in value ? [value.variable] : []));
  const token = call.token ? [call.token] : [];
  const variables = [
    "SUPPORT_URL",
    ...token,
    ...new Set([...call.pathNames.map(variableOf), ...queryVariables, ...variablesIn(call.body)]),
  ];
  const blob = call.isForm ? `import { openAsBlob } from "node:fs";\n` : "";
  return `${blob}import { ${call.isPaged ? `${factory}, paginate` : factory} } from "${module}";

${readVariables(variables)}
const client = ${factory}({ baseUrl: SUPPORT_URL${token.map((name) => `, ${tokenOption}: ${name}`).join("")} });

${typescriptStatement(call)}
`;
}

function readVariables(names: readonly string[]): string {
  return `const { ${names.map((name) => `${name} = ""`).join(", ")} } = process.env;`;
}

/** A sample with `fetch`, for a stream that the client has no method for. */
function fetchSample({ method, token, path, pathNames, body }: SampleCall): string {
  return `${readVariables(["SUPPORT_URL", token!, ...pathNames.map(variableOf), ...variablesIn(body)])}

const response = await fetch(\`\${SUPPORT_URL}${fillPath(path, (variable) => `\${${variable}}`)}\`, {
  method: "${method}",
  headers: { Authorization: \`Bearer \${${token!}}\`, "Content-Type": "application/json" },
  body: JSON.stringify(${indent(literalOf(body, TYPESCRIPT), 2)}),
});
if (!response.ok) throw new Error(await response.text());
for await (const part of response.body!.pipeThrough(new TextDecoderStream())) console.log(part);
`;
}

function typescriptStatement(call: SampleCall): string {
  const input = typescriptInput(call);
  if (call.isPaged) {
    const list = [`client.${call.operationId}`, ...(input === "" ? [] : [input])].join(", ");
    return `for await (const record of paginate(${list})) {\n  console.log(record);\n}`;
  }
  if (call.response === "events") {
    const method = STREAMING_METHODS[call.operationId] ?? call.operationId;
    return `for await (const event of client.${method}(${input})) {\n  console.log(event);\n}`;
  }
  const request = `await client.${call.operationId}(${input});`;
  return call.response === "empty" ? request : `const answer = ${request}\nconsole.log(answer);`;
}

/** The argument of the client's method; empty if there is none. */
function typescriptInput({ pathNames, query, body, isForm, response }: SampleCall): string {
  const { stream: _, ...streamedBody } = body ?? {};
  const wholeBody = isForm ? { ...body, [FILE_FIELD]: new OpenedFile(String(body?.[FILE_FIELD])) } : body;
  const valueOf = (value: SampleValue) => ("variable" in value ? value.variable : JSON.stringify(value.literal));
  const fields = [
    ...pathNames.map((name) => `${name}: ${variableOf(name)}`),
    ...query.map(([name, value]) => `${name}: ${valueOf(value)}`),
    ...(body ? [`body: ${literalOf(response === "events" ? streamedBody : wholeBody, TYPESCRIPT)}`] : []),
  ];
  if (fields.length === 0) return "";
  if (fields.length === 1 && !body) return `{ ${fields[0]!} }`;
  return `{\n${fields.map((field) => `  ${indent(field, 2)},\n`).join("")}}`;
}

/** A file that the sample opens. */
class OpenedFile {
  constructor(readonly name: string) {}
}

// --- Values ----------------------------------------------------------------------------------------------------------

/** The syntax of JSON values in a language. */
interface LiteralSyntax {
  indentWidth: number;
  key: (name: string) => string;
  scalar: (value: unknown) => string;
}

const TYPESCRIPT: LiteralSyntax = {
  indentWidth: 2,
  key: (name) => name,
  scalar: (value) => {
    if (value instanceof Variable) return value.name;
    if (!(value instanceof OpenedFile)) return JSON.stringify(value);
    const name = JSON.stringify(value.name);
    return `new File([await openAsBlob(${name})], ${name})`;
  },
};
const PYTHON_CONSTANTS = new Map<unknown, string>([
  [null, "None"],
  [true, "True"],
  [false, "False"],
]);
const PYTHON: LiteralSyntax = {
  indentWidth: 4,
  key: (name) => JSON.stringify(name),
  scalar: (value) => (value instanceof Variable ? `os.environ["${value.name}"]` : (PYTHON_CONSTANTS.get(value) ?? JSON.stringify(value))),
};

/** A JSON value in a language's syntax, one line for each field of an object. */
function literalOf(value: unknown, syntax: LiteralSyntax): string {
  if (Array.isArray(value)) return `[${value.map((item) => literalOf(item, syntax)).join(", ")}]`;
  if (typeof value !== "object" || value === null || value instanceof OpenedFile || value instanceof Variable) return syntax.scalar(value);
  const margin = " ".repeat(syntax.indentWidth);
  const fields = Object.entries(value).map(([name, field]) => `${syntax.key(name)}: ${literalOf(field, syntax)}`);
  return `{\n${fields.map((field) => `${margin}${indent(field, syntax.indentWidth)},\n`).join("")}}`;
}
