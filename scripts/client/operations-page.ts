import { type Document, type NamedOperation, operationsOf } from "./schema.ts";

/** An API of the service, as the page of operations introduces it. */
interface Api {
  title: string;
  introduction: string;
  document: Document;
}

/** The guide that lists every operation with the client's method. */
export function generateOperationsPage({ api, visitors, operator }: Record<"api" | "visitors" | "operator", Document>): string {
  const apis: Api[] = [
    {
      title: "API",
      introduction:
        "`createClient` of `@support-agent/client`, with an [API key](api-basics.md#authentication). To stream an answer, call\n`streamAnswer` instead of `askAgent`. `paginate` reads every record of a list.",
      document: api,
    },
    {
      title: "API of visitors",
      introduction:
        "`createWidgetClient` of `@support-agent/client/widget`, for [browsers](visitors.md). To stream an answer, call\n`streamVisitorMessage` instead of `sendVisitorMessage`.",
      document: visitors,
    },
    {
      title: "Operator API",
      introduction: "`createOperatorClient` of `@support-agent/client/operator`, with the token of the [operator](operate.md).",
      document: operator,
    },
  ];
  return `# Operations

These tables list every operation with its method in the [typed client](../client/README.md). \`/docs\` of your service
describes the fields of each operation, and shows samples. \`npm run client\` writes this page.

${apis.map(sectionOf).join("\n")}`;
}

function sectionOf({ title, introduction, document }: Api): string {
  const byTag = Map.groupBy(operationsOf(document), ({ tags }) => tags?.[0] ?? title);
  const tables = [...byTag].map(([tag, operations]) => (byTag.size === 1 ? tableOf(operations) : `### ${tag}\n\n${tableOf(operations)}`));
  return `## ${title}\n\n${introduction}\n\n${tables.join("\n")}`;
}

function tableOf(operations: readonly NamedOperation[]): string {
  const hasScopes = operations.some((operation) => operation["x-scope"] !== undefined);
  const rows = operations.map(({ method, path, operationId, summary, "x-scope": scope, "x-other-scope": other }) => [
    `\`${method} ${path}\``,
    `\`${operationId}\``,
    ...(hasScopes ? [scope === undefined ? "any" : [scope, other].flatMap((name) => (name ? [`\`${name}\``] : [])).join(" or ")] : []),
    summary,
  ]);
  const head = ["operation", "method of the client", ...(hasScopes ? ["scope"] : []), "effect"];
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}
