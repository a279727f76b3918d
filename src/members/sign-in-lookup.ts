import { newOperation, type Operation } from "../platform/db/client.ts";
import type { ConsoleMethod } from "../platform/db/columns.ts";
import { toSingleLine } from "../platform/text.ts";
import { recordAudit } from "../workspaces/audit-store.ts";
import { findSignInSettings, findWorkspace } from "../workspaces/store.ts";
import { limitsOf } from "../workspaces/plans.ts";
import type { Account } from "./provider.ts";
import type { SignInRow } from "./sign-in-store.ts";
import { createMember, findMemberByAccount, findMemberByEmail, type MemberRow, nameFromEmail } from "./store.ts";

const MAX_NAME_LENGTH = 120;

/** Somebody who is no member, and whom the domain of a verified address lets join. */
type Joiner = Pick<MemberRow, "email" | "role">;

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
  const joiner = account.isVerified ? joinerWith(settings, email) : undefined;
  return joiner && join(op, joiner, account.name, limitsOf(workspace.plan, workspace.limits).members);
}

function isOfAnother({ oidcIssuer, oidcSubject }: MemberRow, { issuer, subject }: Pick<Account, "issuer" | "subject">): boolean {
  return oidcSubject !== null && (oidcIssuer !== issuer || oidcSubject !== subject);
}

/** A workspace, and who signs in there with a verified address: a member, or somebody who joins. */
type ByAddress = { workspace: WorkspaceRow } & ({ member: MemberRow } | { joiner: Joiner });
export type WorkspaceRow = Awaited<ReturnType<typeof findWorkspace>>[number];

/**
 * Finds whom a verified email address signs in, without an account that is bound to the member: only one person has the address.
 * @returns undefined if it signs nobody in, or the workspace does not allow the method.
 */
export async function findByAddress(
  { db, workspaceId }: Pick<Operation, "db" | "workspaceId">,
  method: ConsoleMethod,
  email: string,
): Promise<ByAddress | undefined> {
  const [[named], [settings], [workspace]] = await db.batch([
    findMemberByEmail(db, workspaceId, email),
    findSignInSettings(db, workspaceId),
    findWorkspace(db, workspaceId),
  ]);
  if (!settings?.methods.includes(method) || !workspace) return undefined;
  if (named) return named.status === "removed" ? undefined : { workspace, member: named };
  const joiner = joinerWith(settings, email);
  return joiner && { workspace, joiner };
}

/** The member whom a verified email address signs in. Somebody whom the domain of the address lets join becomes a member. */
export async function memberOfAddress(
  env: Env,
  meter: Operation["meter"],
  { workspaceId, method, email }: { workspaceId: string; method: ConsoleMethod; email: string },
): Promise<MemberRow | undefined> {
  const op = newOperation(env, meter, workspaceId);
  const found = await findByAddress(op, method, email);
  if (!found || "member" in found) return found?.member;
  const { plan, limits } = found.workspace;
  return join(op, found.joiner, undefined, limitsOf(plan, limits).members);
}

/** An address as members have it: one @, and no white space. */
const EMAIL = /^[^\s@]{1,64}@[^\s@]{1,255}$/;

function joinerWith({ domains }: SignInRow, email: string): Joiner | undefined {
  const domain = email.slice(email.lastIndexOf("@") + 1);
  const admitted = domains.find((each) => each.domain === domain);
  return admitted && EMAIL.test(email) ? { email, role: admitted.role } : undefined;
}

/** Adds a member who needs no invitation. @returns undefined if the plan has no room, or somebody else has the address meanwhile. */
async function join(op: Operation, { email, role }: Joiner, given: string | undefined, max: number): Promise<MemberRow | undefined> {
  const { db, workspaceId, nowMs } = op;
  const id = op.newId();
  const occasion = { workspaceId, nowMs, actor: `member/${id}` };
  const name = toSingleLine(given ?? "", MAX_NAME_LENGTH) || nameFromEmail(email);
  const [created] = await db.batch([
    createMember(db, { id, workspaceId, email, name, role, scopes: [] }, max, nowMs),
    recordAudit(db, occasion, "member.joined", { targetId: id, detail: { role } }),
  ]);
  // Another id is that of somebody who had the address before.
  return created.find((member) => member.id === id);
}
