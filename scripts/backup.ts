// `npm run backup -- export|import|verify|abandon`: one workspace as a file, and back. See docs/backup-and-restore.md.
import { once } from "node:events";
import { parseArgs } from "node:util";
import { readExport } from "./backup/export.ts";
import { createOperator } from "./backup/operator.ts";
import { abandonImport, importFile, verifyFile } from "./backup/restore.ts";
import { exitOnSignals, runMain, UserError, withUsage } from "./shared/cli.ts";
import { resolveOperatorTarget } from "./shared/service.ts";

const USAGE = `npm run --silent backup -- export --workspace ID --url URL > FILE   one workspace as lines of JSON
npm run backup -- import FILE --url URL                              puts it into a deployment that does not have it
npm run backup -- verify FILE --url URL                              compares a deployment's workspace with a file
npm run backup -- abandon --workspace ID --url URL                   gives an import up that is under way

The operator's token is taken from OPERATOR_TOKEN in the environment, or for a service on this machine from .dev.vars.`;

const DEFAULT_URL = "http://localhost:8787";

/** Messages go to stderr, since an export may go to stdout. */
const say = (text: string) => console.error(text);

exitOnSignals();

await runMain(async () => {
  const options = { workspace: { type: "string" }, url: { type: "string" }, help: { type: "boolean" } } as const;
  const { values, positionals } = withUsage(USAGE, () => parseArgs({ options, allowPositionals: true }));
  const [action, file] = positionals;
  if (values.help || action === undefined) return say(USAGE);
  const { url, token } = resolveOperatorTarget(values.url ?? DEFAULT_URL, process.env);
  const operator = createOperator(url, token, say);
  const workspaceId = () => given(values.workspace, `Name the workspace: ${action} --workspace ID`);
  const fileName = () => given(file, `Name the file: ${action} FILE`);
  switch (action) {
    case "export":
      for await (const text of readExport(operator, workspaceId(), say))
        if (!process.stdout.write(text)) await once(process.stdout, "drain");
      return 0;
    case "abandon":
      return abandonImport(operator, workspaceId(), say);
    case "import":
      return importFile(operator, fileName(), say);
    case "verify":
      return (await verifyFile(operator, fileName(), say)) ? 0 : 1;
    default:
      throw new UserError(`There is no ${action}.\n\n${USAGE}`);
  }
});

function given(value: string | undefined, request: string): string {
  if (value === undefined) throw new UserError(request);
  return value;
}
