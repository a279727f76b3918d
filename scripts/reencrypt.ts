import { isDone, needsNothingOld, readOptions, reencryptAll, reportOf, USAGE, walkAll } from "./reencrypt/reencrypt.ts";
import { errorText } from "./shared/cli.ts";
import { createClient } from "./shared/service.ts";

// `npm run reencrypt -- --url https://…`: encrypts stored secrets with the first value of ENCRYPTION_KEY, and says what still
// needs an old value of a secret. With --check nothing is changed.
async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2), process.env);
  if (options === undefined) {
    console.log(USAGE);
    return 0;
  }
  const client = createClient(options.url, options.token);
  const say = (line: string) => console.log(line);
  const total = options.isCheck ? await walkAll(client, "check", say) : await reencryptAll(client, say);
  for (const line of reportOf(total)) console.log(line);
  return (options.isCheck ? needsNothingOld(total) : isDone(total)) ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(errorText(error));
  process.exitCode = 1;
}
