import { secretValues } from "../platform/config.ts";
import { keyedHash } from "../platform/crypto/hashes.ts";
import { normalizeEmail } from "../platform/text.ts";

/** Identifies a person. An email must be in lower case. */
export interface PersonIdentifier {
  type: "email" | "anon_id" | "external_id";
  value: string;
}

/** Returns the hash under which the audit log records the erasure of a person. Only somebody who knows the identifier can find it. */
export function subjectHashOf(secret: string, workspaceId: string, { type, value }: PersonIdentifier): Promise<string> {
  return keyedHash(secret, `privacy/${workspaceId}/${type}/${value}`);
}

/** Returns all hashes under which the erasure of a visitor may be recorded: one for each identifier and each secret in use. */
export function subjectHashesOf(
  env: Pick<Env, "KEY_SECRET">,
  workspaceId: string,
  { anonId, externalId, email }: { anonId: string; externalId: string | null; email: string | null },
): Promise<string[]> {
  const persons: PersonIdentifier[] = [{ type: "anon_id", value: anonId }];
  if (externalId !== null) persons.push({ type: "external_id", value: externalId });
  if (email !== null) persons.push({ type: "email", value: normalizeEmail(email) });
  const secrets = secretValues(env.KEY_SECRET);
  return Promise.all(secrets.flatMap((secret) => persons.map((person) => subjectHashOf(secret, workspaceId, person))));
}
