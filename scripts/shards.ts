// `npm run shards -- …`: shows which database serves which logical shards, and moves shards to another database.
import { runMain } from "./shared/cli.ts";
import { createClient } from "./shared/service.ts";
import { cancelMove, moveShards, readOptions, statusLines, USAGE } from "./shards/shards.ts";

await runMain(async () => {
  const options = readOptions(process.argv.slice(2), process.env);
  if (options === undefined) return console.log(USAGE);
  const client = createClient(options.url, options.token);
  if (options.command === "move") await moveShards(client, options.shards, options.database, console.log);
  if (options.command === "cancel") await cancelMove(client, options.database, console.log);
  for (const line of await statusLines(client)) console.log(line);
});
