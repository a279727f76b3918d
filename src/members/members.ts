import { eraseApplications } from "../applications/store.ts";
import { closeLive } from "../events/live-channel.ts";
import { secretValues } from "../platform/config.ts";
import type { SignInMethod } from "../platform/db/columns.ts";
import { newOperation, type Operation } from "../platform/db/client.ts";
import { type Statement, transact } from "../platform/db/sql.ts";
import { DAY_MS } from "../platform/time.ts";
import { assignWaiting, findQueue } from "../routing/assignment.ts";
import { mintSessionToken } from "../workspaces/api-key.ts";
import { type AuditedOperation, recordAudit } from "../workspaces/audit-store.ts";
import { reloadGate } from "../workspaces/gate.ts";
import {
  memberIsRemoved,
  activateMember,
  countMembers,
  countOwners,
  createMember,
  createSession,
  eraseSession,
  eraseSessions,
  findMember,
  findMemberByEmail,
  idByEmail,
  type MemberRow,
  type NewMember,
  unassignAll,
  updateMember,
} from "./store.ts";

/** How long somebody may take to accept an invitation. */
export const INVITATION_MS = 7 * DAY_MS;
const MAX_CLIENT_LENGTH = 200;

/** Adds a member who has yet to sign in. A repeated request returns the member of its first run. */
export async function inviteMember(
  op: AuditedOperation,
  invitation: Pick<NewMember, "email" | "name" | "role" | "scopes">,
  max: number,
): Promise<{ outcome: "done"; member: MemberRow } | { outcome: "exists" | "too_many" }> {
  const { db, workspaceId, nowMs } = op;
  const row = { id: op.newId(), workspaceId, ...invitation };
  const {
    written: [created],
    after: [[member], [counted]],
  } = await transact(db, {
    writes: [
      createMember(db, row, max, nowMs),
      recordAudit(db, op, "member.invited", { targetId: idByEmail(workspaceId, row.email), detail: { role: row.role } }),
    ],
    after: [findMemberByEmail(db, workspaceId, invitation.email), countMembers(db, workspaceId)],
  });
  if (member && ((created as MemberRow[]).length > 0 || member.id === row.id)) return { outcome: "done", member };
  return { outcome: member || (counted?.count ?? 0) < max ? "exists" : "too_many" };
}

/** A change of a member. */
export type MemberChanges = Partial<Pick<MemberRow, "name" | "role" | "scopes" | "availability">>;

type MemberChange = { outcome: "done"; member: MemberRow } | { outcome: "changed_meanwhile" | "is_last_owner" };

/** Changes a member, from the next request on. @param before the member as it was read. */
export async function changeMember(op: AuditedOperation, before: MemberRow, changes: MemberChanges): Promise<MemberChange> {
  const fields = Object.keys(changes);
  const record = recordAudit(op.db, op, "member.updated", {
    targetId: before.id,
    detail: { fields, ...(changes.role && { role: changes.role }) },
  });
  const changed = await writeChange(op, before, changes, [record]);
  if (changed.outcome === "done" && changes.availability === "available") await assignQueue(op);
  // The sockets show what the former scopes allow. Their pages open others.
  if (changed.outcome === "done" && (changes.role ?? changes.scopes)) closeLive(op.env, op.workspaceId, before.id, "changed");
  return changed;
}

/**
 * Removes a member: the sessions end, applications are disconnected, and conversations that wait for the member are assigned to nobody. The name stays at what the
 * member wrote.
 */
export async function removeMember(op: AuditedOperation, before: MemberRow): Promise<MemberChange> {
  const { env, db, workspaceId, nowMs } = op;
  const removed = { status: "removed" as const, oidcIssuer: null, oidcSubject: null };
  const record = recordAudit(db, op, "member.removed", { targetId: before.id });
  const isRemoved = memberIsRemoved(workspaceId, before.id);
  const change = await writeChange(op, before, removed, [
    record,
    eraseSessions(db, workspaceId, before.id, isRemoved),
    eraseApplications(db, workspaceId, before.id, isRemoved),
    unassignAll(db, workspaceId, before.id, isRemoved, nowMs),
  ]);
  if (change.outcome !== "done") return change;
  closeLive(env, workspaceId, before.id);
  await assignQueue(op);
  return change;
}

