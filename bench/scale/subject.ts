import { mkdirSync } from "node:fs";
import { send } from "../load.ts";
import { type Build, serve, type Served } from "../serve.ts";
import { loadBulk } from "./bulk.ts";
import { leadCount, type Scene } from "./history.ts";
import { replay } from "./replay.ts";
import { INACTIVITY_MINUTES } from "./rows.ts";
import { writeState } from "./state.ts";

/** Other workspaces in the same database, and the conversations of each. */
const NEIGHBOURS = 100;
const NEIGHBOUR_TALKS = 100;
const AGENTS = 10;
/** What one run of the sweep hands to the index. */
const LEADS_A_SWEEP = 1_000;
/** Nothing that the bench does comes near these. */
const LIMITS = { requests_per_minute: 1_000_000_000, messages: 1_000_000_000, agents: AGENTS };

/** A workspace of the service, and how to call it. */
export interface Subject {
  scene: Scene;
  authorization: Record<string, string>;
}

/** A running service with a workspace of some size beside its neighbours. */
export interface Stage {
  served: Served;
  subject: Subject;
  /** A second workspace with the same history, if it was asked for, written the way of the service. */
  mirror: Subject | undefined;
}

/** Makes the workspaces through the service's own API, fills the state while it is down, and starts it again. */
export async function prepareStage(
  build: Build,
  secrets: Record<string, string>,
  options: { state: string; talks: number; mirrored: boolean },
): Promise<Stage> {
  const { state, talks, mirrored } = options;
  mkdirSync(state, { recursive: true });
  const empty = await serve(build, secrets, state);
  const nowMs = Date.now();
  const subjects: Subject[] = [];
  try {
    const operator = { Authorization: `Bearer ${secrets["OPERATOR_TOKEN"]}` };
    const sizes = [talks, ...Array<number>(NEIGHBOURS).fill(NEIGHBOUR_TALKS), ...(mirrored ? [talks] : [])];
    for (const [number, size] of sizes.entries()) subjects.push(await createSubject(empty.port, operator, { number, talks: size, nowMs }));
  } finally {
    await empty.close();
  }
  const [subject, ...others] = subjects as [Subject, ...Subject[]];
  await writeState(state, async (db) => {
    replay(
      db,
      others.map(({ scene }) => scene),
    );
    await loadBulk(db, subject.scene);
  });
  const served = await serve(build, secrets, state);
  const leads = subjects.reduce((sum, { scene }) => sum + leadCount(scene), 0);
  for (let handed = 0; handed < leads; handed += LEADS_A_SWEEP) await served.sweep();
  return { served, subject, mirror: mirrored ? others.at(-1) : undefined };
}

async function createSubject(
  port: number,
  operator: Record<string, string>,
  of: Pick<Scene, "number" | "talks" | "nowMs">,
): Promise<Subject> {
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
  return { scene: { ...of, workspaceId: id, agentIds }, authorization: { Authorization: `Bearer ${key}` } };
}
