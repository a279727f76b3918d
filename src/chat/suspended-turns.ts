import { BASE64URL } from "../platform/crypto/base64url.ts";
import type { ClientSurface, ConversationStatus } from "../platform/db/columns.ts";
import type { Decision } from "../conversations/approval-store.ts";
import type { ToolCall } from "../models/chat-model.ts";
import type { CalledTool, ToolRound } from "../models/model.ts";
import { formatUuid, newId, parseUuid, shardOf } from "../platform/db/ids.ts";
import { DAY_MS, HOUR_MS } from "../platform/time.ts";
import type { Question } from "./question.ts";
import type { Search } from "./search.ts";
import type { ChatAnswer, ToolResult } from "./wire.ts";

/** A turn that waits for its caller's tools, or for the team's approval of tool calls. It is plain data, which the session stores. */
export interface SuspendedTurn {
  question: Question;
  /** The calls that the team has to approve; undefined if the turn waits for its caller. */
  approvals?: RequestedApproval[];
  /** The visitor who asks; null if nobody is named. */
  visitorId: string | null;
  /** The status of the conversation while the turn waits. */
  status: ConversationStatus;
  search: Search;
  /** The rounds so far. The calls that are waited for are in the last one. */
  rounds: ToolRound[];
  /** What the visitor has seen of the answer; undefined for nothing. */
  text?: string;
  /** The keys of the calls in the journal that the rounds contain. */
  journaled: string[];
  expiresAtMs: number;
  /** Whether all results or decisions are there, so that the turn can go on. */
  isSettled: boolean;
}

/** A call of the last round that the team has to approve. */
export interface RequestedApproval {
  id: string;
  /** The position of the call in the round. */
  at: number;
  decision?: Decision;
}

/** How long a program has for its tools. A visitor's page runs them at once. */
const LIFETIME_MS = { server: HOUR_MS, browser: 60_000 };

/** How long the team has to decide about a call. */
const APPROVAL_LIFETIME_MS = DAY_MS;

/** Suspends a turn until its caller has run tools. */
export function awaitCaller(turn: Omit<SuspendedTurn, "expiresAtMs" | "isSettled">, nowMs: number): SuspendedTurn {
  return { ...turn, expiresAtMs: nowMs + LIFETIME_MS[turn.question.clientTools?.runsIn ?? "server"], isSettled: false };
}

const NOT_RUN = "A colleague is asked about another call first. Nothing was done, and this tool cannot be called in this answer.";

/**
 * Suspends a turn until the team has decided about the calls that need an approval. The caller's tools of the same round are not run.
 * @param newId makes the id of an approval.
 */
export function awaitTeam(turn: Omit<SuspendedTurn, "expiresAtMs" | "isSettled">, newId: () => string, nowMs: number): SuspendedTurn {
  const last = turn.rounds.at(-1)!;
  const approvals = last.calls.flatMap(({ outcome }, at) => (isFor(outcome, "team") ? [{ id: newId(), at }] : []));
  const calls = last.calls.map((one) =>
    isFor(one.outcome, "caller") ? { ...one, outcome: { kind: "note" as const, text: NOT_RUN } } : one,
  );
  const rounds = [...turn.rounds.slice(0, -1), { ...last, calls }];
  return { ...turn, rounds, approvals, expiresAtMs: nowMs + APPROVAL_LIFETIME_MS, isSettled: false };
}

/** Whether a round waits for the team. */
export function needsTeam({ calls }: ToolRound): boolean {
  return calls.some(({ outcome }) => isFor(outcome, "team"));
}

function isFor(outcome: CalledTool["outcome"], from: "caller" | "team"): boolean {
  return outcome?.kind === "awaited" && outcome.from === from;
}

/** Whether a turn still waits for its caller. */
export function waitsForCaller({ approvals, isSettled, expiresAtMs }: SuspendedTurn, nowMs: number): boolean {
  return !approvals && !isSettled && nowMs < expiresAtMs;
}

/** Whether the team has decided about the calls of a turn, so that it goes on. */
export function isDecided({ approvals, isSettled }: SuspendedTurn): boolean {
  return approvals !== undefined && isSettled;
}

/** Whether a turn that no longer waits lacks its results, or a decision about one of its calls. */
export function isExpired({ approvals, isSettled }: SuspendedTurn): boolean {
  return approvals ? approvals.some(({ decision }) => decision?.status === "expired") : !isSettled;
}

