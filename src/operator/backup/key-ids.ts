import { apiKeySecrets, rotating } from "../../config.ts";
import { keyIdsOf } from "../../crypto/secrets.ts";
import type { Header } from "./wire.ts";

/** Which values of the two secrets this deployment has, by their ids. */
export async function ownKeyIds(env: Env): Promise<Header["key_ids"]> {
  const [encryption, keys] = await Promise.all([keyIdsOf(rotating(env.ENCRYPTION_KEY)), keyIdsOf(apiKeySecrets(env))]);
  return { ENCRYPTION_KEY: encryption, KEY_SECRET: keys };
}
