import { createRoute, z } from "@hono/zod-openapi";
import { findAgent } from "../agents/store.ts";
import { agentTools, toolShapes } from "../agents/tools.ts";
import type { AgentRow } from "../agents/wire.ts";
import { inputProblem } from "../grounded/tool-input.ts";
import type { Tool, ToolOutcome } from "../models/model.ts";
import { jsonBody } from "../platform/http/body.ts";
import { ApiError, invalid, notFound } from "../platform/http/errors.ts";
import { agentRef, emailAddress } from "../platform/http/fields.ts";
import { errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { REDACTED } from "../redaction/fields.ts";
import { redactionOf } from "../redaction/redaction.ts";
import { needsScope, operationOf } from "../workspaces/checks.ts";
import { leaseFor } from "../platform/http/idempotency.ts";
import { MINUTE_MS } from "../platform/time.ts";

export const toolRoutes = createRouter("Agents");

const toolTestInSchema = z
  .object({
    arguments: z
      .record(z.string(), z.unknown())
      .default({})
      .meta({ ...REDACTED, description: "The arguments that a model would send, by the names of the tool's parameters." }),
    visitor: z
      .object({
        external_id: z
          .string()
          .max(128)
          .nullable()
          .default(null)
          .meta({ description: "Your id of the visitor.", example: "customer-4711" }),
        email: emailAddress().nullable().default(null).meta({ description: "Their email address.", example: "ann@example.com" }),
      })
      .nullable()
      .default(null)
      .meta({ description: "The visitor for whom the tool is called. Tools that use a variable of the visitor need it." }),
  })
  .openapi("ToolTestIn", { example: { arguments: { order: "4711" }, visitor: { external_id: "customer-4711" } } });

const toolTestSchema = z
  .object({
    outcome: z.enum(["answered", "refused", "failed"]).meta({
      description: "refused: nothing was sent, because the arguments do not fit. failed: the other side failed, or did not answer in time.",
    }),
    status: z.int().nullable().meta({ description: "The HTTP status of an answer, if there is one.", example: 200 }),
    text: z.string().meta({ description: "The text that the model would read.", example: '{"status":"shipped"}' }),
    duration_ms: z.int().meta({ description: "The duration of the call.", example: 84 }),
  })
  .openapi("ToolTest");

const testTool = createRoute({
  operationId: "testTool",
  method: "post",
  path: "/agents/{agent_id}/tools/{tool_name}/test",
  summary: "Call a tool as the agent would",
  description:
    "Calls the tool for real, so a tool that changes something does change it. No conversation is created. A tool of an MCP server has the server's name before its own, such as `support_search`.",
  // A tool may take 30 seconds.
  ...needsScope("agents:write", leaseFor(MINUTE_MS)),
  request: {
    params: z.object({
      agent_id: agentRef(),
      tool_name: z.string().max(200).meta({ description: "The name by which models call it.", example: "order_status" }),
    }),
    body: jsonBody(toolTestInSchema),
  },
  responses: { 200: jsonResponse(toolTestSchema, "What the tool answered."), ...errorResponses(403, 404, 422) },
});

toolRoutes.openapi(testTool, async (c) => {
  const { agent_id: agentId, tool_name: name } = c.req.valid("param");
  const { arguments: input, visitor } = c.req.valid("json");
  const op = operationOf(c);
  const { db, workspaceId, newId } = op;
  const [[agent]]: [AgentRow[]] = await db.batch([findAgent(db, workspaceId, agentId)]);
  if (!agent) throw notFound("agent");
  const offered = agentTools(
    {
      op,
      conversationId: newId(),
      turnId: newId(),
      journal: { once: async (_, make) => ({ isKnown: true, result: await make() }) },
      redact: (await redactionOf(op.env, workspaceId, c.get("caller").workspace.redaction))?.text,
      visitor: visitor && { externalId: visitor.external_id, email: visitor.email },
    },
    agent,
  );
  const tool = offered.find((one) => one.name === name);
  if (tool) return c.json(await call(tool, input), 200);
  const called = toolShapes({ ...agent, tools: agent.tools.filter(({ type }) => type !== "client") });
  if (!called.some((one) => one.name === name)) {
    const message = "The agent has no tool of this name that is on and that the service calls. Client tools are run by their caller.";
    throw new ApiError("not_found", message);
  }
  throw invalid([
    {
      loc: ["body", "visitor"],
      msg: "give the visitor's external_id or email: the tool names them, or requires a verified visitor",
      type: "missing",
    },
  ]);
});

async function call(tool: Tool, input: Record<string, unknown>): Promise<z.output<typeof toolTestSchema>> {
  const startedMs = Date.now();
  const problem = await inputProblem(tool, input);
  const outcome: ToolOutcome =
    problem === undefined
      ? await (tool.runApproved?.(input) ?? tool.run(input, AbortSignal.timeout(tool.timeoutMs!)))
      : { kind: "note", text: problem };
  return { ...toResult(outcome), duration_ms: Date.now() - startedMs };
}

function toResult(outcome: ToolOutcome): Pick<z.output<typeof toolTestSchema>, "outcome" | "status" | "text"> {
  switch (outcome.kind) {
    case "data":
      return { outcome: "answered", status: outcome.status ?? null, text: outcome.text };
    case "note":
      return { outcome: "refused", status: null, text: outcome.text };
    case "failed":
      return { outcome: "failed", status: null, text: [outcome.note, outcome.text].filter(Boolean).join("\n") };
    case "found":
    case "handed_off":
    case "awaited":
      throw new Error(`An agent's own tool does not end as ${outcome.kind}.`);
  }
}