/** Returns the calls of a turn that the team has to approve, with their arguments. */
export function callsToApprove({
  rounds,
  approvals = [],
}: SuspendedTurn): (RequestedApproval & { tool: string; input: Record<string, unknown> })[] {
  return approvals.map((approval) => {
    const { call } = rounds.at(-1)!.calls[approval.at]!;
    return { ...approval, tool: call.name, input: argumentsOf(call) };
  });
}

/** Returns the arguments of a call, which are JSON: other calls are not made. */
function argumentsOf({ input }: ToolCall): Record<string, unknown> {
  return input.trim() === "" ? {} : (JSON.parse(input) as Record<string, unknown>);
}

/** The turn has no calls with the ids of the results at these positions. */
export interface UnknownCalls {
  outcome: "unknown_calls";
  positions: number[];
}

/** Returns the positions of the results that belong to no call of the turn; undefined if there are none. */
export function unknownCalls(results: readonly ToolResult[], isCall: (id: string) => boolean): UnknownCalls | undefined {
  const positions = results.flatMap(({ tool_call_id: id }, at) => (isCall(id) ? [] : [at]));
  return positions.length > 0 ? { outcome: "unknown_calls", positions } : undefined;
}

/** The outcome of sending results to a turn. */
export type Settlement =
  | { outcome: "settled"; question: Question }
  /** No turn waits for results: it is finished, or there is none. */
  | { outcome: "not_waiting" }
  | UnknownCalls
  /** The results of these calls are missing. */
  | { outcome: "missing_calls"; ids: string[] };

const PREFIX = "suspended:";

/** The suspended turns of a conversation, in the storage of its object. At most one waits for its caller, because the next question ends it or is refused. */
export class SuspendedTurns {
  constructor(private readonly kv: SyncKvStorage) {}

  put(turn: SuspendedTurn): void {
    this.kv.put(PREFIX + turn.question.answerId, turn);
  }

  find(answerId: string): SuspendedTurn | undefined {
    return this.kv.get<SuspendedTurn>(PREFIX + answerId);
  }

  delete(answerId: string): void {
    this.kv.delete(PREFIX + answerId);
  }

  list(): SuspendedTurn[] {
    return [...this.kv.list<SuspendedTurn>({ prefix: PREFIX })].map(([, turn]) => turn);
  }

  /** When the next turn expires, in Unix milliseconds; undefined if none waits. */
  get nextExpiryMs(): number | undefined {
    const expiries = this.list().map(({ expiresAtMs }) => expiresAtMs);
    return expiries.length > 0 ? Math.min(...expiries) : undefined;
  }

  /**
   * Fills in the results of all calls that a turn waits for. Results that were sent before are ignored.
   * @param runsIn where the results come from.
   */
  settle(answerId: string, results: readonly ToolResult[], runsIn: ClientSurface): Settlement {
    const turn = this.find(answerId);
    if (!turn || turn.approvals || turn.question.clientTools?.runsIn !== runsIn) return { outcome: "not_waiting" };
    const unknown = unknownCalls(results, (id) => isCallOf(turn, id));
    if (unknown) return unknown;
    const settled = { outcome: "settled", question: turn.question } as const;
    if (!waitsForCaller(turn, Date.now())) return settled;
    const calls = awaitedCalls(turn);
    // Results of an earlier round get the calls for which the turn waits now.
    if (!results.some(({ tool_call_id: id }) => calls.some((call) => call.id === id))) return settled;
    const resultOf = ({ id }: { id: string }) => results.find(({ tool_call_id: given }) => given === id);
    const missing = calls.filter((call) => !resultOf(call));
    if (missing.length > 0) return { outcome: "missing_calls", ids: missing.map(({ id }) => id) };
    this.put(withOutcomes(turn, (call) => outcomeOf(resultOf(call)!)));
    return settled;
  }

  /**
   * Notes a decision about a call; the first one counts. Once all calls of the turn are decided, it goes on as another question.
   * @returns undefined if no such call waits.
   */
  decide(answerId: string, approvalId: string, given: Decision): { decision: Decision; question?: Question } | undefined {
    const turn = this.find(answerId);
    const approval = turn?.approvals?.find(({ id }) => id === approvalId);
    if (!turn || !approval || turn.isSettled) return undefined;
    if (approval.decision) return { decision: approval.decision };
    approval.decision = given;
    if (turn.approvals!.every(({ decision }) => decision)) return { decision: given, question: this.goOn(turn) };
    this.put(turn);
    return { decision: given };
  }

