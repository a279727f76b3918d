import { parseArgs } from "node:util";
import { PlainError, readArgs } from "../dev/flags.ts";
import { operatorTarget, type OperatorTarget } from "../operator/target.ts";

export const USAGE = `npm run --silent backup -- export --workspace ID --url URL > FILE   one workspace as lines of JSON
npm run backup -- import FILE --url URL                              puts it into a deployment that does not have it
npm run backup -- verify FILE --url URL                              compares a deployment's workspace with a file
npm run backup -- abandon --workspace ID --url URL                   gives an import up that is under way

The operator's token is taken from OPERATOR_TOKEN in the environment, or for a service on this machine from .dev.vars.`;

const DEFAULT_URL = "http://localhost:8787";

/** What the command line asks for. */
export type Command =
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
 * @throws PlainError that says what is missing.
 */
export function parseCommand(args: readonly string[], environment: NodeJS.ProcessEnv): Command {
  const options = { workspace: { type: "string" }, url: { type: "string" }, help: { type: "boolean" } } as const;
  const { values, positionals } = readArgs(USAGE, () => parseArgs({ args: [...args], options, allowPositionals: true }));
  const [action, file] = positionals;
  if (values.help || action === undefined) return { action: "help" };
  const target = operatorTarget(values.url ?? DEFAULT_URL, environment);
  if (action === "export" || action === "abandon") {
    if (values.workspace === undefined) throw new PlainError(`Name the workspace: ${action} --workspace ID`);
    return { action, ...target, workspaceId: values.workspace };
  }
  if (action !== "import" && action !== "verify") throw new PlainError(`There is no ${action}.\n\n${USAGE}`);
  if (file === undefined) throw new PlainError(`Name the file: ${action} FILE`);
  return { action, ...target, file };
}
