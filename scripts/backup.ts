// `npm run backup -- export|import|verify|abandon`: one workspace as a file, and back. See docs/backup-and-restore.md.
import { parseCommand, USAGE } from "./backup/command.ts";
import { exportTo, stdoutSink } from "./backup/export.ts";
import { abandon, importFile } from "./backup/import.ts";
import { operatorOf } from "./backup/operator.ts";
import { verifyFile } from "./backup/verify.ts";
import { told } from "./dev/flags.ts";

/** What it says goes to stderr: an export may go to stdout. */
const say = (text: string) => console.error(text);

async function main(args: readonly string[]): Promise<number> {
  const command = parseCommand(args, process.env);
  if (command.action === "help") {
    say(USAGE);
    return 0;
  }
  const operator = operatorOf(command.url, command.token, say);
  switch (command.action) {
    case "export":
      await exportTo(operator, command.workspaceId, stdoutSink(), say);
      return 0;
    case "abandon":
      await abandon(operator, command.workspaceId, say);
      return 0;
    case "import":
      await importFile(operator, command.file, say);
      return 0;
    case "verify":
      return (await verifyFile(operator, command.file, say)) ? 0 : 1;
  }
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  say(told(error));
  process.exitCode = 1;
}
