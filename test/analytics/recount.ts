import { HANDOFF_REASONS } from "../../src/platform/db/columns.ts";
import { questionKeyOf } from "../../src/chat/question.ts";
import { query } from "../harness.ts";
import { DAY_MS, type Transition } from "./history.ts";

const CHANNELS = ["widget", "hosted", "email", "api", "playground"];
const STATUSES = ["open", "ai_handled", "needs_human", "human_active", "resolved"];

interface Conversation {
  id: string;
  agent_id: string;
  channel: string;
  status: string;
  csat_score: number | null;
  created_at: number;
}
interface Message {
  id: string;
  conversation_id: string;
  role: string;
  content: string;
  created_at: number;
}
interface Handoff {
  agent_id: string;
  conversation_id: string;
  reason: string;
  trigger_message_id: string;
  requested_at: number;
  resolved_at: number | null;
}

/** All records of a workspace that reports count: those of the playground are left out. */
export async function readRecords(workspaceId: string) {
  const all = <Row>(table: string) => query<Row>(workspaceId, `SELECT * FROM ${table} WHERE workspace_id = ?`, workspaceId);
  const conversations = (await all<Conversation>("conversations")).filter(({ channel }) => channel !== "playground");
  const ids = new Set(conversations.map(({ id }) => id));
  return {
    conversations,
    messages: (await all<Message>("messages")).filter((message) => ids.has(message.conversation_id)),
    handoffs: await all<Handoff>("handoffs"),
    leads: await all<{ agent_id: string; created_at: number }>("leads"),
  };
}

type Records = Awaited<ReturnType<typeof readRecords>>;

/** The records of one agent. */
export function recordsOf(records: Records, agentId: string | undefined): Records {
  if (agentId === undefined) return records;
  const own = <Row extends { agent_id: string }>(rows: Row[]) => rows.filter((row) => row.agent_id === agentId);
  const conversations = own(records.conversations);
  const ids = new Set(conversations.map(({ id }) => id));
  const messages = records.messages.filter((message) => ids.has(message.conversation_id));
  return { conversations, messages, handoffs: own(records.handoffs), leads: own(records.leads) };
}

/** The overview as a plain recount: the definitions over again, with loops. Medians in milliseconds. */
export function recount(records: Records, transitions: Transition[], days: number, toDate: string) {
  const toDay = Date.parse(toDate) / DAY_MS;
  const facts = records.conversations.map((conversation) => factsOf(conversation, records, transitions));
  const now = period(records, facts, toDay - days + 1, toDay, toDay);
  const before = period(records, facts, toDay - 2 * days + 1, toDay - days, toDay);
  const { began } = now;
  const isNow = (ms: number) => dayOf(ms) > toDay - days && dayOf(ms) <= toDay;
  const scores = began.flatMap(({ conversation }) => conversation.csat_score ?? []);
  const handoffs = records.handoffs.filter((handoff) => isNow(handoff.requested_at));
  return {
    range: { days, from: dateOf(toDay - days + 1), to: toDate },
    totals: now.totals,
    rates: now.rates,
    csat: { average: share(sum(scores), scores.length), count: scores.length },
    // Nobody rates in these histories.
    feedback: { up: 0, down: 0 },
    medians: [
      median(began.map((fact) => fact.firstResponseMs)),
      median(began.map((fact) => fact.resolutionMs)),
      median(handoffs.map((handoff) => teamReplyMs(handoff, records))),
    ],
    handoff_reasons: tally(
      [...HANDOFF_REASONS],
      handoffs.map(({ reason }) => reason),
    ),
    by_channel: tally(
      CHANNELS,
      began.map(({ conversation }) => conversation.channel),
    ),
    by_status: tally(
      STATUSES,
      records.conversations.map(({ status }) => status),
    ),
    daily: Array.from({ length: days }, (_, at) => {
      const day = toDay - days + 1 + at;
      return { date: dateOf(day), ...period(records, facts, day, day, toDay).totals };
    }),
    top_unanswered: topUnanswered(records, handoffs),
    previous: { totals: before.totals, rates: before.rates },
  };
}

