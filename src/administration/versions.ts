import type { z } from "@hono/zod-openapi";
import { findAgent } from "../agents/store.ts";
import {
  createVersion,
  dropRollout,
  eraseDraft,
  findVersion,
  keepRollout,
  pruneVersions,
  publishVersion,
  saveDraft,
  startRollout,
  updateRollout,
} from "../agents/version-store.ts";
import { DRAFT, versionedIn } from "../agents/versions.ts";
import type { AgentRow } from "../agents/wire.ts";
import type { Operation } from "../platform/db/client.ts";
import { transact } from "../platform/db/sql.ts";
import { type AuditedOperation, recordAudit } from "../workspaces/audit-store.ts";
import { type AgentRefusal, readyTools, toColumns } from "./agents.ts";
import type { draftUpdateSchema } from "./version-wire.ts";

/** A version or draft as it is read, with the agent. */
export interface FoundVersion {
  agent: AgentRow;
  version: Awaited<ReturnType<typeof findVersion>>[number];
}

/** The outcome of a change of the draft. */
export type DraftChange = AgentRefusal | ({ outcome: "done" } & FoundVersion);

/** Changes the settings of the draft that are in the body. The draft begins as the published version. */
export async function changeDraft(
  op: Operation,
  agentId: string,
  { tools: given, ...body }: z.output<typeof draftUpdateSchema>,
  author: string,
): Promise<DraftChange> {
  const { env, db, workspaceId, nowMs } = op;
  const key = { workspaceId, agentId };
  let tools: Partial<AgentRow> = {};
  if (given) {
    const [[agent], [draft]] = await db.batch([findAgent(db, workspaceId, agentId), findVersion(db, key, { number: DRAFT })]);
    if (!agent) return { outcome: "not_found" };
    const ready = await readyTools(env, agentId, given, draft?.settings.tools ?? agent.tools);
    if ("outcome" in ready) return ready;
    tools = ready;
  }
  const changes = versionedIn({ ...(await toColumns(env, agentId, body)), ...tools });
  const [, [agent], [version]] = await db.batch([
    saveDraft(db, key, { id: op.newId(), author, nowMs }, changes),
    findAgent(db, workspaceId, agentId),
    findVersion(db, key, { number: DRAFT }),
  ]);
  return agent && version ? { outcome: "done", agent, version } : { outcome: "not_found" };
}

/** A publication of the draft, or of an earlier version. */
export interface Publication {
  note: string | null;
  author: string;
  /** The share of new conversations that gets it; null to publish it to everybody. */
  share: number | null;
}

/** The outcome of a publication. */
export type PublicationResult = ({ outcome: "done" } & FoundVersion) | { outcome: "not_found" | "no_version" | "no_change" };

/**
 * Publishes the draft as a new version, to everybody or to a share of new conversations, and deletes the draft. A repeated request
 * returns the version of its first run.
 */
export async function publishDraft(
  op: AuditedOperation,
  agentId: string,
  { note, author, share }: Publication,
): Promise<PublicationResult> {
  const { db, workspaceId, nowMs } = op;
  const key = { workspaceId, agentId };
  const id = op.newId();
  const {
    after: [[agent], [version]],
  } = await transact(db, {
    writes: [
      createVersion(db, key, { id, note, author, nowMs }, DRAFT),
      share === null ? publishVersion(db, key, { id, nowMs }) : startRollout(db, key, share, { id, nowMs }),
      eraseDraft(db, key, { ifChanged: true }),
      recordAudit(db, op, "agent.published", { targetId: agentId, ...(share !== null && { detail: { share } }) }),
      pruneVersions(db, key),
    ],
    after: [findAgent(db, workspaceId, agentId), findVersion(db, key, { id })],
  });
  if (!agent) return { outcome: "not_found" };
  return version ? { outcome: "done", agent, version } : { outcome: "no_change" };
}

/** Publishes the settings of an earlier version as a new one. A repeated request returns the version of its first run. */
export async function restoreVersion(
  op: AuditedOperation,
  agentId: string,
  number: number,
  { note, author }: Omit<Publication, "share">,
): Promise<PublicationResult> {
  const { db, workspaceId, nowMs } = op;
  const key = { workspaceId, agentId };
  const id = op.newId();
  const {
    after: [[agent], [version]],
  } = await transact(db, {
    writes: [
      createVersion(db, key, { id, note, author, nowMs }, number, { addsSame: true }),
      publishVersion(db, key, { id, nowMs }),
      recordAudit(db, op, "agent.rolled_back", { targetId: agentId, detail: { version: number } }),
      pruneVersions(db, key),
    ],
    after: [findAgent(db, workspaceId, agentId), findVersion(db, key, { id })],
  });
  if (!agent) return { outcome: "not_found" };
  return version ? { outcome: "done", agent, version } : { outcome: "no_version" };
}

/** A change of a rollout: another share, or its end. */
export type RolloutChange = { share: number } | { end: "keep" | "drop" };

/** Changes or ends the rollout of an agent. Returns the version that was rolled out. */
export async function changeRollout(
  op: AuditedOperation,
  agentId: string,
  change: RolloutChange,
): Promise<({ outcome: "done" } & FoundVersion) | { outcome: "not_found" | "no_rollout" }> {
  const { db, workspaceId, nowMs } = op;
  const key = { workspaceId, agentId };
  const write =
    "share" in change
      ? updateRollout(db, key, change.share, nowMs)
      : change.end === "keep"
        ? keepRollout(db, key, nowMs)
        : dropRollout(db, key, nowMs);
  const {
    before: [[version]],
    after: [[agent]],
  } = await transact(db, {
    before: [findVersion(db, key, { rollingOut: true })],
    writes: [write, recordAudit(db, op, "agent.rollout_changed", { targetId: agentId, detail: { ...change } })],
    after: [findAgent(db, workspaceId, agentId)],
  });
  if (!agent) return { outcome: "not_found" };
  return version ? { outcome: "done", agent, version } : { outcome: "no_rollout" };
}
