import { newOperation, type Operation } from "../platform/db/client.ts";
import { toSingleLine } from "../platform/text.ts";
import { recordAudit } from "../workspaces/audit-store.ts";
import { findSignInSettings, findWorkspace } from "../workspaces/store.ts";
import { limitsOf } from "../workspaces/plans.ts";
import type { Account } from "./provider.ts";
import { createMember, findMemberByAccount, findMemberByEmail, type MemberRow, nameFromEmail } from "./store.ts";

const MAX_NAME_LENGTH = 120;

/**
 * Finds the member whom an account of the workspace's provider signs in: the one whom it signed in before, else the one with its email
 * address who has no other account. Somebody who is no member joins if the domain of a verified address is in the settings.
 * @returns undefined if the account signs nobody in. Somebody who was removed needs an invitation.
 */
export async function memberOfAccount(
  env: Env,
  meter: Operation["meter"],
  workspaceId: string,
  account: Account,
): Promise<MemberRow | undefined> {
  const op = newOperation(env, meter, workspaceId);
  const { db } = op;
  const { email, issuer, subject } = account;
  const [[bound], [named], [settings], [workspace]] = await db.batch([
    findMemberByAccount(db, workspaceId, account),
    findMemberByEmail(db, workspaceId, email ?? ""),
    findSignInSettings(db, workspaceId),
    findWorkspace(db, workspaceId),
  ]);
  if (!settings || !workspace || settings.oidcIssuer !== issuer || !settings.methods.includes("oidc")) return undefined;
  if (bound) return bound;
  if (email === undefined) return undefined;
  if (named) return named.status === "removed" || isOfAnother(named, { issuer, subject }) ? undefined : named;
  const domain = email.slice(email.lastIndexOf("@") + 1);
  const admitted = account.isVerified ? settings.domains.find((each) => each.domain === domain) : undefined;
  if (!admitted || !EMAIL.test(email)) return undefined;
  const name = toSingleLine(account.name ?? "", MAX_NAME_LENGTH) || nameFromEmail(email);
  return join(op, { email, name, role: admitted.role }, limitsOf(workspace.plan, workspace.limits).members);
}

/** An address as members have it: one @, and no white space. */
const EMAIL = /^[^\s@]{1,64}@[^\s@]{1,255}$/;

function isOfAnother({ oidcIssuer, oidcSubject }: MemberRow, { issuer, subject }: Pick<Account, "issuer" | "subject">): boolean {
  return oidcSubject !== null && (oidcIssuer !== issuer || oidcSubject !== subject);
}

/** Adds a member who needs no invitation. @returns undefined if the plan has no room, or somebody else has the address meanwhile. */
async function join(op: Operation, person: Pick<MemberRow, "email" | "name" | "role">, max: number): Promise<MemberRow | undefined> {
  const { db, workspaceId, nowMs } = op;
  const id = op.newId();
  const occasion = { workspaceId, nowMs, actor: `member/${id}` };
  const [created] = await db.batch([
    createMember(db, { id, workspaceId, ...person, scopes: [] }, max, nowMs),
    recordAudit(db, occasion, "member.joined", { targetId: id, detail: { role: person.role } }),
  ]);
  // Another id is that of somebody who had the address before.
  return created.find((member) => member.id === id);
}
