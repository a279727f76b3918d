import { and, count, desc, eq, getTableColumns, gt, isNotNull, type SQL, sql } from "drizzle-orm";
import { alias } from "drizzle-orm/sqlite-core";
import type { Database } from "../platform/db/client.ts";
import type { VersionSettings } from "../platform/db/columns.ts";
import { agents, agentVersions, apiKeys, conversations, evaluations, members, messages } from "../platform/db/schema.ts";
import { type AgentKey, exists, IF_CHANGED, insertWhere, isOfAgent, isOwn, withFields } from "../platform/db/sql.ts";
import { type AnsweringVersion, DRAFT, VERSIONED } from "./versions.ts";

/*
 * The versions of agents. The row of an agent holds the settings of the published version, so that a question reads one row. A change of
 * these settings also adds a version to `agent_versions`, in the same batch.
 */

/** A version to be made. A repeated request has the same id. */
export interface NewVersion {
  id: string;
  note: string | null;
  /** Who publishes it: `operator`, or the id of an API key. */
  author: string;
  nowMs: number;
}

/** How many versions of an agent are kept, and how much text they hold: header values of tools make some of them large. */
const KEPT_VERSIONS = 100;
const KEPT_BYTES = 5_000_000;

/** SQL: a versioned setting of the agent, as JSON. */
function currentJson(name: keyof VersionSettings): SQL {
  const column = agents[name];
  return column.dataType === "json" ? sql`${column}` : sql`json_quote(${column})`;
}

/** SQL: all versioned settings of the agent as JSON, replaced by those of `delta`. */
function settingsJson(delta?: SQL): SQL {
  const fields = VERSIONED.map((name) => {
    const path = sql.raw(`'$.${name}'`);
    const current = currentJson(name);
    const value = delta ? sql`CASE WHEN json_type(${delta}, ${path}) IS NULL THEN ${current} ELSE ${delta} -> ${path} END` : current;
    return sql`${sql.raw(`'${name}'`)}, json(${value})`;
  });
  return sql`json_object(${sql.join(fields, sql`, `)})`;
}

/** Adds the first version of a new agent. */
export function createFirstVersion(db: Database, { workspaceId, agentId }: AgentKey, { nowMs, ...version }: Omit<NewVersion, "note">) {
  const row = { ...version, workspaceId, agentId, number: 1, settings: settingsJson(), createdAt: nowMs };
  return insertWhere(db, agentVersions, row, isOwn(agents, workspaceId, agentId), sql`${agents}`).onConflictDoNothing();
}

/**
 * Adds a version with the settings of the published one, replaced by those that are given. It adds none if the settings stay the same.
 * @param given settings, or the number of the version or draft that has them.
 * @param options `addsSame`: whether it adds a version even if the settings stay the same; `condition`: a further condition.
 */
export function createVersion(
  db: Database,
  { workspaceId, agentId }: AgentKey,
  { nowMs, ...version }: NewVersion,
  given: Partial<VersionSettings> | number,
  { addsSame = false, condition }: { addsSame?: boolean; condition?: SQL | undefined } = {},
) {
  const delta = typeof given === "number" ? settingsOf({ workspaceId, agentId }, given) : sql`${JSON.stringify(given)}`;
  const isWanted = and(isOwn(agents, workspaceId, agentId), sql`d.delta IS NOT NULL`, condition);
  const source = sql`(SELECT ${agents.version} AS base, ${settingsJson()} AS before, ${settingsJson(sql`d.delta`)} AS after
    FROM ${agents} CROSS JOIN (SELECT ${delta} AS delta) d WHERE ${isWanted}) v`;
  const changed = sql`(SELECT json_group_array(json_each.key) FROM json_each(v.after)
    WHERE json_each.value IS NOT json_extract(v.before, '$.' || json_each.key))`;
  const row = {
    ...version,
    workspaceId,
    agentId,
    number: sql`(SELECT coalesce(max(number), 0) + 1 FROM ${agentVersions} WHERE ${isOfAgent(agentVersions, { workspaceId, agentId })})`,
    settings: sql`v.after`,
    base: sql`v.base`,
    changed,
    createdAt: nowMs,
  };
  return insertWhere(db, agentVersions, row, addsSame ? sql`TRUE` : sql`${changed} <> '[]'`, source).onConflictDoNothing();
}

