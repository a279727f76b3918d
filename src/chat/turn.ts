import { waitUntil } from "cloudflare:workers";
import type { CHANNELS } from "../agents/wire.ts";
import { type ConversationStatus, isWithHuman } from "../conversations/status.ts";
import { type Database, dbFor } from "../db/client.ts";
import { newId, shardOf } from "../db/ids.ts";
import type { agents, messages } from "../db/schema.ts";
import type { Retrieval } from "../knowledge/passage.ts";
import { indexOf } from "../knowledge/stub.ts";
import type { Meter } from "../meter.ts";
import type { Model, Said } from "../models/model.ts";
import { agentTools } from "../tools/agent-tools.ts";
import { CallJournal, type JournalStorage } from "../tools/journal.ts";
import { wakeDeliveries } from "../webhooks/wake.ts";
import { failedReply, type Reply, replyTo } from "./reply.ts";
import { beginTurn, finishTurn, PREVIOUS_QUESTIONS, returnQuota } from "./store.ts";
import type { Begun } from "./stream.ts";
import { builtInTools } from "./tools.ts";
import { type ChatAnswer, toChatAnswer } from "./wire.ts";

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

/** Why a turn was not taken. */
export type Refusal = Exclude<TurnResult, { outcome: "answered" }>;

/** Hears of an answer while it is made. It must not throw. */
interface TurnListener {
  /** The question is stored and will be answered: before it, the turn may still be refused. */
  begin(begun: Begun): void;
  /** A piece, as a model writes it: together a beginning of the answer, and often all of it. */
  say(text: string): void;
}

const NOBODY: TurnListener = { begin: () => undefined, say: () => undefined };

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

  private readonly journal: CallJournal;

  /** @param storage keeps what tools were called for: without it, only for as long as the runner lives. */
  constructor(
    private readonly env: Env,
    private readonly model: Model,
    storage?: JournalStorage,
  ) {
    this.journal = new CallJournal(storage);
  }

  /**
   * @param isLast whether this is the turn's last run: then a human takes over, rather than that nobody answers.
   */
  async run(turn: Turn, meter: Meter, isLast = false, listener = NOBODY): Promise<TurnResult> {
    const db = dbFor(this.env, turn.workspaceId, meter);
    const expected = this.previousQuestions;
    const searching = isLast ? Promise.resolve(NOTHING_FOUND) : this.search(turn, expected, meter);
    // A turn that is refused needs no search; any other one awaits it, and fails there.
    searching.catch(() => undefined);
    const { agent, state, earlier, stored, written } = await beginTurn(db, turn);
    // The answer waits for no queue.
    waitUntil(wakeDeliveries(this.env, written));
    const refusal = refusalOf(turn, agent, state, stored.length > 0);
    if (refusal) return refusal;
    const visitorId = stored.find((message) => message.id === turn.questionId)?.authorId ?? null;
    const begin = (messageId: string | null) => listener.begin({ conversationId: turn.conversationId, messageId, visitorId });
    const done = (answer: ChatAnswer): TurnResult => {
      this.journal.close();
      return { outcome: "answered", answer, visitorId };
    };
    const answered = stored.find((message) => message.id === turn.answerId);
    if (answered) {
      begin(turn.answerId);
      // Stored by a run that died, or asked for again: it is answered the same.
      return done(toChatAnswer(answered, state!.status));
    }
    // Deleted since an earlier run stored the question.
    if (!agent) return { outcome: "agent_not_found" };
    if (state && isWithHuman(state.status)) {
      // Counted by a run that died before a human took over.
      if (stored.some((message) => message.quotaPeriod !== null)) await db.batch([returnQuota(db, turn)]);
      begin(null);
      return done(silent(turn, agent.handoffMessage, state.status));
    }
    begin(turn.answerId);
    const history = state?.status === "resolved" ? [] : earlier.map(toSaid).reverse();
    const questions = history.filter(({ by }) => by === "visitor").map(({ text }) => text);
    const previous = questions.slice(-PREVIOUS_QUESTIONS);
    this.previousQuestions = [...previous, turn.message].slice(-PREVIOUS_QUESTIONS);
    const retrieval = await (isLast || isSame(previous, expected) ? searching : this.search(turn, previous, meter));
    const tools = [
      ...builtInTools({ env: this.env, meter, turn, visitorId, written: [...questions, turn.message] }),
      ...this.agentTools(turn, agent),
    ];
    const asked = { turn, agent, previousQuestions: previous, history, retrieval, tools };
    const reply = isLast ? failedReply(asked) : await replyTo(this.model, asked, (text) => listener.say(text));
    return done(await this.finish(db, turn, agent.name, reply));
  }

  /** Reads nothing of the conversation, so that it need not wait for it. */
  private async search(turn: Turn, previousQuestions: string[], meter: Meter): Promise<Retrieval> {
    const index = indexOf(this.env, meter, turn.workspaceId, turn.agentId);
    return index.search({ question: turn.message, previousQuestions, limit: PASSAGES });
  }

  private agentTools(turn: Turn, agent: typeof agents.$inferSelect) {
    const { workspaceId, conversationId, answerId } = turn;
    this.journal.open(answerId);
    return agentTools({ env: this.env, workspaceId, conversationId, turnId: answerId, journal: this.journal }, agent);
  }

  private async finish(db: Database, turn: Turn, agentName: string, reply: Reply): Promise<ChatAnswer> {
    const nowMs = Math.max(Date.now(), turn.nowMs + 1);
    const { status, written } = await finishTurn(db, turn, { ...reply, agentName, nowMs });
    waitUntil(wakeDeliveries(this.env, written));
    const { text, citations, confidence, handoff } = reply;
    const fields = { answer: text, citations, confidence, needs_human: handoff !== null, message_id: turn.answerId };
    // Erased meanwhile: the answer is given, and nothing of it is kept.
    return { ...fields, conversation_id: turn.conversationId, status: status ?? "resolved" };
  }
}

/** Why a turn was not taken, in the order of the checks: existence, state, quota. Undefined when it was. */
function refusalOf(
  turn: Turn,
  agent: typeof agents.$inferSelect | undefined,
  state: { agentId: string; channel: string; isOthers: number; status: ConversationStatus } | undefined,
  isStored: boolean,
): Refusal | undefined {
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

/** What a colleague of the team wrote was said by the agent's side too. */
function toSaid({ role, content }: Pick<typeof messages.$inferSelect, "role" | "content">): Said {
  return { by: role === "user" ? "visitor" : "agent", text: content };
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, at) => text === b[at]);
}
