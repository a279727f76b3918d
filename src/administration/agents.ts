import type { z } from "@hono/zod-openapi";
import { DEFAULT_HANDOFF, DEFAULT_WELCOME, storedHandoff, storedWelcome } from "../agents/messages.ts";
import { pinServers, type RefusedServer } from "../agents/mcp-saving.ts";
import { type GivenTool, identityContext, type MissingHeader, encryptTools, encryptTurnstile } from "../agents/secrets.ts";
import {
  claimAddress,
  createAgent,
  eraseAgent,
  findAddress,
  findAgent,
  findAgentBySlug,
  releaseAddresses,
  replaceIdentitySecret,
  slugIsFree,
  updateAgent,
} from "../agents/store.ts";
import { createFirstVersion, createVersion, eraseVersions, pruneVersions, publishedColumns } from "../agents/version-store.ts";
import { versionedIn } from "../agents/versions.ts";
import type { AgentRow } from "../agents/wire.ts";
import { eraseEvaluations } from "../evaluations/store.ts";
import { knowledgeIndexOf } from "../knowledge/knowledge-index.ts";
import { eraseAgentKnowledge } from "../knowledge/store.ts";
import { BASE64URL } from "../platform/crypto/base64url.ts";
import { decryptSecret, encryptSecret } from "../platform/crypto/secrets.ts";
import { hasDatabase } from "../platform/db/bindings.ts";
import { directoryDb, newOperation, type Operation } from "../platform/db/client.ts";
import type { StoredTool } from "../platform/db/columns.ts";
import { timeOf } from "../platform/db/ids.ts";
import type { agents } from "../platform/db/schema.ts";
import { transact } from "../platform/db/sql.ts";
import { DAY_MS } from "../platform/time.ts";
import type { Limits } from "../workspaces/plans.ts";
import { type AuditedChange, recordChange } from "./operator-audit-store.ts";
import type { agentCreateSchema, agentUpdateSchema } from "./wire.ts";

/** How long the previous secret stays valid after a rotation. */
const PREVIOUS_SECRET_MS = DAY_MS;
const SECRET_BYTES = 32;
/** The creation of an agent claims the mail address first, and takes less than this. */
const CLAIM_MS = 60_000;

const DEFAULTS = {
  status: "active" as const,
  language: "en",
  welcomeMessage: DEFAULT_WELCOME,
  handoffMessage: DEFAULT_HANDOFF,
  /** Answers that are more likely wrong than right are handed off to a human. */
  confidenceThreshold: 0.5,
  inactivityMinutes: 24 * 60,
};

type NewAgent = typeof agents.$inferInsert;
type AgentCreate = z.output<typeof agentCreateSchema>;
type AgentUpdate = z.output<typeof agentUpdateSchema>;

/** The outcome of a change of an agent. */
export type AgentChange = { outcome: "done"; agent: AgentRow } | AgentRefusal;

/** Why an agent or its draft was not changed. */
export type AgentRefusal =
  | { outcome: "not_found" }
  | { outcome: "slug_taken" }
  | { outcome: "address_taken" }
  | { outcome: "mailbox_refused" }
  | { outcome: "too_many" }
  | { outcome: "header_missing"; missing: MissingHeader }
  | { outcome: "server_refused"; refused: RefusedServer };

/**
 * Adds an agent to a workspace. Without a slug, it gets one derived from its name. A repeated request returns the agent of its
 * first run.
 * @param author of its first version.
 */
export async function addAgent(op: AuditedChange, limits: Limits, body: AgentCreate, author: string): Promise<AgentChange> {
  const id = op.newId();
  const saved = await readyTools(op.env, id, body.tools ?? [], []);
  if ("outcome" in saved) return saved;
  const refused = await claimMailbox(op, id, body.email_address);
  if (refused) return refused;
  const { workspaceId, nowMs } = op;
  const columns = await toColumns(op.env, id, body);
  const row = { ...DEFAULTS, ...columns, ...saved, id, workspaceId, name: body.name, createdAt: nowMs, updatedAt: nowMs };
  const versionId = op.newId();
  const insert = (slug: string) => insertAgent(op, { ...row, slug }, { limits, fields: Object.keys(body), versionId, author });
  let change = await insert(body.slug ?? slugOf(body.name));
  if (change.outcome === "slug_taken" && body.slug === undefined) change = await insert(`${slugOf(body.name)}-${id.slice(-8, -2)}`);
  if (change.outcome !== "done" && body.email_address) await releaseOtherAddresses(op, id, null);
  return change;
}

interface AgentAddition {
  limits: Limits;
  fields: string[];
  versionId: string;
  author: string;
}

