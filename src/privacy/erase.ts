import { secretValues } from "../platform/config.ts";
import { keyedHash } from "../platform/crypto/hashes.ts";
import { decryptSecret, encryptSecret, stateOfSecret } from "../platform/crypto/secrets.ts";
import { type Database, workspaceDb } from "../platform/db/client.ts";
import { newId, shardOf } from "../platform/db/ids.ts";
import { logProblem } from "../platform/telemetry/log.ts";
import { emailOfAnonId } from "../platform/text.ts";
import { addUp, eraseConversations, eraseLeadRecords, type Erasing, RECORDS_A_STEP } from "./erase-records.ts";
import { beginErasure, type Deleted, endErasure, eraseThreadsWith, findAudit, noteDeleted } from "./erasure-store.ts";
import { eraseVisitors, type Identifier, listConversations, listLeads, listLeadsByVisitor } from "./person-store.ts";

/** Every kind that is counted, so that an answer names them all. */
const KINDS = [
  "visitors",
  "conversations",
  "messages",
  "handoffs",
  "leads",
  "events",
  "deliveries",
  "delivery_attempts",
  "email_outbox",
  "email_threads",
  "idempotency_records",
];

/** In whose workspace a person's data is erased. */
export type PrivacyOperation = Erasing;

/**
 * Erases all that is held about a person, in bounded steps. What to do is in D1 before it begins: should it die, the
 * sweep goes on with it. Erasing again is safe.
 */
export async function erasePerson(op: PrivacyOperation, person: Identifier, actor: string): Promise<{ auditId: string; deleted: Deleted }> {
  const { env, workspaceId, nowMs } = op;
  const db = workspaceDb(op);
  const auditId = newId(shardOf(workspaceId), nowMs);
  const subjectHash = await hashOf(env, workspaceId, person);
  const audit = { id: auditId, workspaceId, actor, action: "privacy.erase", subjectHash, detail: { deleted: none() }, createdAt: nowMs };
  const identifier = await encryptSecret(env, JSON.stringify(person), erasurePlace(auditId));
  await db.batch(beginErasure(db, audit, identifier));
  return { auditId, deleted: await eraseSteps(op, auditId, person, none()) };
}

/** Those whose person can be read. The others wait until their key is back, and keep nobody's from going on. */
export async function readableErasures<Erasure extends { id: string; identifier: string }>(
  env: Env,
  erasures: readonly Erasure[],
): Promise<Erasure[]> {
  const states = await Promise.all(erasures.map(({ identifier }) => stateOfSecret(env, identifier)));
  const readable = erasures.filter((_, at) => states[at] !== "unreadable");
  const unreadable = erasures.filter((_, at) => states[at] === "unreadable").map(({ id }) => id);
  if (unreadable.length > 0) logProblem("secret_unreadable", { erasures: unreadable });
  return readable;
}

/** Goes on with an erasure that died. */
export async function resumeErasure(op: PrivacyOperation, erasure: { id: string; identifier: string }): Promise<void> {
  const db = workspaceDb(op);
  const person = JSON.parse(await decryptSecret(op.env, erasure.identifier, erasurePlace(erasure.id))) as Identifier;
  const [[audit]] = await db.batch([findAudit(db, op.workspaceId, erasure.id)]);
  const deleted = (audit?.detail as { deleted?: Deleted } | null)?.deleted ?? none();
  await eraseSteps(op, erasure.id, person, { ...none(), ...deleted });
}

/**
 * Conversations first, while visitors and leads say whose they are, and mails that none came of; then the leads that
 * visitors alone name, then the visitors, some of whom leads alone name; and the leads with the address last.
 */
async function eraseSteps(op: PrivacyOperation, auditId: string, person: Identifier, deleted: Deleted): Promise<Deleted> {
  const db = workspaceDb(op);
  for (const step of [eraseTheirConversations, eraseTheirThreads, eraseLeadsByVisitor, eraseTheirVisitors, eraseTheirLeads]) {
    while (await step(op, db, person, deleted)) await db.batch([noteDeleted(db, auditId, deleted)]);
  }
  await db.batch([noteDeleted(db, auditId, deleted), endErasure(db, auditId)]);
  return deleted;
}

/** One step; false when nothing was left. What it removes is added to `deleted`. */
type Step = (op: PrivacyOperation, db: Database, person: Identifier, deleted: Deleted) => Promise<boolean>;

const eraseTheirConversations: Step = async (op, db, person, deleted) => {
  const [rows] = await db.batch([listConversations(db, op.workspaceId, person, { afterId: "", limit: RECORDS_A_STEP })]);
  if (rows.length === 0) return false;
  const ids = rows.map(({ id }) => id);
  addUp(deleted, await eraseConversations(op, db, ids));
  return true;
};

const eraseTheirThreads: Step = async ({ workspaceId }, db, person, deleted) => {
  const address = person.type === "email" ? person.value : person.type === "anon_id" ? emailOfAnonId(person.value) : undefined;
  if (address === undefined) return false;
  const [erased] = await db.batch([eraseThreadsWith(db, workspaceId, address)]);
  addUp(deleted, { email_threads: erased.length });
  return false;
};

const eraseTheirVisitors: Step = async ({ workspaceId }, db, person, deleted) => {
  const [erased] = await db.batch([eraseVisitors(db, workspaceId, person)]);
  addUp(deleted, { visitors: erased.length });
  return false;
};

const eraseLeadsByVisitor: Step = async (op, db, person, deleted) => {
  const [rows] = await db.batch([listLeadsByVisitor(db, op.workspaceId, person, RECORDS_A_STEP)]);
  return eraseSomeLeads(op, db, rows, deleted);
};

const eraseTheirLeads: Step = async (op, db, person, deleted) => {
  const [rows] = await db.batch([listLeads(db, op.workspaceId, person, { afterId: "", limit: RECORDS_A_STEP })]);
  return eraseSomeLeads(op, db, rows, deleted);
};

async function eraseSomeLeads(op: PrivacyOperation, db: Database, rows: readonly { id: string }[], deleted: Deleted): Promise<boolean> {
  if (rows.length === 0) return false;
  const ids = rows.map(({ id }) => id);
  addUp(deleted, await eraseLeadRecords(op, db, ids));
  return true;
}

function none(): Deleted {
  return Object.fromEntries(KINDS.map((kind) => [kind, 0]));
}

/** Where an erasure's person is stored: it decrypts nowhere else. */
export function erasurePlace(auditId: string): string {
  return `privacy/${auditId}`;
}

/** Who was erased, so that a later question "was this person erased?" can be answered by whoever knows the person. */
function hashOf(env: Env, workspaceId: string, { type, value }: Identifier): Promise<string> {
  return keyedHash(secretValues(env.KEY_SECRET)[0], `privacy/${workspaceId}/${type}/${value}`);
}
