import { randomNumbers } from "../random.ts";
/*
 * What happened in a workspace, as a function of a number: conversations, their messages and hand-offs, and leads, spread
 * evenly over a year. The same number gives the same history, so that it can be written twice, in two ways, and compared.
 */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** The last 365 days of analytics see all of it. */
const SPAN_MS = 360 * DAY_MS;
/** Before this much of the present, so that even the last conversation has ended. */
const MARGIN_MS = HOUR_MS;
/** In messages, five on average. */
const LENGTHS = [3, 4, 5, 6, 7];
const CONVERSATIONS_PER_LEAD = 5;
/** As a person who comes back does. */
const CONVERSATIONS_PER_VISITOR = 4;
/** One person has this many conversations, in a workspace of any size. */
const BUSY_CONVERSATIONS = 100;
export const BUSY_VISITOR = 0;
/** As many as analytics ranks, and more. */
const QUESTIONS = 2_000;
/** Room for the messages of a conversation in an identifier. */
const IDS_PER_CONVERSATION = 16;

const CHANNELS = ["widget", "widget", "widget", "api", "api", "email", "hosted"] as const;
const REASONS = ["customer_request", "missing_knowledge", "low_confidence"] as const;
const FIRST_NAMES = ["Ada", "Ben", "Chiara", "Dmitri", "Elif", "Farah", "Günther", "Hanna", "Ines", "Jonas", "Katja", "Luis"];
const LAST_NAMES = ["Andersen", "Bauer", "Costa", "Dubois", "Eriksen", "Fischer", "Garcia", "Horvat", "Ivanova", "Jansen"];
const COMPANIES = ["Acme", "Borealis", "Contoso", "Delphi", "Everest", "Fabrikam", "Globex", "Hooli", "Initech", "Juniper"];
const SENTENCE = "The parcel left the warehouse yesterday and reaches you within three to five working days.";

/** Whose history it is. */
export interface WorkspaceHistory {
  /** Tells the identifiers of one workspace from those of another: up to 255. */
  number: number;
  workspaceId: string;
  agentIds: readonly string[];
  conversations: number;
  /** The present, in Unix milliseconds. */
  nowMs: number;
}

export interface Message {
  id: string;
  role: "user" | "assistant" | "human";
  content: string;
  atMs: number;
}

interface Handoff {
  id: string;
  reason: (typeof REASONS)[number];
  question: string | null;
  atMs: number;
}

/** A conversation as it ended up. */
export interface Conversation {
  id: string;
  agentId: string;
  visitor: number;
  channel: (typeof CHANNELS)[number];
  status: "ai_handled" | "needs_human" | "human_active" | "resolved";
  messages: Message[];
  handoff: Handoff | null;
  resolvedAtMs: number | null;
  csat: number | null;
}

export interface Lead {
  id: string;
  agentId: string;
  conversationId: string;
  visitor: number;
  name: string;
  email: string;
  phone: string;
  company: string;
  atMs: number;
}

/** The conversation with this number; a higher one began later. */
export function conversationAt(history: WorkspaceHistory, n: number): Conversation {
  const random = randomNumbers(n);
  const beganMs = history.nowMs - MARGIN_MS - SPAN_MS + Math.floor(((n + random()) / history.conversations) * (SPAN_MS - HOUR_MS));
  const agentId = history.agentIds[Math.floor(random() ** 2 * history.agentIds.length)]!;
  const fate = random();
  const status = fate < 0.8 ? "resolved" : fate < 0.88 ? "ai_handled" : fate < 0.95 ? "needs_human" : "human_active";
  const isHandedOff = status === "needs_human" || status === "human_active" || (status === "resolved" && random() < 0.25);
  const hasHuman = isHandedOff && status !== "needs_human";
  const messages = messagesOf(history, n, { beganMs, hasHuman, random });
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

/** The visitor writes first, and an answer comes last: the team's where it took over. */
function messagesOf(
  history: WorkspaceHistory,
  n: number,
  conversation: { beganMs: number; hasHuman: boolean; random: () => number },
): Message[] {
  const length = LENGTHS[n % LENGTHS.length]!;
  let atMs = conversation.beganMs;
  return Array.from({ length }, (_, at): Message => {
    const fromEnd = length - 1 - at;
    const role = at === 0 || fromEnd % 2 === 1 ? "user" : fromEnd === 0 && conversation.hasHuman ? "human" : "assistant";
    if (at > 0) atMs += 1_000 + Math.floor(conversation.random() * MINUTE_MS);
    return { id: idAt(history, "message", n * IDS_PER_CONVERSATION + at, atMs), role, content: `${n}.${at} ${SENTENCE}`, atMs };
  });
}

function handoffOf(history: WorkspaceHistory, n: number, atMs: number, random: () => number): Handoff {
  const reason = pick(REASONS, random);
  const question = reason === "missing_knowledge" ? `do you sell part ${Math.floor(random() ** 2 * QUESTIONS)}` : null;
  return { id: idAt(history, "handoff", n, atMs), reason, question, atMs };
}

/** How many leads a history has. */
export function leadCount({ conversations }: WorkspaceHistory): number {
  return Math.floor(conversations / CONVERSATIONS_PER_LEAD);
}

/** The lead with this number, left in the conversation given. */
export function leadAt(history: WorkspaceHistory, n: number): Lead {
  const conversation = conversationAt(history, n * CONVERSATIONS_PER_LEAD);
  const random = randomNumbers(~n);
  const [first, last] = [pick(FIRST_NAMES, random), pick(LAST_NAMES, random)];
  const atMs = conversation.messages.at(-1)!.atMs;
  return {
    id: idAt(history, "lead", n, atMs),
    agentId: conversation.agentId,
    conversationId: conversation.id,
    visitor: conversation.visitor,
    name: `${first} ${last}`,
    email: emailOf(conversation.visitor),
    phone: phoneOf(n),
    company: pick(COMPANIES, random),
    atMs,
  };
}

/** How many visitors there are: numbers from 0 on. */
export function visitorCount({ conversations }: WorkspaceHistory): number {
  return 1 + Math.ceil(conversations / CONVERSATIONS_PER_VISITOR);
}

function visitorAt({ conversations }: WorkspaceHistory, n: number): number {
  return n % Math.max(1, Math.floor(conversations / BUSY_CONVERSATIONS)) === 0
    ? BUSY_VISITOR
    : 1 + Math.floor(n / CONVERSATIONS_PER_VISITOR);
}

export function visitorIdOf(history: WorkspaceHistory, visitor: number): string {
  return idAt(history, "visitor", visitor, history.nowMs - SPAN_MS - HOUR_MS);
}

export function emailOf(visitor: number): string {
  return `visitor${visitor}@example.com`;
}

/** Every number's digits are different; the last seven are those of the number. */
function phoneOf(n: number): string {
  return `+43 660 ${String(n).padStart(7, "0")}`;
}

type Kind = "conversation" | "message" | "handoff" | "lead" | "visitor";
const KINDS: readonly Kind[] = ["conversation", "message", "handoff", "lead", "visitor"];

/** A UUIDv7 of shard 0. */
function idAt(history: WorkspaceHistory, kind: Kind, ordinal: number, atMs: number): string {
  const time = hex(atMs, 12);
  const node = hex(history.number, 2) + KINDS.indexOf(kind) + hex(ordinal, 7);
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${node}00`;
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}

function pick<Item>(items: readonly Item[], random: () => number): Item {
  return items[Math.floor(random() * items.length)]!;
}
