import type { ClientSurface, ConversationStatus } from "../platform/db/columns.ts";
import type { CalledTool, ToolRound } from "../models/model.ts";
import { formatUuid, parseUuid } from "../platform/db/ids.ts";
import { HOUR_MS } from "../platform/time.ts";
import type { Question } from "./question.ts";
import type { Search } from "./trace.ts";
import type { ChatAnswer, ToolResult } from "./wire.ts";

/** A turn that waits for the results of tools that its caller runs. It is plain data, which the session stores. */
export interface SuspendedTurn {
  question: Question;
  /** The visitor who asks; null if nobody is named. */
  visitorId: string | null;
  /** The status of the conversation while the turn waits. */
  status: ConversationStatus;
  search: Search;
  /** The rounds so far. The calls that are waited for are in the last one. */
  rounds: ToolRound[];
  /** The keys of the calls in the journal that the rounds contain. */
  journaled: string[];
  expiresAtMs: number;
  /** Whether the results are filled in, so that the turn can go on. */
  isSettled: boolean;
}

/** How long a program has for its tools. A visitor's page runs them at once. */
const LIFETIME_MS = { server: HOUR_MS, browser: 60_000 };

/** Returns when a turn that is suspended now expires, in Unix milliseconds. */
export function expiryOf({ clientTools }: Question, nowMs: number): number {
  return nowMs + LIFETIME_MS[clientTools?.runsIn ?? "server"];
}

/** Whether a turn still waits for results. */
export function isWaiting({ isSettled, expiresAtMs }: SuspendedTurn, nowMs: number): boolean {
  return !isSettled && nowMs < expiresAtMs;
}

/** The outcome of sending results to a turn. */
export type Settlement =
  | { outcome: "settled"; question: Question }
  /** No turn waits for results: it is finished, or there is none. */
  | { outcome: "not_waiting" }
  /** The turn has no calls with the ids of these results. */
  | { outcome: "unknown_calls"; positions: number[] }
  /** The results of these calls are missing. */
  | { outcome: "missing_calls"; ids: string[] };

const PREFIX = "suspended:";

/** The suspended turns of a conversation, in the storage of its object. There is at most one, because a turn that waits blocks the next. */
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
   * Fills in the results of all calls that a turn waits for. Results that come again are ignored.
   * @param runsIn where the results come from.
   */
  settle(answerId: string, results: readonly ToolResult[], runsIn: ClientSurface): Settlement {
    const turn = this.find(answerId);
    if (turn?.question.clientTools?.runsIn !== runsIn) return { outcome: "not_waiting" };
    const settled = { outcome: "settled", question: turn.question } as const;
    if (!isWaiting(turn, Date.now())) return settled;
    const calls = awaitedCalls(turn);
    const positions = results.flatMap(({ tool_call_id: id }, at) => (isCallOf(turn, id) ? [] : [at]));
    if (positions.length > 0) return { outcome: "unknown_calls", positions };
    const resultOf = ({ id }: { id: string }) => results.find(({ tool_call_id: given }) => given === id);
    const missing = calls.filter((call) => !resultOf(call));
    if (missing.length > 0) return { outcome: "missing_calls", ids: missing.map(({ id }) => id) };
    this.put(withOutcomes(turn, (call) => outcomeOf(resultOf(call)!)));
    return settled;
  }

  /** Ends the wait of a turn without results, because the visitor's page does not send them. */
  fail(turn: SuspendedTurn): void {
    this.put(withOutcomes(turn, () => ({ kind: "failed", note: "The page of the visitor did not run the tool.", text: "" })));
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
        arguments: call.input.trim() === "" ? {} : (JSON.parse(call.input) as Record<string, unknown>),
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
    return called.outcome?.kind === "awaited" ? [{ id: callId(question, rounds.length, at), called }] : [];
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

/** Returns the id of a call. It contains the ids of its conversation and answer, because OpenAI's clients send results with nothing else. */
function callId({ conversationId, answerId }: Question, round: number, at: number): string {
  const bytes = new Uint8Array([...parseUuid(conversationId), ...parseUuid(answerId)]);
  return `call_${bytes.toBase64({ alphabet: "base64url", omitPadding: true })}_${round}_${at + 1}`;
}

/** Returns the conversation and the answer of a tool call; undefined if it is not the id of a call. */
export function turnOfCall(id: string): { conversationId: string; answerId: string } | undefined {
  const [, encoded] = CALL_ID.exec(id) ?? [];
  if (encoded === undefined) return undefined;
  const bytes = Uint8Array.fromBase64(encoded, { alphabet: "base64url" });
  return { conversationId: formatUuid(bytes.subarray(0, UUID_BYTES)), answerId: formatUuid(bytes.subarray(UUID_BYTES)) };
}
