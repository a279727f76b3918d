import { mkdirSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { send } from "../load.ts";
import { type Build, type RunningWorker, startWorker } from "../service.ts";
import { leadCount, type WorkspaceHistory } from "./history.ts";
import { loadBulk, replay, writeState } from "./loading.ts";
import { INACTIVITY_MINUTES } from "./rows.ts";

/** Other workspaces in the same database, and the conversations of each. */
const OTHER_WORKSPACES = 100;
const OTHER_CONVERSATIONS = 100;
const AGENTS = 10;
/** What one run of the sweep hands to the index. */
const LEADS_A_SWEEP = 1_000;
/** Nothing that the bench does comes near these. */
const LIMITS = { requests_per_minute: 1_000_000_000, messages: 1_000_000_000, agents: AGENTS };

/** A workspace of the service, and how to call it. */
export interface Workspace {
  history: WorkspaceHistory;
  authorization: Record<string, string>;
}

/** A running service with a workspace of some size beside its neighbours. */
export interface PreparedService {
  worker: RunningWorker;
  workspace: Workspace;
  /** A second workspace with the same history, if it was asked for, written the way of the service. */
  mirror: Workspace | undefined;
}

/** Makes the workspaces through the service's own API, fills the state while it is down, and starts it again. */
export async function prepareService(
  build: Build,
  secrets: Record<string, string>,
  options: { state: string; conversations: number; mirrored: boolean },
): Promise<PreparedService> {
  const { state, conversations, mirrored } = options;
  mkdirSync(state, { recursive: true });
  const empty = await startWorker(build, secrets, state);
  const nowMs = Date.now();
  const workspaces: Workspace[] = [];
  try {
    const operator = { Authorization: `Bearer ${secrets["OPERATOR_TOKEN"]}` };
    const sizes = [conversations, ...Array<number>(OTHER_WORKSPACES).fill(OTHER_CONVERSATIONS), ...(mirrored ? [conversations] : [])];
    for (const [number, size] of sizes.entries())
      workspaces.push(await createWorkspace(empty.port, operator, { number, conversations: size, nowMs }));
  } finally {
    await empty.close();
  }
  const [workspace, ...others] = workspaces as [Workspace, ...Workspace[]];
  await writeState(state, async (db) => {
    replay(
      db,
      others.map(({ history }) => history),
    );
    await loadBulk(db, workspace.history);
  });
  const worker = await startWorker(build, secrets, state);
  const leads = workspaces.reduce((sum, { history }) => sum + leadCount(history), 0);
  for (let handed = 0; handed < leads; handed += LEADS_A_SWEEP) await worker.sweep();
  return { worker, workspace, mirror: mirrored ? others.at(-1) : undefined };
}

/** Makes a workspace with its agents over the service's own API. */
export async function createWorkspace(
  port: number,
  operator: Record<string, string>,
  of: Pick<WorkspaceHistory, "number" | "conversations" | "nowMs">,
): Promise<Workspace> {
  const call = <Answer>(method: string, path: string, body: unknown, status: number) =>
    send(port, { method, path: `/operator/v1/workspaces${path}`, headers: operator, body, status }) as Promise<Answer>;
  const { id } = await call<{ id: string }>(
    "POST",
    "",
    { name: `Scale ${of.number}`, slug: `scale-${of.number}`, plan: "enterprise" },
    201,
  );
  await call("PATCH", `/${id}`, { limits: LIMITS }, 200);
  const { key } = await call<{ key: string }>("POST", `/${id}/keys`, { name: "Bench", scopes: ["*"] }, 201);
  const agentIds: string[] = [];
  for (let at = 0; at < AGENTS; at++) {
    const agent = { name: `Agent ${at}`, inactivity_minutes: INACTIVITY_MINUTES };
    agentIds.push((await call<{ id: string }>("POST", `/${id}/agents`, agent, 201)).id);
  }
  return { history: { ...of, workspaceId: id, agentIds }, authorization: { Authorization: `Bearer ${key}` } };
}

/** What is compared: each total, rollup and counter that the fast way computed, and the rows that it wrote. */
const PATHS = [
  "/analytics/overview?days=1",
  "/analytics/overview?days=30",
  "/analytics/overview?days=365",
  "/analytics/overview?days=365&agent_id={agent}",
  "/conversations?limit=100",
  "/conversations?limit=100&status=resolved",
  "/conversations?limit=100&status=ai_handled",
  "/conversations?limit=100&status=needs_human",
  "/conversations?limit=100&status=human_active",
  "/conversations?limit=100&agent_id={agent}&channel=api",
  "/conversations?limit=100&updated_since={since}",
  "/leads?limit=100",
  "/leads?limit=100&created_since={since}",
  "/leads?limit=100&q=acme",
  "/usage",
  "/privacy/visitors?external_id=u-0",
  "/privacy/visitors?email=visitor2@example.com",
];
/** Between the beginning and the end of a day, and of 32. */
const SINCE_MS = 200.5 * 86_400_000;

/**
 * Holds what was loaded fast against the same history written with the triggers, by what the service answers of both.
 * @throws Error naming the first answer that differs.
 */
export async function checkLoadedRows({ worker, workspace, mirror }: PreparedService): Promise<void> {
  if (!mirror) throw new Error("There is nothing to hold the load against.");
  for (const path of PATHS) {
    const [fast, own] = [await ask(worker.port, workspace, path), await ask(worker.port, mirror, path)];
    if (!isDeepStrictEqual(fast, own)) {
      throw new Error(`The load went wrong: ${path} answers ${JSON.stringify(fast)}, and with triggers ${JSON.stringify(own)}`);
    }
  }
}

/** An answer without identifiers, which are the workspace's own. */
async function ask(port: number, { history, authorization }: Workspace, path: string): Promise<unknown> {
  const since = new Date(history.nowMs - SINCE_MS).toISOString();
  const query = path.replace("{agent}", history.agentIds[1]!).replace("{since}", since);
  const request = { method: "GET", path: `/api/v1${query}`, headers: authorization, status: 200 };
  const plain = JSON.stringify(await send(port, request), (name, value: unknown) => (/(?:^|_)id$|_cursor$/.test(name) ? undefined : value));
  return JSON.parse(plain);
}
