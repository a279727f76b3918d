import type { AnswerSettings } from "../agents/settings-wire.ts";
import type { MetadataFilter } from "../knowledge/metadata-wire.ts";
import type { HistoryMessage } from "../models/model.ts";
import type { Channel } from "../platform/db/columns.ts";
import { newId, shardOf } from "../platform/db/ids.ts";
import type { VisitorLimit } from "../workspaces/visitor-limits.ts";
import type { Refusal } from "./refusals.ts";
import type { StreamStart } from "./stream.ts";
import type { Trace } from "./trace-wire.ts";
import type { ChatAnswer } from "./wire.ts";

/** Who writes, as the channel knows them. Turns are stored by the session, so the names of their fields must not change. */
export interface TurnVisitor {
  anonId: string;
  externalId: string | null;
  name: string | null;
  email: string | null;
  /** Whether the identifier is proven, by an API key or a signature. */
  verified: boolean;
  /** Whether name and email are proven too: they replace what is known then, and only fill gaps otherwise. */
  isProfileVerified: boolean;
  /** The anonymous visitor that turns out to be this one, and is merged into it. */
  joins: string | null;
}

/** A user of the integrator: the API key proves the profile too. */
export function apiVisitor({
  id,
  name,
  email,
}: {
  id: string;
  name?: string | null | undefined;
  email?: string | null | undefined;
}): TurnVisitor {
  const isVerified = { verified: true, isProfileVerified: true, joins: null };
  return { anonId: `api:${id}`, externalId: id, name: name ?? null, email: email ?? null, ...isVerified };
}

/** One message of a visitor and everything that answering it needs. The identifiers are fixed, so a turn may run again safely. */
export interface Turn {
  workspaceId: string;
  agentId: string;
  conversationId: string;
  /** Whether it starts the conversation. */
  isNew: boolean;
  /** The subject of a new conversation, on channels that have one. */
  subject?: string;
  channel: Channel;
  message: string;
  visitor: TurnVisitor | null;
  /** What was said before a new conversation, as the caller tells it, oldest first; the model reads it, and it is not stored. */
  earlier?: HistoryMessage[];
  /** What the metadata of the knowledge that may be used must hold. */
  filter?: MetadataFilter;
  /** What takes the place of the agent's settings, where the team tries others out. */
  settings?: AnswerSettings;
  quota: { period: string; limit: number };
  /** How many messages a conversation may have; undefined in turns that earlier versions stored. */
  maxMessages?: number;
  /** How many messages visitors may send; undefined over the API, and in a turn from before it was limited. */
  messageLimit?: VisitorLimit;
  /** How many leads the agent's tool may add; undefined in a turn from before it was limited. */
  leadLimit?: VisitorLimit;
  /** Its question is stored whatever the limits are by now: an earlier attempt failed, and the caller was told that it is kept. */
  isKept?: boolean;
  /** The hashes under which an erasure of its visitor is recorded: after one, its question is not stored. Never stored. */
  subjectHashes?: string[];
  questionId: string;
  answerId: string;
  visitorId: string;
  nowMs: number;
}

/** The identifiers of a turn: a repeated turn with the same ones gets the first one's answer. */
export interface TurnIds {
  questionId: string;
  answerId: string;
  /** Of a visitor who has none yet. */
  visitorId?: string;
}

/** A turn before it has its place in the conversation's order. */
export type TurnRequest = Omit<Turn, "questionId" | "answerId" | "visitorId" | "nowMs"> & {
  /** Null in turns that earlier versions stored. */
  ids: TurnIds | null;
};

export type TurnResult = { outcome: "answered"; answer: ChatAnswer; visitorId: string | null } | Refusal;

/** Is called while an answer is made. It must not throw. */
export interface TurnListener {
  /** The question is stored and will be answered. Until this is called, the turn may still be refused. */
  onStart(start: StreamStart): void;
  /** A piece of the answer as the model writes it. All pieces joined are the beginning of the final answer, and often all of it. */
  onText(text: string): void;
  /** The answer is stored, and came about in this way. */
  onTrace?(trace: Trace): void;
}

/** Makes a request a turn when it starts. */
export function toTurn({ ids, ...request }: TurnRequest, nowMs: number): Turn {
  const nextId = () => newId(shardOf(request.workspaceId), nowMs);
  const { questionId, answerId, visitorId = nextId() }: TurnIds = ids ?? { questionId: nextId(), answerId: nextId() };
  return { ...request, questionId, answerId, visitorId, nowMs };
}
