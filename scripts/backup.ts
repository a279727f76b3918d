// `npm run backup -- export|import|verify|abandon`: one workspace as a file, and back. See docs/backup-and-restore.md.
import { parseArgs } from "node:util";
import { exportTo, stdoutSink } from "./backup/export.ts";
import { createOperator } from "./backup/operator.ts";
import { abandonImport, importFile, verifyFile } from "./backup/restore.ts";
import { errorText, UserError, withUsage } from "./shared/cli.ts";
import { type OperatorTarget, resolveOperatorTarget } from "./shared/service.ts";

/** What it says goes to stderr: an export may go to stdout. */
const say = (text: string) => console.error(text);

async function main(args: readonly string[]): Promise<number> {
  const command = parseCommand(args, process.env);
  if (command.action === "help") {
    say(USAGE);
    return 0;
  }
  const operator = createOperator(command.url, command.token, say);
  switch (command.action) {
    case "export":
      await exportTo(operator, command.workspaceId, stdoutSink(), say);
      return 0;
    case "abandon":
      await abandonImport(operator, command.workspaceId, say);
      return 0;
    case "import":
      await importFile(operator, command.file, say);
      return 0;
    case "verify":
      return (await verifyFile(operator, command.file, say)) ? 0 : 1;
  }
}

const USAGE = `npm run --silent backup -- export --workspace ID --url URL > FILE   one workspace as lines of JSON
npm run backup -- import FILE --url URL                              puts it into a deployment that does not have it
npm run backup -- verify FILE --url URL                              compares a deployment's workspace with a file
npm run backup -- abandon --workspace ID --url URL                   gives an import up that is under way

The operator's token is taken from OPERATOR_TOKEN in the environment, or for a service on this machine from .dev.vars.`;

const DEFAULT_URL = "http://localhost:8787";

/** What the command line asks for. */
type Command =
  | { action: "help" }
  | (OperatorTarget &
      (
        | { action: "export"; workspaceId: string }
        | { action: "abandon"; workspaceId: string }
        | { action: "import"; file: string }
        | { action: "verify"; file: string }
      ));

/**
 * Reads the command line.
 * @throws UserError that says what is missing.
 */
function parseCommand(args: readonly string[], environment: NodeJS.ProcessEnv): Command {
  const options = { workspace: { type: "string" }, url: { type: "string" }, help: { type: "boolean" } } as const;
  const { values, positionals } = withUsage(USAGE, () => parseArgs({ args: [...args], options, allowPositionals: true }));
  const [action, file] = positionals;
  if (values.help || action === undefined) return { action: "help" };
  const target = resolveOperatorTarget(values.url ?? DEFAULT_URL, environment);
  if (action === "export" || action === "abandon") {
    if (values.workspace === undefined) throw new UserError(`Name the workspace: ${action} --workspace ID`);
    return { action, ...target, workspaceId: values.workspace };
  }
  if (action !== "import" && action !== "verify") throw new UserError(`There is no ${action}.\n\n${USAGE}`);
  if (file === undefined) throw new UserError(`Name the file: ${action} FILE`);
  return { action, ...target, file };
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  say(errorText(error));
  process.exitCode = 1;
}