/** SQL: the settings of a version or of the draft; NULL if there is none. */
function settingsOf({ workspaceId, agentId }: AgentKey, number: number): SQL {
  return sql`(SELECT settings FROM ${agentVersions} WHERE workspace_id = ${workspaceId} AND agent_id = ${agentId} AND number = ${number})`;
}

/** The columns that an update of an agent sets if the statement before it has added a version: the version is published to everybody. */
export function publishedColumns({ workspaceId, agentId }: AgentKey) {
  const latest = sql`(SELECT max(number) FROM ${agentVersions} WHERE workspace_id = ${workspaceId} AND agent_id = ${agentId})`;
  return {
    version: sql`CASE WHEN ${IF_CHANGED} THEN ${latest} ELSE ${agents.version} END`,
    rolloutVersion: sql`CASE WHEN NOT ${IF_CHANGED} THEN ${agents.rolloutVersion} END`,
    rolloutShare: sql`CASE WHEN NOT ${IF_CHANGED} THEN ${agents.rolloutShare} END`,
  };
}

const v = alias(agentVersions, "v");

/** Publishes a version to everybody, which ends a rollout. */
function publish(db: Database, key: AgentKey, isVersion: SQL, nowMs: number) {
  const settings = VERSIONED.map((name) => {
    const operator = agents[name].dataType === "json" ? sql`->` : sql`->>`;
    const path = sql.raw(`'$.${name}'`);
    // A version that is older than a setting leaves it unchanged.
    return [name, sql`CASE WHEN json_type(${v.settings}, ${path}) IS NULL THEN ${agents[name]} ELSE ${v.settings} ${operator} ${path} END`];
  });
  return db
    .update(agents)
    .set({
      ...(Object.fromEntries(settings) as Record<keyof VersionSettings, SQL>),
      version: sql`${v.number}`,
      rolloutVersion: null,
      rolloutShare: null,
      updatedAt: nowMs,
    })
    .from(v)
    .where(and(isOwn(agents, key.workspaceId, key.agentId), isOfAgent(v, key), isVersion));
}

/** Publishes a version to everybody, if the statement before it in the batch has added it. */
export function publishVersion(db: Database, key: AgentKey, { id, nowMs }: Pick<NewVersion, "id" | "nowMs">) {
  return publish(db, key, and(eq(v.id, id), IF_CHANGED)!, nowMs);
}

/** Rolls a version out to a share of new conversations, if the statement before it in the batch has added it. */
export function startRollout(
  db: Database,
  { workspaceId, agentId }: AgentKey,
  share: number,
  { id, nowMs }: Pick<NewVersion, "id" | "nowMs">,
) {
  const number = sql`(SELECT number FROM ${agentVersions} WHERE id = ${id})`;
  return db
    .update(agents)
    .set({ rolloutVersion: number, rolloutShare: share, updatedAt: nowMs })
    .where(and(isOwn(agents, workspaceId, agentId), IF_CHANGED));
}

/** Changes the share of a rollout. */
export function updateRollout(db: Database, { workspaceId, agentId }: AgentKey, share: number, nowMs: number) {
  return db
    .update(agents)
    .set({ rolloutShare: share, updatedAt: nowMs })
    .where(and(isOwn(agents, workspaceId, agentId), isNotNull(agents.rolloutVersion)));
}

/** Ends a rollout, and publishes its version to everybody. */
export function keepRollout(db: Database, key: AgentKey, nowMs: number) {
  return publish(db, key, eq(v.number, agents.rolloutVersion), nowMs);
}

