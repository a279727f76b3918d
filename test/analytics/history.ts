import { env } from "cloudflare:workers";
import { HANDOFF_REASONS } from "../../src/platform/db/columns.ts";
import { beginTurn, finishTurn } from "../../src/chat/store.ts";
import { changeConversation, resolveIdleWrites, replyAsHuman } from "../../src/conversations/conversations.ts";
import { isAgentSilent, SETTABLE_STATUSES } from "../../src/conversations/status.ts";
import { newOperation } from "../../src/platform/db/client.ts";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { questionOf } from "../chat/question.ts";
import { query } from "../harness.ts";

export const DAY_MS = 86_400_000;

/** A conversation's status changed. */
export interface Transition {
  conversationId: string;
  atMs: number;
  from: string;
  to: string;
}

/** Something that happens at a time. */
interface Step {
  atMs: number;
  run: () => Promise<unknown>;
}

export type Random = () => number;

/** The generator mulberry32: the same numbers for the same seed. */
export function seeded(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function pick<Item>(random: Random, items: readonly Item[]): Item {
  return items[Math.floor(random() * items.length)]!;
}

const CHANNELS = ["widget", "hosted", "email", "api", "playground"] as const;
const QUESTIONS = ["What is the capital of France", "Öffnungszeiten am Sonntag", "Do you ship to Mars", "¿Dónde está mi pedido", "???"];
/** The times between two events of a conversation. Some of them are at the limits of what is counted. */
const GAPS_MS = [1, 900, 40_000, 3_600_000, 20 * 3_600_000, 2 * DAY_MS, 7 * DAY_MS - 1, 7 * DAY_MS, 7 * DAY_MS + 1, 12 * DAY_MS];

/** The number of steps between two checks of the current state. */
const STEPS_BETWEEN = 25;

/** The same question with different case and punctuation. */
function wordingOf(random: Random, question: string): string {
  return pick(random, [question, `${question}?`, `  ${question.toUpperCase()} !!`, question.toLowerCase()]);
}

/** Plays random histories through the service's own writes, in the order of their times. */
export class Histories {
  readonly transitions: Transition[] = [];
  private readonly db;

  constructor(
    private readonly workspaceId: string,
    private readonly agents: string[],
    private readonly random: Random,
  ) {
    this.db = newOperation(env, new Meter(), workspaceId).db;
  }

  /** @param meanwhile runs now and then between two steps. */
  async play(conversations: number, fromMs: number, toMs: number, meanwhile: () => Promise<unknown>): Promise<void> {
    const steps: Step[] = [];
    for (let at = 0; at < conversations; at++) steps.push(...this.conversation(fromMs, toMs));
    for (let at = 0; at < conversations / 4; at++) steps.push(this.lead(fromMs + Math.floor(this.random() * (toMs - fromMs))));
    for (const [at, { run }] of steps.toSorted((a, b) => a.atMs - b.atMs).entries()) {
      await run();
      if (at % STEPS_BETWEEN === 0) await meanwhile();
    }
  }

  private conversation(fromMs: number, toMs: number): Step[] {
    const { random } = this;
    const id = newId(shardOf(this.workspaceId), Date.now());
    const agentId = pick(random, this.agents);
    const channel = pick(random, CHANNELS);
    const steps: Step[] = [];
    let atMs = fromMs + Math.floor(random() * (toMs - fromMs));
    // Some begin in the first or the last millisecond of a day.
    if (random() < 0.2) atMs = Math.max(fromMs, Math.floor(atMs / DAY_MS) * DAY_MS - Math.floor(random() * 2));
    const length = 1 + Math.floor(random() * 9);
    for (let at = 0; at < length && atMs < toMs; at++) {
      const parts = at === 0 || random() < 0.4 ? this.turn(id, agentId, channel, atMs, at === 0) : [this.change(id, atMs)];
      steps.push(...parts.map((part) => ({ ...part, run: () => this.watch(id, part.atMs, part.run) })));
      atMs += pick(random, GAPS_MS);
    }
    return steps;
  }

  /** An action of the team, the cron or the visitor other than a message. */
  private change(conversationId: string, nowMs: number): Step {
    const { random, workspaceId, db } = this;
    const op = { ...newOperation(env, new Meter(), workspaceId, nowMs), conversationId };
    const kind = random();
    const [resolve, score] = [random() < 0.5, pick(random, [1, 2, 3, 4, 5, null])];
    const status = random() < 0.6 ? ("resolved" as const) : pick(random, SETTABLE_STATUSES);
    const run = async (): Promise<unknown> => {
      if (kind < 0.15) return replyAsHuman(op, { content: "A human's words.", author: null, resolve, perDay: 1_000, maxMessages: 1_000 });
      if (kind < 0.6) return changeConversation(op, { by: "api", status });
      if (kind < 0.8) return query(workspaceId, "UPDATE conversations SET csat_score = ? WHERE id = ?", score, conversationId);
      const [first, ...rest] = resolveIdleWrites(db, op, nowMs);
      return db.batch([first!, ...rest]);
    };
    return { atMs: nowMs, run };
  }

  /** A question and, some time later, its answer. Some turns die and run again. */
  private turn(conversationId: string, agentId: string, channel: (typeof CHANNELS)[number], nowMs: number, isNew: boolean): Step[] {
    const { random, workspaceId, db } = this;
    const message = wordingOf(random, pick(random, QUESTIONS));
    const limits = { quota: { period: "2026-01", limit: 1e9 }, maxMessages: 1_000_000 };
    const question = questionOf(workspaceId, agentId, { ...limits, conversationId, isNew, channel, message, nowMs });
    const reason = random() < 0.6 ? null : pick(random, ["missing_knowledge", ...HANDOFF_REASONS] as const);
    const handoff = reason && { reason, summary: message, isOff: false, opensAtMs: null, routingText: { texts: [], language: "en" } };
    const answeredMs = nowMs + pick(random, [0, 1, 7, 340, 1_900, 4_321]);
    const outcome = { text: "An answer.", citations: [], confidence: 0.9, handoff, agentName: "Agent", agentVersion: 1, nowMs: answeredMs };
    const [begins, ends] = [random() < 0.3 ? 2 : 1, random() < 0.3 ? 2 : 1];
    let isSilent = false;
    const begin = async () => {
      for (let run = 0; run < begins; run++) {
        const { conversation } = await beginTurn(db, question);
        isSilent ||= conversation !== undefined && isAgentSilent(conversation.status, conversation.pendingReason);
      }
    };
    const end = async () => {
      for (let run = 0; run < ends && !isSilent; run++) await finishTurn(db, question, outcome);
    };
    return [
      { atMs: nowMs, run: begin },
      { atMs: answeredMs, run: end },
    ];
  }

  private lead(atMs: number): Step {
    const row = [newId(shardOf(this.workspaceId), Date.now()), this.workspaceId, pick(this.random, this.agents), atMs];
    const insert = "INSERT INTO leads (id, workspace_id, agent_id, email, created_at) VALUES (?1, ?2, ?3, 'a@b.test', ?4)";
    return { atMs, run: () => query(this.workspaceId, insert, ...row) };
  }

  /** Records a change of the status, since the rows keep only the last one. */
  private async watch(conversationId: string, atMs: number, run: () => Promise<unknown>): Promise<void> {
    const read = () => query<{ status: string }>(this.workspaceId, "SELECT status FROM conversations WHERE id = ?", conversationId);
    const [before] = await read();
    await run();
    const [after] = await read();
    const from = before?.status ?? after!.status;
    if (after!.status !== from) this.transitions.push({ conversationId, atMs, from, to: after!.status });
  }
}
