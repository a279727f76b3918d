import type { CHANNELS } from "../agents/wire.ts";
import { afterAgentAnswer, type ConversationStatus, isWithHuman } from "../conversations/status.ts";
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
interface TurnVisitor {
  anonId: string;
  externalId: string | null;
  name: string | null;
  email: string | null;
}

/** One message of a visitor and all that answering it needs; its identifiers make running it again harmless. */
export interface Turn {
  workspaceId: string;
  agentId: string;
  conversationId: string;
  /** Whether it begins the conversation. */
  isNew: boolean;
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
export type TurnRequest = Omit<Turn, "questionId" | "answerId" | "visitorId" | "nowMs">;

export type TurnResult =
  | { outcome: "answered"; answer: ChatAnswer }
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
  return { ...request, questionId: newId(shard, nowMs), answerId: newId(shard, nowMs), visitorId: newId(shard, nowMs), nowMs };
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
    const [begun, found] = await Promise.all([db.batch(beginTurn(db, turn)), isLast ? NOTHING_FOUND : this.search(turn, expected, meter)]);
    const [[agent], [state], earlier, , , , stored] = begun;
    const refusal = refusalOf(turn, agent, state, stored.length > 0);
    if (refusal) return refusal;
    const previous = state?.status === "resolved" ? [] : earlier.map((message) => message.content).reverse();
    this.previousQuestions = [...previous, turn.message].slice(-PREVIOUS_QUESTIONS);
    const answered = stored.find((message) => message.id === turn.answerId);
    if (answered) return this.repeat(turn, state!.status, answered);
    if (state && isWithHuman(state.status)) {
      // Counted by a run that died before a human took over.
      if (stored.some((message) => message.quotaPeriod !== null)) await db.batch([returnQuota(db, turn, true)]);
      return silent(turn, agent!.handoffMessage, state.status);
    }
    const retrieval = isLast || isSame(previous, expected) ? found : await this.search(turn, previous, meter);
    const asked = { turn, agent: agent!, previousQuestions: previous, retrieval };
    const reply = isLast ? failedReply(asked) : await replyTo(this.model, asked);
    return this.finish(db, turn, agent!.name, reply);
  }

  /** Reads nothing of the conversation, so that it need not wait for it. */
  private async search(turn: Turn, previousQuestions: string[], meter: Meter): Promise<Retrieval> {
    const index = indexOf(this.env, meter, turn.workspaceId, turn.agentId);
    return index.search({ question: turn.message, previousQuestions, limit: PASSAGES });
  }

  private async finish(db: Database, turn: Turn, agentName: string, reply: Reply): Promise<TurnResult> {
    const nowMs = Math.max(Date.now(), turn.nowMs + 1);
    const needsHuman = reply.handoff !== null;
    const handoff = reply.handoff && { id: newId(shardOf(turn.workspaceId), nowMs), ...reply.handoff };
    const outcome = { ...reply, handoff, status: afterAgentAnswer(needsHuman), agentName, nowMs };
    const [, , , , [state]] = await db.batch(finishTurn(db, turn, outcome));
    const { text, citations, confidence } = reply;
    return answer(turn, {
      answer: text,
      citations,
      confidence,
      needs_human: needsHuman,
      message_id: turn.answerId,
      status: state?.status ?? outcome.status,
    });
  }

  /** A turn that died after its answer was stored answers the same. */
  private repeat(turn: Turn, status: ConversationStatus, stored: typeof messages.$inferSelect): TurnResult {
    const { content, confidence, needsHuman } = stored;
    const citations = stored.citations as Citation[];
    return answer(turn, {
      answer: content,
      citations,
      confidence: confidence ?? 0,
      needs_human: needsHuman,
      message_id: stored.id,
      status,
    });
  }
}

/** Why a turn was not taken, in the order of the checks: existence, state, quota. Undefined when it was. */
function refusalOf(
  turn: Turn,
  agent: typeof agents.$inferSelect | undefined,
  state: { agentId: string; channel: string; anonId: string | null; status: ConversationStatus } | undefined,
  isStored: boolean,
): TurnResult | undefined {
  if (isStored) return undefined;
  if (!agent) return { outcome: "agent_not_found" };
  if (!turn.isNew) {
    if (!state) return { outcome: "conversation_not_found" };
    if (state.agentId !== turn.agentId) return { outcome: "other_agent" };
    if (state.channel !== turn.channel) return { outcome: "other_channel" };
    if (turn.visitor && state.anonId !== null && state.anonId !== turn.visitor.anonId) return { outcome: "other_user" };
  }
  if (agent.status === "paused") return { outcome: "agent_paused" };
  return { outcome: "quota_exceeded" };
}

/** A human has the conversation: the message is stored, the agent stays silent. */
function silent(turn: Turn, handoffMessage: string, status: ConversationStatus): TurnResult {
  return answer(turn, { answer: handoffMessage, citations: [], confidence: 0, needs_human: true, message_id: null, status });
}

function answer(turn: Turn, fields: Omit<ChatAnswer, "conversation_id">): TurnResult {
  return { outcome: "answered", answer: { ...fields, conversation_id: turn.conversationId } };
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, at) => text === b[at]);
}