/** Ends a rollout. The published version answers all conversations again. */
export function dropRollout(db: Database, { workspaceId, agentId }: AgentKey, nowMs: number) {
  return db
    .update(agents)
    .set({ rolloutVersion: null, rolloutShare: null, updatedAt: nowMs })
    .where(and(isOwn(agents, workspaceId, agentId), isNotNull(agents.rolloutVersion)));
}

/** SQL: the version with which a new conversation starts. @param bucket see `bucketOf`. */
export function versionAtStart(agentId: string, bucket: number): SQL {
  return sql`(SELECT CASE WHEN ${agents.rolloutShare} > ${bucket} THEN ${agents.rolloutVersion} ELSE ${agents.version} END
    FROM ${agents} WHERE ${agents.id} = ${agentId})`;
}

type AnsweringKey = Omit<AgentKey, "workspaceId"> & { workspaceId: string | SQL };

/**
 * SQL: the version that answers a conversation instead of the published one: the draft if it is wanted, otherwise the version that is
 * rolled out, if the conversation started with it. NULL if the published one answers.
 */
export function answeringVersion({ workspaceId, agentId }: AnsweringKey, wantsDraft: boolean | SQL): SQL.Aliased<AnsweringVersion | null> {
  const rollout = sql`(SELECT rollout_version FROM ${agents} WHERE id = ${agentId} AND rollout_version = ${conversations.agentVersion})`;
  return sql`(SELECT json_object('number', v.number, 'settings', json(v.settings)) FROM ${agentVersions} v
    WHERE v.workspace_id = ${workspaceId} AND v.agent_id = ${agentId} AND v.number = iif(${wantsDraft}, ${DRAFT}, ${rollout}))`
    .mapWith((json: string) => JSON.parse(json) as AnsweringVersion)
    .as("answering_version");
}

/**
 * Finds the version that answers a conversation instead of the published one.
 * @param messageId an answer of the conversation that the version goes on with.
 */
export function findAnsweringVersion(db: Database, key: AnsweringKey, conversationId: string, messageId?: string) {
  const isByDraft =
    messageId !== undefined && exists(messages, isOwn(messages, key.workspaceId, messageId), eq(messages.agentVersion, DRAFT));
  return db
    .select({ version: answeringVersion(key, isByDraft) })
    .from(conversations)
    .where(isOwn(conversations, key.workspaceId, conversationId));
}

/** Changes settings of the draft, and makes it first if there is none. Returns it, unless there is no such agent. */
export function saveDraft(
  db: Database,
  { workspaceId, agentId }: AgentKey,
  { nowMs, author, id }: Omit<NewVersion, "note">,
  changes: Partial<VersionSettings>,
) {
  const row = { id, workspaceId, agentId, number: DRAFT, settings: changes, author, createdAt: nowMs };
  return insertWhere(db, agentVersions, row, isOwn(agents, workspaceId, agentId), sql`${agents}`)
    .onConflictDoUpdate({
      target: [agentVersions.workspaceId, agentVersions.agentId, agentVersions.number],
      set: { settings: withFields(agentVersions.settings, changes), author, createdAt: nowMs },
    })
    .returning({ number: agentVersions.number });
}

/** Deletes the draft. @param options `ifChanged`: only if the statement before it in the batch changed a row. */
export function eraseDraft(db: Database, key: AgentKey, { ifChanged = false } = {}) {
  const condition = ifChanged ? IF_CHANGED : undefined;
  return db.delete(agentVersions).where(and(isOfAgent(agentVersions, key), eq(agentVersions.number, DRAFT), condition));
}

