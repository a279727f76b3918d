import { waitUntil } from "cloudflare:workers";
import { agentTools } from "../agents/tools/agent-tools.ts";
import { CallJournal, type JournalStorage } from "../agents/tools/journal.ts";
import { isWithHuman } from "../conversations/status.ts";
import { wakeDeliveries } from "../events/outbox.ts";
import { indexOf } from "../knowledge/index.ts";
import type { Model, Said } from "../models/model.ts";
import type { Retrieval } from "../models/retrieval.ts";
import { type Database, dbFor } from "../platform/db/client.ts";
import type { Channel, ConversationStatus } from "../platform/db/columns.ts";
import { newId, shardOf } from "../platform/db/ids.ts";
import type { agents, messages } from "../platform/db/schema.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
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

/** One message of a visitor and all that answering it needs. The identifiers are fixed, so a turn may be run again without harm. */
export interface Turn {
  workspaceId: string;
  agentId: string;
  conversationId: string;
  /** Whether it begins the conversation. */
  isNew: boolean;
  /** What a new conversation is about, where the channel says it. */
  subject?: string;
  channel: Channel;
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
  /** The question is stored and will be answered. Until this is called, the turn may still be refused. */
  begin(begun: Begun): void;
  /** A piece of the answer as the model writes it. All pieces joined are the beginning of the final answer, and often all of it. */
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

/** One run of a turn. */
interface Run {
  turn: Turn;
  db: Database;
  meter: Meter;
  /** Whether it is the turn's last run: then a human takes over, rather than that nobody answers. */
  isLast: boolean;
  listener: TurnListener;
}

type Agent = typeof agents.$inferSelect;

/** What the first batch found: the agent, the conversation as it was, and those of the turn's messages that are stored. */
type Found = Omit<Awaited<ReturnType<typeof beginTurn>>, "written"> & { visitorId: string | null };

/** The search that begins before the conversation is read, and the earlier questions that it was told of. */
interface EarlySearch {
  previousQuestions: readonly string[];
  retrieval: Promise<Retrieval>;
}

/** Runs turns of one conversation: one D1 batch in, beside the search, and one out. */
export class TurnRunner {
  /** What the search beside the first batch is told of earlier turns: the batch says whether it was right. */
  private previousQuestions: string[] = [];

  private readonly journal: CallJournal;

  /** @param storage keeps the journal of tool calls; without it, the journal lives only as long as this runner. */
  constructor(
    private readonly env: Env,
    private readonly model: Model,
    storage?: JournalStorage,
  ) {
    this.journal = new CallJournal(storage);
  }

  /**
   * Admits a turn, then replays, withholds or makes its answer.
   * @param isLast whether this is the turn's last run: then a human takes over, rather than that nobody answers.
   */
  async run(turn: Turn, meter: Meter, isLast = false, listener = NOBODY): Promise<TurnResult> {
    const run: Run = { turn, db: dbFor(this.env, turn.workspaceId, meter), meter, isLast, listener };
    const early = this.searchEarly(run);
    const found = await this.admit(run);
    const refusal = refusalOf(turn, found);
    if (refusal) return refusal;
    const { agent, state, stored } = found;
    const answered = stored.find((message) => message.id === turn.answerId);
    if (answered) return this.done(found, replay(run, found, answered));
    // Deleted since an earlier run stored the question.
    if (!agent) return { outcome: "agent_not_found" };
    if (state && isWithHuman(state.status)) return this.done(found, await staySilent(run, found, agent, state.status));
    return this.done(found, await this.answer(run, found, agent, early));
  }

  /** Begins to search beside the first batch: of earlier turns it knows what this runner saw. */
  private searchEarly({ turn, meter, isLast }: Run): EarlySearch {
    const { previousQuestions } = this;
    const retrieval = isLast ? Promise.resolve(NOTHING_FOUND) : this.search(turn, previousQuestions, meter);
    // A turn that is refused needs no search; any other one awaits it, and fails there.
    retrieval.catch(() => undefined);
    return { previousQuestions, retrieval };
  }

