import type { Meter } from "../meter.ts";
import type { KnowledgeIndex } from "./index.ts";

/**
 * The object that holds what an agent knows. Its name begins with the workspace, so an agent of another workspace is
 * another object, and an empty one.
 */
export function indexOf(env: Env, meter: Meter, workspaceId: string, agentId: string): DurableObjectStub<KnowledgeIndex> {
  meter.hop();
  return env.INDEX.getByName(`${workspaceId}/${agentId}`);
}
