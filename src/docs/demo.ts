import { findAgentBySlug } from "../agents/store.ts";
import { findSlug } from "../operator/store.ts";
import { isConfigured, isProduction } from "../platform/config.ts";
import { directoryDb, newOperation } from "../platform/db/client.ts";
import type { AppContext } from "../platform/http/context.ts";

/** The workspace and the agent that `npm run dev` makes to try the service with. */
const DEMO = { workspace: "demo", agent: "demo-agent" };

/** The demo's agent on a developer's machine, if it is there. */
export async function findDemoAgent(c: AppContext): Promise<string | undefined> {
  if (isProduction(c.env) || !isConfigured(c.env)) return undefined;
  const directory = directoryDb(c.env, c.get("meter"));
  const [[workspace]] = await directory.batch([findSlug(directory, DEMO.workspace)]);
  if (!workspace) return undefined;
  const { db, workspaceId } = newOperation(c.env, c.get("meter"), workspace.workspaceId);
  const [[agent]] = await db.batch([findAgentBySlug(db, workspaceId, DEMO.agent)]);
  return agent?.id;
}
