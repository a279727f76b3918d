import { callsOf, type DocumentedOperation, type SampleCall } from "./call.ts";
import { curlSample } from "./curl.ts";
import { pythonSample } from "./python.ts";
import { typescriptSample } from "./typescript.ts";

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
