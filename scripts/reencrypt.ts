// `npm run reencrypt -- --url https://…`: encrypts stored secrets with the first value of ENCRYPTION_KEY, and says what still
// needs an old value of a secret. With --check nothing is changed.
import { isDone, needsNothingOld, readOptions, reencryptAll, reportOf, USAGE, walkAll } from "./reencrypt/reencrypt.ts";
import { runMain } from "./shared/cli.ts";
import { createClient } from "./shared/service.ts";

await runMain(async () => {
  const options = readOptions(process.argv.slice(2), process.env);
  if (options === undefined) return console.log(USAGE);
  const client = createClient(options.url, options.token);
  const total = options.isCheck ? await walkAll(client, "check", console.log) : await reencryptAll(client, console.log);
  for (const line of reportOf(total)) console.log(line);
  return (options.isCheck ? needsNothingOld(total) : isDone(total)) ? 0 : 1;
});