async function insertAgent(op: AuditedChange, row: NewAgent, { limits, fields, versionId, author }: AgentAddition): Promise<AgentChange> {
  const { db, workspaceId, nowMs } = op;
  const {
    after: [[agent], [sameSlug]],
  } = await transact(db, {
    writes: [
      createAgent(db, row, limits.agents),
      ...recordChange(db, op, "agent.created", { targetId: row.id, fields }),
      createFirstVersion(db, { workspaceId, agentId: row.id }, { id: versionId, author, nowMs }),
    ],
    after: [findAgent(db, workspaceId, row.id), findAgentBySlug(db, workspaceId, row.slug)],
  });
  if (agent) return { outcome: "done", agent };
  return { outcome: sameSlug ? "slug_taken" : "too_many" };
}

/** Changes the fields of an agent that are in the body. A change of versioned settings publishes a version by this author. */
export async function changeAgent(op: AuditedChange, agentId: string, body: AgentUpdate, author: string): Promise<AgentChange> {
  const { env, db, workspaceId, nowMs } = op;
  const saved = body.tools && (await readyChangedTools(op, agentId, body.tools));
  if (saved && "outcome" in saved) return saved;
  const refused = await claimMailbox(op, agentId, body.email_address);
  if (refused) return refused;
  const changes = { ...(await toColumns(env, agentId, body)), ...saved, updatedAt: nowMs };
  const key = { workspaceId, agentId };
  const settings = versionedIn(changes);
  const isVersioned = Object.keys(settings).length > 0;
  const version = { id: op.newId(), note: null, author, nowMs };
  const condition = slugIsFree(workspaceId, agentId, changes.slug);
  const update = isVersioned ? { ...changes, ...publishedColumns(key) } : changes;
  const {
    before: [[found]],
    after: [[agent]],
  } = await transact(db, {
    before: [findAgent(db, workspaceId, agentId)],
    writes: isVersioned ? [createVersion(db, key, version, settings, { condition })] : [],
    after: [
      updateAgent(db, workspaceId, agentId, update),
      ...recordChange(db, op, "agent.updated", { targetId: agentId, fields: Object.keys(body) }),
      ...(isVersioned ? [pruneVersions(db, key)] : []),
    ],
  });
  if (body.email_address !== undefined) await releaseOtherAddresses(op, agentId, (agent ?? found)?.emailAddress ?? null);
  if (agent) return { outcome: "done", agent };
  return { outcome: found ? "slug_taken" : "not_found" };
}

/** Returns tools as they are stored: headers without a value keep the stored one, and servers are asked for their tools. */
export async function readyTools(env: Env, agentId: string, given: readonly GivenTool[], stored: readonly StoredTool[]) {
  const encrypted = await encryptTools(env, agentId, given, stored);
  if ("missing" in encrypted) return { outcome: "header_missing" as const, missing: encrypted.missing };
  const pinned = await pinServers(env, agentId, encrypted.tools);
  return "refused" in pinned ? { outcome: "server_refused" as const, refused: pinned.refused } : pinned;
}

async function readyChangedTools({ env, db, workspaceId }: Operation, agentId: string, tools: GivenTool[]) {
  const [[agent]] = await db.batch([findAgent(db, workspaceId, agentId)]);
  if (!agent) return { outcome: "not_found" as const };
  return readyTools(env, agentId, tools, agent.tools);
}

/**
 * Deletes an agent and its knowledge. Its conversations and leads stay with the workspace.
 * @returns whether there was one.
 */
export async function removeAgent(op: AuditedChange, agentId: string): Promise<boolean> {
  const { db, workspaceId } = op;
  const [[found]] = await db.batch([findAgent(db, workspaceId, agentId)]);
  if (!found) return false;
  // The index is erased first: if this fails halfway, the agent is still listed and can be deleted again.
  await knowledgeIndexOf(op, agentId).erase();
  await db.batch([
    ...eraseEvaluations(db, workspaceId, agentId),
    ...eraseAgentKnowledge(db, workspaceId, agentId),
    eraseVersions(db, { workspaceId, agentId }),
    eraseAgent(db, workspaceId, agentId),
    ...recordChange(db, op, "agent.deleted", { targetId: agentId }),
  ]);
  await releaseOtherAddresses(op, agentId, null);
  return true;
}

/**
 * Gives an agent a new identity secret. The old one stays valid for a day; with `revoke` it is invalid at once, and so is every
 * token that the agent's visitors have. A repeated request returns the secret of its first run.
 * @param firstMs when it was requested for the first time, where the request may be repeated by its Idempotency-Key.
 * @returns undefined when there is no such agent.
 */
