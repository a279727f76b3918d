import { type AuditedOperation, recordAudit } from "../workspaces/audit-store.ts";
import { reloadGate } from "../workspaces/gate.ts";
import { eraseApplication } from "./store.ts";

/** Disconnects an application: its tokens are refused from the next request on. @returns whether it was connected. */
export async function disconnect(op: AuditedOperation, application: { id: string; name: string; host: string }): Promise<boolean> {
  const { db, workspaceId } = op;
  const { id, name, host } = application;
  const [[erased]] = await db.batch([
    eraseApplication(db, workspaceId, id),
    recordAudit(db, op, "application.disconnected", { targetId: id, detail: { name, host } }),
  ]);
  if (!erased) return false;
  await reloadGate(op);
  return true;
}
