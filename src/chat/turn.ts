import type { CHANNELS } from "../agents/wire.ts";
import { type ConversationStatus, isWithHuman } from "../conversations/status.ts";
import type { Citation } from "../conversations/wire.ts";
import { type Database, dbFor } from "../db/client.ts";
import { newId, shardOf } from "../db/ids.ts";
import type { agents, messages } from "../db/schema.ts";
import type { Retrieval } from "../knowledge/passage.ts";
import { indexOf } from "../knowledge/stub.ts";
import type { Meter } from "../meter.ts";
import type { Model } from "../models/model.ts";
import { failedReply, type Reply, replyTo } from "./reply.ts";
import { beginTurn, finishTurn, PREVIOUS_QUESTIONS, returnQuota } from "./store.ts";
import type { ChatAnswer } from "./wire.ts";

/** How many passages an answer is made of. */
const PASSAGES = 5;

/** Who writes, as the channel knows them. */
export interface TurnVisitor {
  anonId: string;
  externalId: string | null;
  name: string | null;
  email: string | null;
  /** Whether the identifier is vouched for: by an API key or a signature. */
  verified: boolean;
  /** Whether name and email are vouched for too: they replace what is known then, and else fill what is missing. */
  isProfileVerified: boolean;
  /** The anonymous visitor that turns out to be this one: what is its own is theirs from now on. */
  joins: string | null;
}

/** One message of a visitor and all that answering it needs; its identifiers make running it again harmless. */
export interface Turn {
  workspaceId: string;
  agentId: string;
  conversationId: string;
  /** Whether it begins the conversation. */
  isNew: boolean;
  /** What a new conversation is about, where the channel says it. */
  subject?: string;
  channel: (typeof CHANNELS)[number];
  message: string;
  visitor: TurnVisitor | null;
  quota: { period: string; limit: number };
  questionId: string;
  answerId: string;
  visitorId: string;
  nowMs: number;
}

/** What is asked, before the turn has its place in the order. */
export type TurnRequest = Omit<Turn, "questionId" | "answerId" | "visitorId" | "nowMs"> & {
  /** Given where the same request may come again: a repeated turn is answered as the first one was. */
  ids: { questionId: string; answerId: string } | null;
};

export type TurnResult =
  | { outcome: "answered"; answer: ChatAnswer; visitorId: string | null }
  | { outcome: "agent_not_found" }
  | { outcome: "conversation_not_found" }
  | { outcome: "agent_paused" }
  | { outcome: "other_agent" }
  | { outcome: "other_channel" }
  | { outcome: "other_user" }
  | { outcome: "quota_exceeded" };

/** Gives a turn its identifiers when it begins, so that the transcript's order is the order in which turns ran. */
export function startTurn(request: TurnRequest, nowMs: number): Turn {
  const shard = shardOf(request.workspaceId);
  const { ids, ...asked } = request;
  const { questionId, answerId } = ids ?? { questionId: newId(shard, nowMs), answerId: newId(shard, nowMs) };
  return { ...asked, questionId, answerId, visitorId: newId(shard, nowMs), nowMs };
}

/** What the last run finds: it does not ask the index, which may be what failed. */
const NOTHING_FOUND: Retrieval = { passages: [], curated: [], questionTerms: [], previousTerms: [] };

/** Runs turns of one conversation: one D1 batch in, beside the search, and one out. */
export class TurnRunner {
  /** What the search beside the first batch is told of earlier turns: the batch says whether it was right. */
  private previousQuestions: string[] = [];

  constructor(
    private readonly env: Env,
    private readonly model: Model,
  ) {}

