#!/usr/bin/env node
import { addAnswer, listAnswers, removeAnswers } from "./answers.ts";
import { approve, decline, listApprovals } from "./approvals.ts";
import { ask, chat } from "./ask.ts";
import { updateConversations } from "./bulk.ts";
import { type Command, runCommand } from "./command.ts";
import { listConversations, replyToConversation, showConversation } from "./conversations.ts";
import { explain, UsageError } from "./errors.ts";
import { runEvaluation } from "./evaluations.ts";
import { listenToEvents } from "./events.ts";
import { listLeads } from "./leads.ts";
import { inviteMember, listAudit, listMembers, removeMembers } from "./members.ts";
import { addSources, listSources, removeSources, syncSources } from "./sources.ts";
import { columns, note } from "./terminal.ts";
import { addWebhook, listWebhooks, removeWebhooks } from "./webhooks.ts";

const COMMANDS: readonly Command[] = [
  ask,
  chat,
  addSources,
  listSources,
  syncSources,
  removeSources,
  addAnswer,
  listAnswers,
  removeAnswers,
  listConversations,
  showConversation,
  replyToConversation,
  updateConversations,
  listApprovals,
  approve,
  decline,
  listLeads,
  listMembers,
  inviteMember,
  removeMembers,
  listAudit,
  runEvaluation,
  listenToEvents,
  addWebhook,
  listWebhooks,
  removeWebhooks,
];

/** The version of the package. */
const VERSION = "1.0.0";

const EXIT = { failed: 1, wrongUsage: 2 };

const ENVIRONMENT: [string, string][] = [
  ["SUPPORT_URL", "The address of the service: https://support.example.com"],
  ["SUPPORT_KEY", "An API key of the workspace, which begins with sk_live_"],
  ["SUPPORT_AGENT", "The agent to use, if the workspace has several"],
];

/** The help of several commands: all, or those that begin with the same word. */
function overviewOf(commands: readonly Command[]): string {
  return `Works with a workspace of the Support Agent Service from the shell.

Usage: support-agent COMMAND [options]

Commands:
${columns(commands.map(({ name, about }) => [name, about]))}

Environment:
${columns(ENVIRONMENT)}

Options and examples of a command: support-agent COMMAND --help
Version: support-agent --version
Exit codes: 0 success; 1 failure; 2 wrong usage.
`;
}

async function main(args: string[]): Promise<void> {
  const command = COMMANDS.find(({ name }) => name === args.slice(0, name.split(" ").length).join(" "));
  if (command) return runCommand(command, args.slice(command.name.split(" ").length));
  const [first = "--help", second] = args;
  const group = COMMANDS.filter(({ name }) => name.startsWith(`${first} `));
  const isHelp = ["help", "--help", "-h"].includes(first) || (group.length > 0 && ["help", "--help", "-h", undefined].includes(second));
  if (["--version", "-v"].includes(first)) return void process.stdout.write(`${VERSION}\n`);
  if (isHelp) process.stdout.write(overviewOf(group.length > 0 ? group : COMMANDS));
  else throw new UsageError(`There is no command ${args.slice(0, group.length > 0 ? 2 : 1).join(" ")}. See: support-agent --help`);
}

// The process that reads the output may close the pipe, as `head` does.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit();
});

try {
  await main(process.argv.slice(2));
} catch (error) {
  note(explain(error));
  process.exitCode = error instanceof UsageError ? EXIT.wrongUsage : EXIT.failed;
}