function factsOf(conversation: Conversation, { messages, handoffs }: Records, all: Transition[]) {
  const own = messages.filter((message) => message.conversation_id === conversation.id);
  const handed = handoffs.filter((handoff) => handoff.conversation_id === conversation.id);
  const moves = all.filter((move) => move.conversationId === conversation.id);
  const answers = own.filter(({ role }) => role === "assistant");
  const humans = own.filter(({ role }) => role === "human");
  const first = Math.min(...[...answers, ...humans].map((message) => message.created_at));
  const ends = moves.filter(({ to }) => to === "resolved");
  const reopenings = moves.filter(({ from }) => from === "resolved");
  const isAlone = (ms: number) =>
    answers.some((answer) => answer.created_at <= ms) &&
    !humans.some((human) => human.created_at <= ms) &&
    !handed.some((handoff) => handoff.requested_at <= ms);
  const aiMs = ends.find(({ atMs }) => isAlone(atMs))?.atMs;
  return {
    conversation,
    withAgent: answers.length > 0,
    handedOff: handed.length > 0,
    resolved: ends.length > 0,
    reopened: reopenings.length > 0,
    aiMs,
    undone: aiMs !== undefined && reopenings.some(({ atMs }) => atMs >= aiMs && atMs < aiMs + 7 * DAY_MS),
    firstResponseMs: Number.isFinite(first) ? first - conversation.created_at : undefined,
    resolutionMs: ends[0] && ends[0].atMs - conversation.created_at,
  };
}

/** The time until the team's first reply, if that came before the hand-off was resolved or resolved it. */
function teamReplyMs({ conversation_id: id, requested_at: fromMs, resolved_at: toMs }: Handoff, { messages }: Records): number | undefined {
  const replies = messages.filter(({ conversation_id: of, role }) => of === id && role === "human");
  const whileOpen = replies.filter((reply) => reply.created_at >= fromMs && (toMs === null || reply.created_at <= toMs));
  return whileOpen.length > 0 ? Math.min(...whileOpen.map((reply) => reply.created_at)) - fromMs : undefined;
}

type Facts = ReturnType<typeof factsOf>;

function period({ messages, handoffs, leads }: Records, facts: Facts[], fromDay: number, toDay: number, today: number) {
  const isIn = (ms: number) => dayOf(ms) >= fromDay && dayOf(ms) <= toDay;
  const began = facts.filter(({ conversation }) => isIn(conversation.created_at));
  const written = messages.filter((message) => isIn(message.created_at));
  const requested = handoffs.filter((handoff) => isIn(handoff.requested_at));
  const count = (of: (fact: Facts) => boolean) => began.filter(of).length;
  const replies = written.filter(({ role }) => role === "assistant").length;
  // A day of resolutions is old enough once the last millisecond of it is.
  const ripe = facts.filter(({ aiMs }) => aiMs !== undefined && isIn(aiMs) && (dayOf(aiMs) + 8) * DAY_MS - 1 < today * DAY_MS);
  return {
    began,
    totals: {
      conversations: began.length,
      messages: written.length,
      ai_replies: replies,
      human_replies: written.filter(({ role }) => role === "human").length,
      leads: leads.filter((lead) => isIn(lead.created_at)).length,
      handoffs: requested.length,
    },
    rates: {
      ai_resolution: share(
        count(({ aiMs }) => aiMs !== undefined),
        count((fact) => fact.withAgent),
      ),
      durable_resolution_7d: share(ripe.filter(({ undone }) => !undone).length, ripe.length),
      handoff: share(
        count((fact) => fact.handedOff),
        began.length,
      ),
      reopen: share(
        count((fact) => fact.reopened),
        count((fact) => fact.resolved),
      ),
      unanswered: share(requested.filter(({ reason }) => reason === "missing_knowledge").length, replies),
    },
  };
}

function topUnanswered({ messages }: Records, handoffs: Handoff[]) {
  const contents = new Map(messages.map(({ id, content }) => [id, content]));
  const found = new Map<string, { question: string; count: number; lastMs: number }>();
  for (const { reason, trigger_message_id: id, requested_at: atMs } of handoffs.toSorted((a, b) => a.requested_at - b.requested_at)) {
    if (reason !== "missing_knowledge" && reason !== "low_confidence") continue;
    const question = contents.get(id)!;
    const key = questionKeyOf(question);
    found.set(key, { question, count: (found.get(key)?.count ?? 0) + 1, lastMs: atMs });
  }
  const ranked = [...found].sort(([a, x], [b, y]) => y.count - x.count || y.lastMs - x.lastMs || (a < b ? -1 : 1));
  return ranked.slice(0, 10).map(([, { question, count }]) => ({ question, count }));
}

/** Returns the lower one of the two middle values. */
function median(values: (number | undefined)[]): number | null {
  const sorted = values.filter((value) => value !== undefined).sort((a, b) => a - b);
  return sorted[Math.ceil(sorted.length / 2) - 1] ?? null;
}

function tally(names: string[], values: string[]): Record<string, number> {
  return Object.fromEntries(names.map((name) => [name, values.filter((value) => value === name).length]));
}

function share(part: number, whole: number): number | null {
  return whole === 0 ? null : Math.round((part / whole) * 10_000) / 10_000;
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS);
}

function dateOf(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}