  /** Ends the wait of a turn for the team, and returns the question as which it goes on. */
  expire(turn: SuspendedTurn): Question {
    const expired: Decision = { status: "expired", arguments: null, reason: null, by: null, atMs: Date.now() };
    for (const approval of turn.approvals!) approval.decision ??= expired;
    return this.goOn(turn);
  }

  /**
   * The answer that follows the decisions is another message than the one that said that a colleague is asked. Its caller is gone, so that
   * nobody would run the caller's tools.
   */
  private goOn(turn: SuspendedTurn): Question {
    const nowMs = Date.now();
    const { clientTools: _clientTools, ...asked } = turn.question;
    const question = { ...asked, isNew: false, answerId: newId(shardOf(turn.question.workspaceId), nowMs), nowMs };
    this.delete(turn.question.answerId);
    const rounds = turn.rounds.map((round) => ({ ...round, isRead: true }));
    // The calls of the answer before it are in its rounds, and its journal is closed.
    this.put({ ...turn, question, rounds, journaled: [], isSettled: true });
    return question;
  }

  /** Ends the wait of a turn whose results have not come. */
  fail(turn: SuspendedTurn): void {
    this.put(withOutcomes(turn, () => ({ kind: "failed", note: "No result came back. The tool may have run.", text: "" })));
  }
}

/** Returns the answer of a turn that waits for results. */
export function suspendedAnswer(turn: SuspendedTurn): ChatAnswer {
  const { question, status, expiresAtMs } = turn;
  return {
    answer: null,
    citations: [],
    confidence: 0,
    needs_human: false,
    conversation_id: question.conversationId,
    message_id: question.answerId,
    status,
    handoff_reason: null,
    required_action: {
      expires_at: new Date(expiresAtMs).toISOString(),
      tool_calls: awaitedCalls(turn).map(({ id, called: { call } }) => ({
        id,
        name: call.name,
        arguments: argumentsOf(call),
      })),
    },
  };
}

/** A tool call that a turn waits for, under the id that the caller knows. */
interface AwaitedCall {
  id: string;
  called: CalledTool;
}

function awaitedCalls({ question, rounds }: SuspendedTurn): AwaitedCall[] {
  return rounds.at(-1)!.calls.flatMap((called, at) => {
    return isFor(called.outcome, "caller") ? [{ id: callId(question, rounds.length, at), called }] : [];
  });
}

/** Whether an id is that of a call of any round of the turn. */
function isCallOf({ question, rounds }: SuspendedTurn, id: string): boolean {
  return rounds.some(({ calls }, round) => calls.some((_, at) => callId(question, round + 1, at) === id));
}

function withOutcomes(turn: SuspendedTurn, outcomeOf: (call: AwaitedCall) => CalledTool["outcome"]): SuspendedTurn {
  const awaited = awaitedCalls(turn);
  const calls = turn.rounds.at(-1)!.calls.map((called) => {
    const call = awaited.find((one) => one.called === called);
    return call ? { ...called, outcome: outcomeOf(call) } : called;
  });
  return { ...turn, rounds: [...turn.rounds.slice(0, -1), { ...turn.rounds.at(-1)!, calls }], isSettled: true };
}

function outcomeOf({ content, error }: ToolResult): CalledTool["outcome"] {
  return content === undefined ? { kind: "failed", note: "The tool failed.", text: error ?? "" } : { kind: "data", text: content };
}

const UUID_BYTES = 16;
const CALL_ID = /^call_([\w-]{43})_\d+_\d+$/;

/**
 * Returns the id of a call. It contains the ids of its conversation and answer, because OpenAI's clients send results with nothing else.
 * @param round counts from 1.
 * @param at the position in the round, from 0.
 */
export function callId({ conversationId, answerId }: Pick<Question, "conversationId" | "answerId">, round: number, at: number): string {
  const bytes = new Uint8Array([...parseUuid(conversationId), ...parseUuid(answerId)]);
  return `call_${BASE64URL.encode(bytes)}_${round}_${at + 1}`;
}

/** Returns the conversation and the answer of a tool call; undefined if it is not the id of a call. */
export function turnOfCall(id: string): { conversationId: string; answerId: string } | undefined {
  const [, encoded] = CALL_ID.exec(id) ?? [];
  if (encoded === undefined) return undefined;
  const bytes = BASE64URL.decode(encoded);
  return { conversationId: formatUuid(bytes.subarray(0, UUID_BYTES)), answerId: formatUuid(bytes.subarray(UUID_BYTES)) };
}
