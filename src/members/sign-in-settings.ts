import { accessApplication, mailSender } from "../platform/config.ts";
import { encryptSecret } from "../platform/crypto/secrets.ts";
import { CONSOLE_METHODS, type ConsoleMethod, type MemberRole } from "../platform/db/columns.ts";
import { transact } from "../platform/db/sql.ts";
import { type AuditedOperation, changedFields, recordAudit } from "../workspaces/audit-store.ts";
import { reloadGate } from "../workspaces/gate.ts";
import { findSignInSettings } from "../workspaces/store.ts";
import { saveSignInSettings, type SignInRow, unbindAccounts } from "./sign-in-store.ts";
import { countOwners } from "./store.ts";

/** The methods of a workspace without settings, and what an unknown workspace is said to have. */
export const DEFAULT_METHODS: readonly ConsoleMethod[] = ["key"];

/** The methods that the deployment supports. */
export function supportedMethods(env: Env): ConsoleMethod[] {
  const isMissing: Partial<Record<ConsoleMethod, boolean>> = {
    access: accessApplication(env) === undefined,
    mail: mailSender(env) === undefined,
  };
  return CONSOLE_METHODS.filter((method) => !isMissing[method]);
}

/**
 * The address that a workspace's identity provider returns the browser to. Each workspace has its own: otherwise the provider of one
 * workspace could send a person on to that of another, and would get the code that this one gives.
 */
export function callbackUrl(requestUrl: string, workspaceId: string): string {
  return new URL(`/console/sign-in/oidc/callback/${workspaceId}`, requestUrl).href;
}

/** The client of an identity provider, as the settings give it. Without a secret, the client is a public one. */
interface GivenProvider {
  issuer: string;
  client_id: string;
  client_secret?: string | null | undefined;
}

/** A change of the settings. Fields that are left out stay unchanged. */
export interface SignInChanges {
  methods?: ConsoleMethod[] | undefined;
  oidc?: GivenProvider | null | undefined;
  domains?: { domain: string; role: MemberRole }[] | undefined;
}

type SignInChange = { outcome: "done"; settings: SignInRow } | { outcome: "changed_meanwhile" | "needs_owner" | "needs_provider" };

/** The encryption context of the secret of a workspace's client at its identity provider. */
export function clientSecretContext(settingsId: string): string {
  return `sign-in/${settingsId}/client-secret`;
}

/** Changes how members sign in. The change is in effect from the next request on. @param before the settings as they were read. */
export async function changeSignIn(op: AuditedOperation, before: SignInRow | undefined, changes: SignInChanges): Promise<SignInChange> {
  const { db, workspaceId } = op;
  const after = await settingsAfter(op, before, changes);
  if (after.methods.includes("oidc") && after.oidcIssuer === null) return { outcome: "needs_provider" };
  // The subject of an account is known to one client of one provider.
  const { oidcIssuer = null, oidcClientId = null } = before ?? {};
  const isOtherProvider = oidcIssuer !== after.oidcIssuer || oidcClientId !== after.oidcClientId;
  const fields = changedFields(changes);
  const {
    written: [saved],
    after: [[owners], [present]],
  } = await transact(db, {
    writes: [
      saveSignInSettings(db, before, after),
      recordAudit(db, op, "sign_in.updated", { detail: { fields, methods: after.methods } }),
      ...(isOtherProvider ? [unbindAccounts(db, workspaceId, after.updatedAt)] : []),
    ],
    after: [countOwners(db, workspaceId), findSignInSettings(db, workspaceId)],
  });
  const [settings] = saved as SignInRow[];
  if (settings) {
    await reloadGate(op);
    return { outcome: "done", settings };
  }
  const isUnchanged = present?.updatedAt === before?.updatedAt;
  return { outcome: isUnchanged && owners?.count === 0 ? "needs_owner" : "changed_meanwhile" };
}

async function settingsAfter(op: AuditedOperation, before: SignInRow | undefined, changes: SignInChanges): Promise<SignInRow> {
  const { env, workspaceId, nowMs } = op;
  const id = before?.id ?? op.newId();
  const { methods = before?.methods ?? [...DEFAULT_METHODS], domains = before?.domains ?? [], oidc } = changes;
  const provider = {
    oidcIssuer: before?.oidcIssuer ?? null,
    oidcClientId: before?.oidcClientId ?? null,
    oidcClientSecret: before?.oidcClientSecret ?? null,
  };
  if (oidc === null) Object.assign(provider, { oidcIssuer: null, oidcClientId: null, oidcClientSecret: null });
  else if (oidc) {
    const { issuer, client_id: clientId, client_secret: secret } = oidc;
    // A secret is never sent to a provider that it was not given for.
    const isSame = provider.oidcIssuer === issuer && provider.oidcClientId === clientId;
    const kept = isSame ? provider.oidcClientSecret : null;
    const oidcClientSecret = secret ? await encryptSecret(env, secret, clientSecretContext(id)) : secret === null ? null : kept;
    Object.assign(provider, { oidcIssuer: issuer, oidcClientId: clientId, oidcClientSecret });
  }
  // The time identifies the state of the row, so it always increases.
  const updatedAt = Math.max(nowMs, (before?.updatedAt ?? 0) + 1);
  return { id, workspaceId, methods, ...provider, domains, updatedAt };
}