async function assignQueue(op: Operation): Promise<void> {
  const [[queue]] = await op.db.batch([findQueue(op.db, op.workspaceId)]);
  await assignWaiting(op, queue);
}

async function writeChange(
  op: AuditedOperation,
  before: MemberRow,
  changes: Partial<MemberRow>,
  further: readonly Statement[],
): Promise<MemberChange> {
  const { db, workspaceId, nowMs } = op;
  // The time identifies the state of the row, so it always increases.
  const updatedAt = Math.max(nowMs, before.updatedAt + 1);
  const {
    written: [updated],
    after: [[owners], [present]],
  } = await transact(db, {
    writes: [updateMember(db, before, { ...changes, updatedAt }), ...further],
    after: [countOwners(db, workspaceId), findMember(db, workspaceId, before.id)],
  });
  const [member] = updated as MemberRow[];
  if (member) {
    await reloadGate(op);
    return { outcome: "done", member };
  }
  const isLastOwner = present?.updatedAt === before.updatedAt && before.role === "owner" && owners?.count === 1;
  return { outcome: isLastOwner ? "is_last_owner" : "changed_meanwhile" };
}

/** How somebody signs in. */
interface SignedIn {
  method: SignInMethod;
  /** The User-Agent of the browser. */
  client: string | undefined;
  expiresAtMs: number;
  /** The account of the identity provider, if there is one. */
  account?: { issuer: string; subject: string };
  /** The name, for a member who signs in for the first time. */
  name?: string;
  /** The time of the member's last change, if a later one refuses the sign-in. */
  updatedAt?: number;
}

/**
 * Signs a member in. An invited member becomes active.
 * @returns the member and the token of the session; undefined if there is no such member any more, or the member was changed or has another account.
 */
export async function startSession(
  env: Env,
  meter: Operation["meter"],
  { workspaceId, memberId }: { workspaceId: string; memberId: string },
  { method, client, expiresAtMs, account, name, updatedAt }: SignedIn,
): Promise<{ member: MemberRow; token: string } | undefined> {
  const op = { ...newOperation(env, meter, workspaceId), actor: `member/${memberId}` };
  const { db, nowMs } = op;
  const minted = await mintSessionToken(workspaceId, secretValues(env.KEY_SECRET)[0]);
  const times = { createdAt: nowMs, expiresAt: expiresAtMs };
  const session = {
    id: op.newId(),
    workspaceId,
    memberId,
    hash: minted.hash,
    method,
    client: client?.slice(0, MAX_CLIENT_LENGTH) ?? null,
    ...times,
  };
  const changes = { updatedAt: nowMs, ...(name && { name }) };
  const [started, trimmed] = createSession(db, session);
  const [[member], [created]] = await db.batch([
    activateMember(db, { workspaceId, memberId, updatedAt }, changes, account),
    started,
    recordAudit(db, op, "member.signed_in", { targetId: memberId, detail: { method } }),
    trimmed,
  ]);
  if (!member || !created) return undefined;
  await reloadGate(op);
  return { member, token: minted.key };
}

/** Ends a session of a member at once. @returns whether there was one. */
export async function endSession(op: AuditedOperation, memberId: string, sessionId: string): Promise<boolean> {
  const { env, db, workspaceId } = op;
  const [[erased]] = await db.batch([
    eraseSession(db, { workspaceId, memberId, id: sessionId }),
    recordAudit(db, op, "member.session_ended", { targetId: memberId }),
  ]);
  if (!erased) return false;
  await reloadGate(op);
  closeLive(env, workspaceId, sessionId);
  return true;
}
