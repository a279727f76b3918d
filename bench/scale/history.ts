import { randomNumbers } from "../random.ts";

/*
 * The past of a workspace as a function of numbers: conversations with their messages and hand-offs, and leads, spread
 * evenly over a year. The same number always gives the same conversation.
 */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** The last 365 days of analytics contain all of it. */
const SPAN_MS = 360 * DAY_MS;
/** Everything is this much before the present, so that even the last conversation has ended. */
const MARGIN_MS = HOUR_MS;
/** Numbers of messages in a conversation, five on average. */
const LENGTHS = [3, 4, 5, 6, 7];
const CONVERSATIONS_PER_LEAD = 5;
const CONVERSATIONS_PER_VISITOR = 4;
/** One visitor has this many conversations, in a workspace of any size. */
const BUSY_CONVERSATIONS = 100;
export const BUSY_VISITOR = 0;
/** More different questions than analytics ranks. */
const QUESTIONS = 2_000;
/** The room for the messages of a conversation in the numbers of identifiers. */
const IDS_PER_CONVERSATION = 16;

const CHANNELS = ["widget", "widget", "widget", "api", "api", "email", "hosted"] as const;
const REASONS = ["customer_request", "missing_knowledge", "low_confidence"] as const;
const FIRST_NAMES = ["Ada", "Ben", "Chiara", "Dmitri", "Elif", "Farah", "Günther", "Hanna", "Ines", "Jonas", "Katja", "Luis"];
const LAST_NAMES = ["Andersen", "Bauer", "Costa", "Dubois", "Eriksen", "Fischer", "Garcia", "Horvat", "Ivanova", "Jansen"];
const COMPANIES = ["Acme", "Borealis", "Contoso", "Delphi", "Everest", "Fabrikam", "Globex", "Hooli", "Initech", "Juniper"];
const SENTENCE = "The parcel left the warehouse yesterday and reaches you within three to five working days.";

/** The workspace that a history belongs to. */
export interface WorkspaceHistory {
  /** Distinguishes the identifiers of workspaces: up to 255. */
  number: number;
  workspaceId: string;
  agentIds: readonly string[];
  conversations: number;
  /** The present, in Unix milliseconds. */
  nowMs: number;
}

export type Conversation = ReturnType<typeof conversationAt>;

/** Returns the conversation with this number, as it ended; one with a higher number began later. */
export function conversationAt(history: WorkspaceHistory, n: number) {
  const random = randomNumbers(n);
  const beganMs = history.nowMs - MARGIN_MS - SPAN_MS + Math.floor(((n + random()) / history.conversations) * (SPAN_MS - HOUR_MS));
  const agentId = history.agentIds[Math.floor(random() ** 2 * history.agentIds.length)]!;
  const fate = random();
  const status = fate < 0.8 ? "resolved" : fate < 0.88 ? "ai_handled" : fate < 0.95 ? "needs_human" : "human_active";
  const isHandedOff = status === "needs_human" || status === "human_active" || (status === "resolved" && random() < 0.25);
  const hasHuman = isHandedOff && status !== "needs_human";
  const messages = messagesOf(history, n, beganMs, hasHuman, random);
  const isResolved = status === "resolved";
  return {
    id: idAt(history, "conversation", n * IDS_PER_CONVERSATION, beganMs),
    agentId,
    visitor: visitorAt(history, n),
    channel: pick(CHANNELS, random),
    status,
    messages,
    handoff: isHandedOff ? handoffOf(history, n, messages.at(hasHuman ? -2 : -1)!.atMs, random) : null,
    resolvedAtMs: isResolved ? messages.at(-1)!.atMs + Math.floor(random() * 10 * MINUTE_MS) : null,
    csat: isResolved && random() < 0.2 ? 1 + Math.floor(random() * 5) : null,
  };
}

/** The visitor writes first. The last message is an answer, by the team where it took over. */
function messagesOf(history: WorkspaceHistory, n: number, beganMs: number, hasHuman: boolean, random: () => number) {
  const length = LENGTHS[n % LENGTHS.length]!;
  let atMs = beganMs;
  return Array.from({ length }, (_, at) => {
    const fromEnd = length - 1 - at;
    const role = at === 0 || fromEnd % 2 === 1 ? "user" : fromEnd === 0 && hasHuman ? "human" : "assistant";
    if (at > 0) atMs += 1_000 + Math.floor(random() * MINUTE_MS);
    return { id: idAt(history, "message", n * IDS_PER_CONVERSATION + at, atMs), role, content: `${n}.${at} ${SENTENCE}`, atMs } as const;
  });
}

function handoffOf(history: WorkspaceHistory, n: number, atMs: number, random: () => number) {
  const reason = pick(REASONS, random);
  const question = reason === "missing_knowledge" ? `do you sell part ${Math.floor(random() ** 2 * QUESTIONS)}` : null;
  return { id: idAt(history, "handoff", n, atMs), reason, question, atMs };
}

export function leadCount({ conversations }: WorkspaceHistory): number {
  return Math.floor(conversations / CONVERSATIONS_PER_LEAD);
}

/** Returns the lead with this number, left in one of the conversations. */
export function leadAt(history: WorkspaceHistory, n: number) {
  const { id: conversationId, agentId, visitor, messages } = conversationAt(history, n * CONVERSATIONS_PER_LEAD);
  const random = randomNumbers(~n);
  const { atMs } = messages.at(-1)!;
  const name = `${pick(FIRST_NAMES, random)} ${pick(LAST_NAMES, random)}`;
  // The digits of every phone number are different; the last seven are those of the lead's number.
  const phone = `+43 660 ${String(n).padStart(7, "0")}`;
  const id = idAt(history, "lead", n, atMs);
  return { id, agentId, conversationId, visitor, name, email: emailOf(visitor), phone, company: pick(COMPANIES, random), atMs };
}

/** Returns how many visitors there are; their numbers begin with 0. */
export function visitorCount({ conversations }: WorkspaceHistory): number {
  return 1 + Math.ceil(conversations / CONVERSATIONS_PER_VISITOR);
}

function visitorAt({ conversations }: WorkspaceHistory, n: number): number {
  const isBusy = n % Math.max(1, Math.floor(conversations / BUSY_CONVERSATIONS)) === 0;
  return isBusy ? BUSY_VISITOR : 1 + Math.floor(n / CONVERSATIONS_PER_VISITOR);
}

export function visitorIdOf(history: WorkspaceHistory, visitor: number): string {
  return idAt(history, "visitor", visitor, history.nowMs - SPAN_MS - HOUR_MS);
}

export function emailOf(visitor: number): string {
  return `visitor${visitor}@example.com`;
}

const KINDS = ["conversation", "message", "handoff", "lead", "visitor"] as const;

/** Returns a UUIDv7 of shard 0. */
function idAt(history: WorkspaceHistory, kind: (typeof KINDS)[number], ordinal: number, atMs: number): string {
  const hex = (value: number, digits: number) => value.toString(16).padStart(digits, "0");
  const time = hex(atMs, 12);
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${hex(history.number, 2)}${KINDS.indexOf(kind)}${hex(ordinal, 7)}00`;
}

function pick<Item>(items: readonly Item[], random: () => number): Item {
  return items[Math.floor(random() * items.length)]!;
}
