import { createMcpHandler, fromJsonSchema, McpServer } from "@modelcontextprotocol/server";

/** A tool of a test's server. */
export interface ServedTool {
  name: string;
  description?: string;
  inputSchema?: Record<string, unknown>;
  annotations?: { readOnlyHint?: boolean };
  /** The result of a call: content of the protocol, or a text. By default the arguments of the call. */
  answer?: string | object[];
  isError?: boolean;
}

/** A server of the Model Context Protocol. */
export interface ServedMcp {
  tools: ServedTool[];
  /** Whether it speaks the revisions of 2025 alone. */
  isLegacy?: boolean;
}

/** Answers a request by the official server. */
export async function answerMcp({ tools, isLegacy = false }: ServedMcp, request: Request, body: string): Promise<Response> {
  const message: unknown = body === "" ? undefined : JSON.parse(body);
  const isModern = request.headers.get("MCP-Protocol-Version")?.startsWith("2026") ?? false;
  if (isLegacy && isModern)
    return Response.json({ jsonrpc: "2.0", id: null, error: { code: -32_000, message: "Bad Request" } }, { status: 400 });
  return createMcpHandler(() => serverOf(tools)).fetch(request, { parsedBody: message });
}

function serverOf(tools: readonly ServedTool[]): McpServer {
  const server = new McpServer({ name: "stand-in", version: "1.0.0" }, { capabilities: { tools: {} } });
  for (const { name, inputSchema = { type: "object", properties: {} }, answer, isError = false, ...contract } of tools) {
    const schema = fromJsonSchema<Record<string, unknown>>(inputSchema);
    server.registerTool(name, { ...contract, inputSchema: schema }, (args) => {
      const content = Array.isArray(answer) ? answer : [{ type: "text", text: answer ?? JSON.stringify(args) }];
      return { content: content as { type: "text"; text: string }[], isError };
    });
  }
  return server;
}