/** Deletes the oldest versions if there are too many, but neither the published one, nor one that is rolled out or was evaluated. */
export function pruneVersions(db: Database, key: AgentKey) {
  const counted = sql`SELECT id, row_number() OVER newest AS position, sum(octet_length(settings)) OVER newest AS bytes
    FROM ${agentVersions} WHERE ${isOfAgent(agentVersions, key)} AND ${gt(agentVersions.number, DRAFT)} WINDOW newest AS (ORDER BY number DESC)`;
  const isSpare = sql`id IN (SELECT id FROM (${counted}) WHERE position > ${KEPT_VERSIONS} OR bytes > ${KEPT_BYTES})`;
  const isInUse = sql`EXISTS (SELECT 1 FROM ${agents} a WHERE a.id = ${key.agentId} AND number IN (a.version, a.rollout_version))`;
  const isEvaluated = exists(evaluations, isOfAgent(evaluations, key), sql`${evaluations.version} = number`);
  return db.delete(agentVersions).where(sql`${isSpare} AND NOT ${isInUse} AND NOT ${isEvaluated}`);
}

/** Deletes all versions of an agent, and its draft. */
export function eraseVersions(db: Database, key: AgentKey) {
  return db.delete(agentVersions).where(isOfAgent(agentVersions, key));
}

/** SQL condition: the agent has a version. The draft always counts as one, since it begins as the published version. */
export function versionExists(key: AgentKey, number: number): SQL {
  return number === DRAFT ? sql`TRUE` : exists(agentVersions, isOfAgent(agentVersions, key), eq(agentVersions.number, number));
}

const { settings: _settings, ...summary } = getTableColumns(agentVersions);

/** The columns of a version without its settings, and the name of its author: an API key or a member. */
const summaryColumns = {
  ...summary,
  keyName: sql<string | null>`${apiKeys.name}`.as("key_name"),
  memberName: sql<string | null>`${members.name}`.as("member_name"),
};

/** SQL condition: the row of the API key or member is the author of the version. */
function isAuthor(table: typeof apiKeys | typeof members): SQL {
  return and(eq(table.id, agentVersions.author), eq(table.workspaceId, agentVersions.workspaceId))!;
}

/** Lists a page of an agent's versions, newest first. */
export function listVersions(db: Database, key: AgentKey, { limit, offset }: { limit: number; offset: number }) {
  return db
    .select(summaryColumns)
    .from(agentVersions)
    .leftJoin(apiKeys, isAuthor(apiKeys))
    .leftJoin(members, isAuthor(members))
    .where(and(isOfAgent(agentVersions, key), gt(agentVersions.number, DRAFT)))
    .orderBy(desc(agentVersions.number))
    .limit(limit)
    .offset(offset);
}

export function countVersions(db: Database, key: AgentKey) {
  return db
    .select({ count: count() })
    .from(agentVersions)
    .where(and(isOfAgent(agentVersions, key), gt(agentVersions.number, DRAFT)));
}

/** Names a version of an agent: by its number or id, or as the one that is rolled out. */
export type VersionName = { number: number } | { id: string } | { rollingOut: true };

function isNamed(key: AgentKey, name: VersionName): SQL {
  if ("id" in name) return eq(agentVersions.id, name.id);
  if ("number" in name) return eq(agentVersions.number, name.number);
  return eq(agentVersions.number, sql`(SELECT rollout_version FROM ${agents} WHERE id = ${key.agentId})`);
}

/** Finds a version of an agent, with the settings of the version on which it is based, if that is kept. */
export function findVersion(db: Database, key: AgentKey, name: VersionName) {
  const base = alias(agentVersions, "base");
  return db
    .select({
      ...summaryColumns,
      settings: agentVersions.settings,
      baseSettings: sql<Partial<VersionSettings> | null>`${base.settings}`.mapWith(base.settings).as("base_settings"),
    })
    .from(agentVersions)
    .leftJoin(base, and(isOfAgent(base, key), eq(base.number, agentVersions.base)))
    .leftJoin(apiKeys, isAuthor(apiKeys))
    .leftJoin(members, isAuthor(members))
    .where(and(isOfAgent(agentVersions, key), isNamed(key, name)));
}
