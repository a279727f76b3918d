import type { Meter } from "../meter.ts";
import type { LeadIndex } from "./index.ts";

/** The object that searches a workspace's leads. */
export function leadIndexOf(env: Env, meter: Meter, workspaceId: string): DurableObjectStub<LeadIndex> {
  meter.hop();
  return env.LEADS.getByName(workspaceId);
}
