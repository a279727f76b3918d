import { randomSecret } from "../scripts/shared/dev-vars.ts";

/** New secrets for a service that is measured; they stand in this process's environment too. */
export function makeSecrets() {
  const secrets = { OPERATOR_TOKEN: randomSecret(), KEY_SECRET: randomSecret(), ENCRYPTION_KEY: randomSecret() };
  // Where wrangler looks for required secrets: else it warns.
  Object.assign(process.env, secrets, { WRANGLER_LOG: "error" });
  return secrets;
}