  /** Stores the question, if it may be asked, and reads what an answer needs. */
  private async admit({ turn, db }: Run): Promise<Found> {
    const { written, ...found } = await beginTurn(db, turn);
    // The answer waits for no queue.
    waitUntil(wakeDeliveries(this.env, written));
    return { ...found, visitorId: found.stored.find((message) => message.id === turn.questionId)?.authorId ?? null };
  }

  private async answer(run: Run, found: Found, agent: Agent, early: EarlySearch): Promise<ChatAnswer> {
    const { turn, db, meter, isLast, listener } = run;
    tellBegin(run, found, turn.answerId);
    const history = found.state?.status === "resolved" ? [] : found.earlier.map(toSaid).reverse();
    const questions = history.filter(({ by }) => by === "visitor").map(({ text }) => text);
    const previousQuestions = questions.slice(-PREVIOUS_QUESTIONS);
    this.previousQuestions = [...previousQuestions, turn.message].slice(-PREVIOUS_QUESTIONS);
    const retrieval = await this.retrieve(run, previousQuestions, early);
    const tools = [
      ...builtInTools({ env: this.env, meter, turn, visitorId: found.visitorId, written: [...questions, turn.message] }),
      ...this.agentTools(turn, agent),
    ];
    const asked = { turn, agent, previousQuestions, history, retrieval, tools };
    const reply = isLast ? failedReply(asked) : await replyTo(this.model, asked, (text) => listener.say(text));
    return this.finish(db, turn, agent.name, reply);
  }

  /** What the early search finds, if it was told of the right questions; else it searches anew. */
  private retrieve({ turn, meter, isLast }: Run, previousQuestions: string[], early: EarlySearch): Promise<Retrieval> {
    const wasRight = isLast || isSame(previousQuestions, early.previousQuestions);
    return wasRight ? early.retrieval : this.search(turn, previousQuestions, meter);
  }

  /** Reads nothing of the conversation, so that it need not wait for it. */
  private async search(turn: Turn, previousQuestions: string[], meter: Meter): Promise<Retrieval> {
    const index = indexOf(this.env, meter, turn.workspaceId, turn.agentId);
    return index.search({ question: turn.message, previousQuestions, limit: PASSAGES });
  }

  private agentTools(turn: Turn, agent: Agent) {
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

  private done({ visitorId }: Found, answer: ChatAnswer): TurnResult {
    this.journal.close();
    return { outcome: "answered", answer, visitorId };
  }
}

/** Says that the turn will be answered by this message of the agent's, or by none. */
function tellBegin({ turn, listener }: Run, { visitorId }: Found, messageId: string | null): void {
  listener.begin({ conversationId: turn.conversationId, messageId, visitorId });
}

/** Stored by a run that died, or asked for again: it is answered the same. */
function replay(run: Run, found: Found, answered: Found["stored"][number]): ChatAnswer {
  tellBegin(run, found, run.turn.answerId);
  return toChatAnswer(answered, found.state!.status);
}

/** A human has the conversation: the message is stored, and the agent says nothing. */
async function staySilent(run: Run, found: Found, agent: Agent, status: ConversationStatus): Promise<ChatAnswer> {
  const { turn, db } = run;
  // Counted by a run that died before a human took over.
  if (found.stored.some((message) => message.quotaPeriod !== null)) await db.batch([returnQuota(db, turn)]);
  tellBegin(run, found, null);
  const fields = { answer: agent.handoffMessage, citations: [], confidence: 0, needs_human: true, message_id: null };
  return { ...fields, conversation_id: turn.conversationId, status };
}

/** Why a turn was not taken, in the order of the checks: existence, state, quota. Undefined when it was. */
function refusalOf(turn: Turn, { agent, state, stored }: Found): Refusal | undefined {
  if (stored.length > 0) return undefined;
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

/** What a colleague of the team wrote was said by the agent's side too. */
function toSaid({ role, content }: Pick<typeof messages.$inferSelect, "role" | "content">): Said {
  return { by: role === "user" ? "visitor" : "agent", text: content };
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, at) => text === b[at]);
}
