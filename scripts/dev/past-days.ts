import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createOperator } from "../backup/operator.ts";
import {
  type Backup,
  type BackupRecord,
  type Deployment,
  readBackup,
  replaceWorkspace,
  withNewIds,
  writeBackup,
} from "../backup/records.ts";
import { call, type Client } from "../shared/service.ts";

/*
 * The days before today in the demo's analytics. The service stamps each message with the present, so these conversations take place
 * now, and a backup of the workspace is restored in which the first ones are two days old and the others one day.
 */

/** Somebody who writes in a sample conversation. */
export interface Person {
  id: string;
  name: string;
  email: string;
}

export function person(id: string, name: string): Person {
  return { id: `sample-${id}`, name, email: `${id}@example.com` };
}

/** The member of the team who replies. */
export const COLLEAGUE = { id: "grace", name: "Grace Hopper" };

interface Talk {
  person: Person;
  message: string;
  /** What a colleague replies where the agent did not know. */
  reply?: string;
  rating?: "up" | "down";
}

const FIRST: readonly Talk[] = [
  { person: person("barbara", "Barbara Liskov"), message: "Which plans include webhooks?", rating: "up" },
  { person: person("claude", "Claude Shannon"), message: "How do I add a website as knowledge?" },
  { person: person("emmy", "Emmy Noether"), message: "How do I verify who a visitor is?", rating: "up" },
  { person: person("john", "John Backus"), message: "Can I pay by bank transfer?", reply: "Yes, from a year's term on." },
];
const SECOND: readonly Talk[] = [
  { person: person("radia", "Radia Perlman"), message: "How do I put the chat on my website?", rating: "up" },
  { person: person("donald", "Donald Knuth"), message: "How do I export the data of one person?" },
  { person: person("frances", "Frances Allen"), message: "What are the rate limits of each plan?", rating: "down" },
  { person: person("ken", "Ken Thompson"), message: "Do you have an office in Oslo?", reply: "We are in Bergen, and glad about visits." },
];

/** The people of these conversations, who are erased with the samples. */
export const PAST_PEOPLE: readonly Person[] = [...FIRST, ...SECOND].map((talk) => talk.person);

const DAY_MS = 24 * 60 * 60_000;

/** Adds two days of conversations to a workspace without any. @param file gets its backup: first without them, then with them. */
export async function addPastDays(deployment: Deployment, client: Client, agentId: string, file: string): Promise<void> {
  const { workspace } = await call<{ workspace: { id: string } }>(client, "GET", "/api/v1/me");
  const operator = createOperator(deployment.url, deployment.operatorToken);
  await writeBackup(file, await readBackup(operator, workspace.id));
  // Counts outlive people who were erased: days that have some stay as they are.
  const { totals } = await call<{ totals: { conversations: number } }>(client, "GET", "/api/v1/analytics/overview?days=365");
  if (totals.conversations > 0) return;
  await Promise.all(FIRST.map((talk) => hold(client, agentId, talk)));
  const first = await readBackup(operator, workspace.id);
  await Promise.all(SECOND.map((talk) => hold(client, agentId, talk)));
  await writeBackup(file, combineDays(first, await readBackup(operator, workspace.id)));
  await restoreDemo(deployment, file);
}

/** Restores the backup that a start left which was killed while it added samples, since the workspace is incomplete. */
export async function restoreDemo(deployment: Deployment, file: string): Promise<void> {
  if (!existsSync(file)) return;
  try {
    await replaceWorkspace(deployment, file);
  } catch (error) {
    // The next start makes a new demo instead.
    await rm(file);
    throw error;
  }
}

/** A conversation that ends well. */
async function hold(client: Client, agentId: string, { person: user, message, reply, rating }: Talk): Promise<void> {
  const asked = await call<{ conversation_id: string; message_id: string }>(client, "POST", `/api/v1/agents/${agentId}/messages`, {
    message,
    user,
  });
  const path = `/api/v1/conversations/${asked.conversation_id}`;
  if (rating) await call(client, "POST", `${path}/messages/${asked.message_id}/feedback`, { rating });
  if (reply) await call(client, "POST", `${path}/messages`, { content: reply, author: COLLEAGUE, resolve: true });
  else await call(client, "PATCH", path, { status: "resolved" });
}

/** The types of a conversation's records, with the column that holds its id. */
const OF_CONVERSATION: Record<string, string> = {
  messages: "conversation_id",
  message_feedback: "conversation_id",
  handoffs: "conversation_id",
  conversations: "id",
};
/** Counts that continue from day to day: the column of the count, and the columns that identify it. */
const RUNNING: Record<string, readonly [count: string, ...key: string[]]> = {
  usage_periods: ["messages", "period"],
  unanswered_questions: ["asked", "agent_id", "question_key"],
  unanswered_question_days: ["asked_until", "agent_id", "question_key"],
};

/** The second backup moved back by a day, with the conversations of the first one moved back by two. */
function combineDays(first: Backup, second: Backup): Backup {
  const earlier = renewed(first.records.filter(({ type }) => type in OF_CONVERSATION));
  const days = first.records.filter(({ type }) => type === "analytics_days" || type === "unanswered_question_days");
  const before = Map.groupBy(
    [...earlier, ...days].map((one) => daysAgo(one, 2)),
    ({ type }) => type,
  );
  const records = [...Map.groupBy(second.records, ({ type }) => type)].flatMap(([type, all]) => {
    // The newer samples suggest the replies of colleagues as answers.
    if (type === "answer_drafts") return [];
    const past = all.map((one) => daysAgo(one, type === "visitors" ? 2 : 1)).map((one) => addUp(one, first.records));
    return [...(before.get(type) ?? []), ...past];
  });
  return { header: second.header, records };
}

/** Copies of conversations. */
function renewed(records: readonly BackupRecord[]): BackupRecord[] {
  return withNewIds(
    records,
    records.flatMap(({ record: { id } }) => (typeof id === "string" ? [id] : [])),
  ) as BackupRecord[];
}

/** Types whose times say when something happened. */
const HAPPENED = new Set([...Object.keys(OF_CONVERSATION), "visitors", "unanswered_questions"]);

function daysAgo({ type, record }: BackupRecord, days: number): BackupRecord {
  const shift = ([name, value]: [string, unknown]): [string, unknown] => {
    if (typeof value !== "number") return [name, value];
    if (name === "day") return [name, value - days];
    return [name, HAPPENED.has(type) && name.endsWith("_at") ? value - days * DAY_MS : value];
  };
  return { type, record: Object.fromEntries(Object.entries(record).map(shift)) };
}

/** Adds the counts of the first backup, which happened on another day. */
function addUp({ type, record }: BackupRecord, first: readonly BackupRecord[]): BackupRecord {
  const [count, ...key] = RUNNING[type] ?? [""];
  const same = first.find((one) => one.type === type && key.every((column) => one.record[column] === record[column]));
  if (count === "" || !same) return { type, record };
  return { type, record: { ...record, [count]: (record[count] as number) + (same.record[count] as number) } };
}