export async function rotateIdentitySecret(op: AuditedChange, agentId: string, revoke: boolean, firstMs?: number) {
  const { env, db, workspaceId } = op;
  const nowMs = firstMs ?? op.nowMs;
  const once = firstMs !== undefined;
  const context = identityContext(agentId);
  const fresh = BASE64URL.encode(crypto.getRandomValues(new Uint8Array(SECRET_BYTES)));
  const identitySecret = await encryptSecret(env, fresh, context);
  const previousUntilMs = revoke ? null : nowMs + PREVIOUS_SECRET_MS;
  const statement = replaceIdentitySecret(db, workspaceId, agentId, { identitySecret, previousUntilMs, nowMs, once });
  const record = recordChange(db, op, "agent.identity_secret_rotated", { targetId: agentId, ...(revoke && { fields: ["revoke"] }) });
  const {
    after: [[agent]],
  } = await transact(db, { writes: [statement, ...record], after: [findAgent(db, workspaceId, agentId)] });
  if (!agent?.identitySecret) return undefined;
  const secret = await decryptSecret(env, agent.identitySecret, context);
  return { secret, previousValidUntilMs: agent.previousIdentitySecretUntil };
}

/** The columns of the fields that are in a body, but not of the tools. */
export async function toColumns(env: Env, agentId: string, body: AgentUpdate): Promise<Partial<NewAgent>> {
  const columns = {
    name: body.name,
    slug: body.slug,
    description: body.description,
    language: body.language,
    instructions: body.instructions,
    welcomeMessage: storedWelcome(body.welcome_message),
    handoffMessage: storedHandoff(body.handoff_message),
    confidenceThreshold: body.confidence_threshold,
    inactivityMinutes: body.inactivity_minutes,
    status: body.status,
    model: body.model,
    allowedOrigins: body.allowed_origins,
    emailAddress: body.email_address,
    appearance: body.appearance,
    contactForm: body.contact_form,
    languages: body.languages,
    handoff: body.handoff,
    handoffOffMessages: body.handoff_off_messages,
    handoffWords: body.handoff_words,
    hostedPage: body.hosted_page,
    ...(body.turnstile !== undefined && (await encryptTurnstile(env, agentId, body.turnstile))),
  };
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined));
}

/** A slug made of a name: what is left of it in small letters and digits, or "agent". */
function slugOf(name: string): string {
  const plain = name.normalize("NFKD").toLowerCase();
  const slug = plain.replaceAll(/[^a-z0-9]+/g, "-").slice(0, 50);
  return slug.replaceAll(/^-|-$/g, "") || "agent";
}

/** Claims the mailbox that a body gives an agent. @returns why the agent cannot have it; undefined if it can. */
async function claimMailbox(op: AuditedChange, agentId: string, address: string | null | undefined): Promise<AgentChange | undefined> {
  if (!address) return undefined;
  // Mail is sent from a mailbox too: if every workspace could claim one, it could claim anybody's.
  if (op.by) return (await claimMailAddress(op, agentId, address)) ? undefined : { outcome: "address_taken" };
  const directory = directoryDb(op.env, op.meter);
  const [[holder]] = await directory.batch([findAddress(directory, address)]);
  return holder?.agentId === agentId ? undefined : { outcome: "mailbox_refused" };
}

/** Claims a mail address for an agent. @returns false if another agent has it. */
export async function claimMailAddress(op: Operation, agentId: string, address: string): Promise<boolean> {
  const { env, meter, workspaceId } = op;
  const directory = directoryDb(env, meter);
  const entry = { address, workspaceId, agentId };
  const [, [holder]] = await directory.batch([claimAddress(directory, entry), findAddress(directory, address)]);
  if (holder?.agentId === agentId) return true;
  if (!holder || !(await isAbandoned(op, holder))) return false;
  const [, , [next]] = await directory.batch([
    releaseAddresses(directory, holder.workspaceId, holder.agentId, null),
    claimAddress(directory, entry),
    findAddress(directory, address),
  ]);
  return next?.agentId === agentId;
}

/** Whether an address belongs to no agent: a request that created or deleted one failed halfway. */
async function isAbandoned({ env, meter, nowMs }: Operation, { workspaceId, agentId }: { workspaceId: string; agentId: string }) {
  if (nowMs - timeOf(agentId) < CLAIM_MS || !hasDatabase(env, workspaceId)) return false;
  const { db } = newOperation(env, meter, workspaceId);
  const [[agent]] = await db.batch([findAgent(db, workspaceId, agentId)]);
  return !agent;
}

/** Releases every mail address of an agent except the one that it keeps. */
async function releaseOtherAddresses({ env, meter, workspaceId }: Operation, agentId: string, kept: string | null): Promise<void> {
  const directory = directoryDb(env, meter);
  await directory.batch([releaseAddresses(directory, workspaceId, agentId, kept)]);
}
