import { type SampleCall, type SampleValue, variableOf } from "./call.ts";

/** The typed client's method that streams what the operation answers whole. */
const STREAMING_METHOD = "streamAnswer";

/** The call by the typed client of this repository. */
export function typescriptSample(call: SampleCall): string {
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
    ...query.map(([name, value]) => `${name}: ${valueOf(value)}`),
    ...(body ? [`body: ${literalOf(answers === "events" ? asked : body)}`] : []),
  ];
  if (fields.length === 0) return "";
  if (fields.length === 1 && !body) return `{ ${fields[0]!} }`;
  return `{\n${fields.map((field) => `  ${field.replaceAll("\n", "\n  ")},`).join("\n")}\n}`;
}

function valueOf(value: SampleValue): string {
  return "variable" in value ? value.variable : JSON.stringify(value.literal);
}

/** A JSON value as TypeScript writes it, objects laid out over lines. */
function literalOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literalOf).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).map(([name, field]) => `${name}: ${literalOf(field)},`);
  return `{\n${fields.map((field) => `  ${field.replaceAll("\n", "\n  ")}`).join("\n")}\n}`;
}