  /** @param isLast whether this is the turn's last run: then a human takes over, rather than that nobody answers. */
  async run(turn: Turn, meter: Meter, isLast = false): Promise<TurnResult> {
    const db = dbFor(this.env, turn.workspaceId, meter);
    const expected = this.previousQuestions;
    const [begun, found] = await Promise.all([beginTurn(db, turn), isLast ? NOTHING_FOUND : this.search(turn, expected, meter)]);
    const { agent, state, earlier, stored } = begun;
    const refusal = refusalOf(turn, agent, state, stored.length > 0);
    if (refusal) return refusal;
    const previous = state?.status === "resolved" ? [] : earlier.map((message) => message.content).reverse();
    this.previousQuestions = [...previous, turn.message].slice(-PREVIOUS_QUESTIONS);
    const visitorId = stored.find((message) => message.id === turn.questionId)?.authorId ?? null;
    const done = (answer: ChatAnswer): TurnResult => ({ outcome: "answered", answer, visitorId });
    const answered = stored.find((message) => message.id === turn.answerId);
    if (answered) return done(repeat(turn, state!.status, answered));
    if (state && isWithHuman(state.status)) {
      // Counted by a run that died before a human took over.
      if (stored.some((message) => message.quotaPeriod !== null)) await db.batch([returnQuota(db, turn)]);
      return done(silent(turn, agent!.handoffMessage, state.status));
    }
    const retrieval = isLast || isSame(previous, expected) ? found : await this.search(turn, previous, meter);
    const asked = { turn, agent: agent!, previousQuestions: previous, retrieval };
    const reply = isLast ? failedReply(asked) : await replyTo(this.model, asked);
    return done(await finish(db, turn, agent!.name, reply));
  }

  /** Reads nothing of the conversation, so that it need not wait for it. */
  private async search(turn: Turn, previousQuestions: string[], meter: Meter): Promise<Retrieval> {
    const index = indexOf(this.env, meter, turn.workspaceId, turn.agentId);
    return index.search({ question: turn.message, previousQuestions, limit: PASSAGES });
  }
}

async function finish(db: Database, turn: Turn, agentName: string, reply: Reply): Promise<ChatAnswer> {
  const nowMs = Math.max(Date.now(), turn.nowMs + 1);
  const status = await finishTurn(db, turn, { ...reply, agentName, nowMs });
  const { text, citations, confidence, handoff } = reply;
  const fields = { answer: text, citations, confidence, needs_human: handoff !== null, message_id: turn.answerId };
  // Erased meanwhile: the answer is given, and nothing of it is kept.
  return { ...fields, conversation_id: turn.conversationId, status: status ?? "resolved" };
}

/** A turn that died after its answer was stored answers the same. */
function repeat(turn: Turn, status: ConversationStatus, stored: typeof messages.$inferSelect): ChatAnswer {
  const { id, content, confidence, needsHuman } = stored;
  const citations = stored.citations as Citation[];
  const fields = { answer: content, citations, confidence: confidence ?? 0, needs_human: needsHuman, message_id: id };
  return { ...fields, conversation_id: turn.conversationId, status };
}

/** Why a turn was not taken, in the order of the checks: existence, state, quota. Undefined when it was. */
function refusalOf(
  turn: Turn,
  agent: typeof agents.$inferSelect | undefined,
  state: { agentId: string; channel: string; isOthers: number; status: ConversationStatus } | undefined,
  isStored: boolean,
): TurnResult | undefined {
  if (isStored) return undefined;
  if (!agent) return { outcome: "agent_not_found" };
  if (!turn.isNew) {
    if (!state) return { outcome: "conversation_not_found" };
    if (state.agentId !== turn.agentId) return { outcome: "other_agent" };
    if (state.channel !== turn.channel) return { outcome: "other_channel" };
    if (state.isOthers) return { outcome: "other_user" };
  }
  if (agent.status === "paused") return { outcome: "agent_paused" };
  return { outcome: "quota_exceeded" };
}

/** A human has the conversation: the message is stored, the agent stays silent. */
function silent(turn: Turn, handoffMessage: string, status: ConversationStatus): ChatAnswer {
  const fields = { answer: handoffMessage, citations: [], confidence: 0, needs_human: true, message_id: null };
  return { ...fields, conversation_id: turn.conversationId, status };
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, at) => text === b[at]);
}
