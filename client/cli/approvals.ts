import { paginate, type Schemas } from "../index.ts";
import { choiceOf, defineCommand, onlyParameter } from "./command.ts";
import { connect } from "./environment.ts";
import { UsageError } from "./errors.ts";
import { print, printRecord, printTable, timeText } from "./terminal.ts";

const STATUSES = ["pending", "approved", "declined", "expired"] as const;
const EXAMPLE_ID = "019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00";

export const listApprovals = defineCommand({
  name: "approvals ls",
  about: "Lists the tool calls that wait for an approval, newest first.",
  parameters: "",
  options: { status: { type: "string", value: "STATUS", about: `With this status: ${STATUSES.join(", ")}. Default: pending.` } },
  examples: ["support-agent approvals ls", "support-agent approvals ls --status declined --json"],
  run: async ({ options }) => {
    const status = choiceOf("status", options.status, STATUSES) ?? "pending";
    const found: Schemas["Approval"][] = [];
    for await (const approval of paginate(connect().listApprovals, { status })) found.push(approval);
    if (options.json) return found.forEach(printRecord);
    if (found.length === 0) return print("No tool calls.");
    printTable(
      ["ID", "STATUS", "REQUESTED", "TOOL", "ARGUMENTS"],
      found.map((one) => [one.id, one.status, timeText(one.requested_at), one.tool, JSON.stringify(one.arguments)]),
    );
  },
});

export const approve = defineCommand({
  name: "approve",
  about: "Approves a tool call: it is made once, and the agent answers with its result.",
  parameters: "APPROVAL_ID",
  options: { arguments: { type: "string", value: "JSON", about: "Other arguments than the agent's." } },
  examples: [`support-agent approve ${EXAMPLE_ID}`, `support-agent approve ${EXAMPLE_ID} --arguments '{"order": "4711", "amount": 30}'`],
  run: async ({ parameters, options }) => {
    const changed = options.arguments === undefined ? {} : { arguments: parse(options.arguments) };
    show(await connect().approveToolCall({ approval_id: onlyParameter(parameters, "APPROVAL_ID"), body: changed }), options.json);
  },
});

export const decline = defineCommand({
  name: "decline",
  about: "Declines a tool call: nothing is called, and the agent reads the reason.",
  parameters: "APPROVAL_ID REASON",
  options: {},
  examples: [`support-agent decline ${EXAMPLE_ID} "The order is older than 30 days."`],
  run: async ({ parameters: [approval_id, reason, ...others], options }) => {
    if (approval_id === undefined || reason === undefined) throw new UsageError("Name an APPROVAL_ID and a REASON.");
    if (others.length > 0) throw new UsageError("There is more than APPROVAL_ID and REASON: put a text with spaces in quotation marks.");
    show(await connect().declineToolCall({ approval_id, body: { reason } }), options.json);
  },
});

function show(approval: Schemas["Approval"], isJson: boolean | undefined): void {
  if (isJson) printRecord(approval);
  else print(`${approval.id}  ${approval.tool} ${approval.status}`);
}

function parse(text: string): Record<string, unknown> {
  try {
    const read: unknown = JSON.parse(text);
    if (typeof read === "object" && read !== null && !Array.isArray(read)) return read as Record<string, unknown>;
  } catch {
    // The error below says what to write.
  }
  throw new UsageError(`--arguments is no JSON object, such as '{"order": "4711"}'.`);
}
