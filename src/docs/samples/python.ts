import { type SampleCall, type SampleValue, variableOf } from "./call.ts";

/** Longer than the service takes for an answer; a stream has a comment every 15 seconds. */
const TIMEOUT_SECONDS = 60;

/** The call by Python's requests. */
export function pythonSample(call: SampleCall): string {
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
    ...(call.query.length > 0 ? [`params={${call.query.map(([name, value]) => `"${name}": ${valueOf(value)}`).join(", ")}}`] : []),
    ...(call.body ? [`json=${literalOf(call.body)}`] : []),
    ...(call.answers === "events" ? ["stream=True"] : []),
    `timeout=${TIMEOUT_SECONDS}`,
  ];
}

function valueOf(value: SampleValue): string {
  return "variable" in value ? `os.environ["${value.variable}"]` : literalOf(value.literal);
}

/** A JSON value as Python writes it, objects laid out over lines. */
function literalOf(value: unknown): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(literalOf).join(", ")}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  const fields = Object.entries(value).map(([name, field]) => `${JSON.stringify(name)}: ${literalOf(field)},`);
  return `{\n${fields.map((field) => `    ${field.replaceAll("\n", "\n    ")}`).join("\n")}\n}`;
}
