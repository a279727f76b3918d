import { DurableObject } from "cloudflare:workers";

/*
 * What the platform alone can do: the hops, the D1 batches and the tables (our own migrations) of the service's
 * operations, without framework, validation, key check or query builder. The bench divides by it.
 */

interface FloorEnv {
  DB: D1Database;
  GATE: DurableObjectNamespace<FloorGate>;
  INDEX: DurableObjectNamespace<FloorIndex>;
  SESSION: DurableObjectNamespace<FloorSession>;
  /** Where a turn with a model asks it; given by the bench of streams. */
  MODEL_URL?: string;
  MODEL?: string;
}

interface Admitted {
  workspaceId: string;
  plan: string;
  scopes: string[];
  remaining: number;
  resetAtMs: number;
}

interface ModelChunk {
  choices: { delta: { content?: string } }[];
}

interface Passage {
  title: string;
  content: string;
  score: number;
}

/**
 * One line a request, as the service writes. A console.log costs some 50 µs here whatever it says, for Miniflare reads it
 * through a pipe; without it in the floor too, the bench would measure that pipe and not the service.
 */
const LOG_LINE = JSON.stringify({ event: "request", operation: "floor", status: 200 });

/** Ids of the rows that `POST /seed` makes. */
const WORKSPACE = "019a0000-0000-7000-8000-000000000000";
const AGENT = "019a0000-0000-7000-8000-000000000100";
const CONVERSATION = "019a0000-0000-7000-8000-000000000200";
const MESSAGE = "019a0000-0000-7000-8000-000000000300";

const AGENTS_SEEDED = 20;
const MESSAGES_SEEDED = 6;
const PASSAGES = 3;

const LIST_AGENTS = "SELECT * FROM agents WHERE workspace_id = ? ORDER BY id LIMIT 20";
const FIND_WORKSPACE = "SELECT * FROM workspaces WHERE id = ?";
const FIND_AGENT = "SELECT * FROM agents WHERE workspace_id = ? AND id = ?";
const LIST_SOURCES = "SELECT * FROM sources WHERE workspace_id = ? AND agent_id = ? ORDER BY id";
const FIND_USAGE = "SELECT messages FROM usage_periods WHERE workspace_id = ? AND period = ?";
const FIND_CONVERSATION = "SELECT * FROM conversations WHERE workspace_id = ? AND id = ?";
const LIST_MESSAGES = "SELECT * FROM messages WHERE workspace_id = ? AND conversation_id = ? ORDER BY id";
const INSERT_WORKSPACE =
  "INSERT INTO workspaces (id, name, slug, plan, created_at, updated_at) VALUES (?, 'Floor', 'floor', 'enterprise', 0, 0)";
const INSERT_AGENT = `INSERT INTO agents (id, workspace_id, name, slug, status, language, welcome_message, handoff_message,
  confidence_threshold, inactivity_minutes, created_at, updated_at) VALUES (?1, ?2, 'Agent', ?1, 'active', 'en', 'Hello! How can I help?',
  'I will pass you on to a colleague.', 0.5, 1440, 0, 0)`;
const INSERT_SOURCE = `INSERT INTO sources (id, workspace_id, agent_id, type, name, status, schedule, max_pages, created_at, updated_at)
  VALUES (?, ?, ?, 'text', 'Handbook', 'ready', 'manual', 100, 0, 0)`;
const INSERT_CONVERSATION = `INSERT INTO conversations (id, workspace_id, agent_id, channel, status, last_message_at, created_at, updated_at)
  VALUES (?1, ?2, ?3, 'api', 'open', ?4, ?4, ?4)`;
/** With its first message, which the triggers then leave out. */
const BEGIN_CONVERSATION = `INSERT INTO conversations (id, workspace_id, agent_id, channel, status, message_count, last_message_preview,
  last_message_at, latest_message_id, idle_at, created_at, updated_at) VALUES (?1, ?2, ?3, 'api', 'open', 1, ?4, ?5, ?6, ?5, ?5, ?5)`;
const INSERT_MESSAGE = `INSERT INTO messages (id, workspace_id, conversation_id, role, author_type, content, quota_period, created_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
const RECORD_ANSWER = `UPDATE conversations SET status = 'ai_handled', message_count = message_count + 1, last_message_preview = ?2,
  last_message_at = ?3, latest_message_id = ?4, idle_at = ?3, updated_at = ?3, first_ai_reply_at = coalesce(first_ai_reply_at, ?3) WHERE id = ?1`;
const SET_FEEDBACK = `INSERT INTO message_feedback (id, workspace_id, agent_id, conversation_id, message_id, author, rating, created_at, updated_at)
  VALUES (?1, ?2, ?3, ?4, ?5, 'floor', ?6, ?7, ?7)
  ON CONFLICT (workspace_id, conversation_id, message_id, author) DO UPDATE SET rating = excluded.rating, updated_at = excluded.updated_at
  RETURNING *`;
const INSERT_NOTE = `INSERT INTO notes (id, workspace_id, conversation_id, content, created_at) VALUES (?1, ?2, ?3, ?4, ?5) RETURNING *`;
const COUNT_NOTE = `INSERT INTO visitor_counts (workspace_id, flow, starts_at, sender, count) VALUES (?, 'team_messages', 0, '', 1)
  ON CONFLICT DO UPDATE SET count = count + 1`;
const RAISE_CONVERSATION = "UPDATE conversations SET updated_at = ?2 WHERE id = ?1";
const ASSIGN_CONVERSATION = "UPDATE conversations SET assignee_id = ?2, assignee_name = ?3, updated_at = ?4 WHERE id = ?1";
const LIST_UNANSWERED = "SELECT * FROM unanswered_questions WHERE workspace_id = ? AND agent_id = ? ORDER BY asked DESC LIMIT 200";
const LIST_RATED_DOWN = `SELECT * FROM message_feedback WHERE workspace_id = ? AND agent_id = ? AND rating = 'down' AND created_at >= 0
  ORDER BY created_at DESC LIMIT 200`;
const LIST_CURATED = "SELECT question, updated_at FROM answers WHERE workspace_id = ? AND agent_id = ? ORDER BY id DESC LIMIT 200";
const LIST_CHANGED =
  "SELECT * FROM conversations WHERE workspace_id = ? AND status = 'open' AND updated_at >= ? ORDER BY updated_at LIMIT 500";
const COUNT_CHANGED = "SELECT count(*), sum(updated_at) FROM conversations WHERE workspace_id = ? AND status = 'open' AND updated_at >= ?";
const LIST_VISITORS = "SELECT * FROM visitors WHERE id IN (SELECT visitor_id FROM conversations WHERE id = ?)";
const LIST_HANDOFFS = "SELECT * FROM handoffs WHERE workspace_id = ? AND conversation_id = ?";
const FIND_CONTENT = "SELECT id, content FROM messages WHERE id = ?";
const FIND_NOTE_CONTENT = "SELECT id, content FROM notes WHERE id = ?";
const INSERT_ANSWER = `INSERT INTO answers (id, workspace_id, agent_id, question, answer, created_at, updated_at)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)`;
const TEXT =
  "The floor answers with a sentence of about the length that a real answer has, so that rows and responses weigh the same. ".repeat(2);

/** Admits: one hop, from memory. */
export class FloorGate extends DurableObject<FloorEnv> {
  private accepted = 0;

  admit(): Admitted {
    this.accepted++;
    const scopes = ["agents:read", "chat:write", "conversations:read", "knowledge:read", "knowledge:write"];
    return { workspaceId: WORKSPACE, plan: "enterprise", scopes, remaining: 1e9 - this.accepted, resetAtMs: Date.now() + 60_000 };
  }
}

/** Searches: one full-text query over its own SQLite, as large as the service's seeded source. */
export class FloorIndex extends DurableObject<FloorEnv> {
  constructor(ctx: DurableObjectState, env: FloorEnv) {
    super(ctx, env);
    const { sql } = ctx.storage;
    sql.exec("CREATE VIRTUAL TABLE IF NOT EXISTS chunks USING fts5(title, content, tokenize = 'porter unicode61')");
    sql.exec("CREATE TABLE IF NOT EXISTS answers (id TEXT PRIMARY KEY, question TEXT, answer TEXT)");
    if (sql.exec<{ chunks: number }>("SELECT count(*) AS chunks FROM chunks").one().chunks > 0) return;
    for (let chunk = 0; chunk < PASSAGES; chunk++) sql.exec("INSERT INTO chunks VALUES (?, ?)", `Part ${chunk}`, TEXT.repeat(5));
  }

  search(query: string): Passage[] {
    const sql = "SELECT title, content, -rank AS score FROM chunks WHERE chunks MATCH ? ORDER BY rank LIMIT 8";
    return this.ctx.storage.sql.exec<{ title: string; content: string; score: number }>(sql, query).toArray();
  }

  /** Finds ids, after reading what has changed in D1. */
  async searchConversations(query: string): Promise<{ id: number }[]> {
    const { DB: db } = this.env;
    await db.batch([LIST_CHANGED, COUNT_CHANGED].map((sql) => db.prepare(sql).bind(WORKSPACE, Date.now() - 60_000)));
    return this.ctx.storage.sql.exec<{ id: number }>("SELECT rowid AS id FROM chunks WHERE chunks MATCH ? LIMIT 20", query).toArray();
  }

  putAnswer(id: string, question: string, answer: string): void {
    this.ctx.storage.sql.exec("INSERT INTO answers VALUES (?, ?, ?)", id, question, answer);
  }
}

/** Answers one question: its own storage, the index beside the first batch, then the second batch. */
export class FloorSession extends DurableObject<FloorEnv> {
  findTurn(): Promise<{ message: string } | undefined> {
    return this.ctx.storage.get("turn");
  }

  keepTurn(message: string): Promise<void> {
    return this.ctx.storage.put("turn", { message });
  }

  async ask(message: string, isModelAsked = false): Promise<{ answer: string; conversation_id: string; message_id: string }> {
    const [conversationId, questionId, answerId] = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()];
    const { DB: db, INDEX: index } = this.env;
    const nowMs = Date.now();
    const period = new Date(nowMs).toISOString().slice(0, 7);
    await this.ctx.storage.put("turn", { conversationId, questionId, answerId, message });
    const [passages] = await Promise.all([
      index.getByName(AGENT).search("sentence OR length"),
      db.batch([
        db.prepare(FIND_AGENT).bind(WORKSPACE, AGENT),
        db.prepare(FIND_CONVERSATION).bind(WORKSPACE, conversationId),
        db.prepare(BEGIN_CONVERSATION).bind(conversationId, WORKSPACE, AGENT, message, nowMs, questionId),
        db.prepare(INSERT_MESSAGE).bind(questionId, WORKSPACE, conversationId, "user", "visitor", message, period, nowMs),
      ]),
    ]);
    const answer = isModelAsked ? await this.askModel(message) : (passages[0]?.content.slice(0, 200) ?? "");
    await db.batch([
      db.prepare(RECORD_ANSWER).bind(conversationId, answer, nowMs + 1, answerId),
      db.prepare(INSERT_MESSAGE).bind(answerId, WORKSPACE, conversationId, "assistant", "agent", answer, null, nowMs + 1),
      db.prepare(FIND_CONVERSATION).bind(WORKSPACE, conversationId),
    ]);
    return { answer, conversation_id: conversationId, message_id: answerId };
  }

  /** Reads the model's stream to its end, with as little done to it as makes a text of it. */
  private async askModel(message: string): Promise<string> {
    const body = JSON.stringify({ model: this.env.MODEL, stream: true, messages: [{ role: "user", content: message }] });
    const response = await fetch(this.env.MODEL_URL!, { method: "POST", body });
    const lines = (await response.text()).split("\n\n").filter((line) => line.startsWith("data: {"));
    return lines.map((line) => (JSON.parse(line.slice(6)) as ModelChunk).choices[0]?.delta.content ?? "").join("");
  }
}

type Handler = (env: FloorEnv, request: Request) => Promise<unknown>;

function reads(statements: (db: D1Database) => D1PreparedStatement[]): Handler {
  return async (env) => {
    await env.GATE.getByName(WORKSPACE).admit();
    const [first, ...more] = await env.DB.batch(statements(env.DB));
    return { data: first?.results, more: more.map(({ results }) => results) };
  };
}

function writes(statements: (db: D1Database, body: Record<string, string>, id: string) => D1PreparedStatement[]): Handler {
  return async (env, request) => {
    const [body] = await Promise.all([request.json<Record<string, string>>(), env.GATE.getByName(WORKSPACE).admit()]);
    const results = await env.DB.batch(statements(env.DB, body, crypto.randomUUID()));
    return results.find(({ results }) => results.length > 0)?.results[0];
  };
}

const ROUTES: Record<string, Handler> = {
  "/rpc": (env) => env.GATE.getByName(WORKSPACE).admit(),
  "/rpc-read/agents": reads((db) => [db.prepare(LIST_AGENTS).bind(WORKSPACE), db.prepare(FIND_WORKSPACE).bind(WORKSPACE)]),
  "/rpc-read/agent": reads((db) => [db.prepare(FIND_AGENT).bind(WORKSPACE, AGENT)]),
  "/rpc-read/usage": reads((db) => [db.prepare(FIND_WORKSPACE).bind(WORKSPACE), db.prepare(FIND_USAGE).bind(WORKSPACE, "2026-11")]),
  "/rpc-read/sources": reads((db) => [db.prepare(FIND_AGENT).bind(WORKSPACE, AGENT), db.prepare(LIST_SOURCES).bind(WORKSPACE, AGENT)]),
  "/rpc-read/conversation": reads((db) => [
    db.prepare(FIND_CONVERSATION).bind(WORKSPACE, CONVERSATION),
    db.prepare(LIST_MESSAGES).bind(WORKSPACE, CONVERSATION),
  ]),
  "/rpc-read/gaps": reads((db) => [
    db.prepare(FIND_AGENT).bind(WORKSPACE, AGENT),
    db.prepare(LIST_UNANSWERED).bind(WORKSPACE, AGENT),
    db.prepare(LIST_RATED_DOWN).bind(WORKSPACE, AGENT),
    db.prepare(LIST_CURATED).bind(WORKSPACE, AGENT),
  ]),
  "/rpc-index-read": async (env) => {
    await env.GATE.getByName(WORKSPACE).admit();
    const hits = await env.INDEX.getByName(AGENT).searchConversations("sentence OR length");
    const { DB: db } = env;
    const found = await db.batch([
      db.prepare(FIND_CONVERSATION).bind(WORKSPACE, CONVERSATION),
      db.prepare(LIST_VISITORS).bind(CONVERSATION),
      db.prepare(LIST_HANDOFFS).bind(WORKSPACE, CONVERSATION),
      db.prepare(FIND_CONTENT).bind(MESSAGE),
      db.prepare(FIND_NOTE_CONTENT).bind(MESSAGE),
    ]);
    return { data: found.map(({ results }) => results), hits };
  },
  "/rpc-read-search": async (env) => {
    await env.GATE.getByName(WORKSPACE).admit();
    const [passages] = await Promise.all([
      env.INDEX.getByName(AGENT).search("sentence OR length"),
      env.DB.batch([env.DB.prepare(FIND_AGENT).bind(WORKSPACE, AGENT)]),
    ]);
    return { data: passages };
  },
  "/rpc-write-rpc": async (env, request) => {
    const [body] = await Promise.all([request.json<{ question: string; answer: string }>(), env.GATE.getByName(WORKSPACE).admit()]);
    const id = crypto.randomUUID();
    await env.DB.batch([env.DB.prepare(INSERT_ANSWER).bind(id, WORKSPACE, AGENT, body.question, body.answer, Date.now())]);
    await env.INDEX.getByName(AGENT).putAnswer(id, body.question, body.answer);
    return { id, ...body };
  },
  "/rpc-write/rating": writes((db, { rating }, id) => [
    db.prepare(SET_FEEDBACK).bind(id, WORKSPACE, AGENT, CONVERSATION, MESSAGE, rating, Date.now()),
  ]),
  "/rpc-write/note": writes((db, { content }, id) => [
    db.prepare(INSERT_NOTE).bind(id, WORKSPACE, CONVERSATION, content, Date.now()),
    db.prepare(COUNT_NOTE).bind(WORKSPACE),
    db.prepare(RAISE_CONVERSATION).bind(CONVERSATION, Date.now()),
  ]),
  "/rpc-write/assignee": writes((db) => [
    db.prepare(ASSIGN_CONVERSATION).bind(CONVERSATION, "grace", "Grace Hopper", Date.now()),
    db.prepare(FIND_CONVERSATION).bind(WORKSPACE, CONVERSATION),
  ]),
  "/rpc-read-session": async (env) => {
    await env.GATE.getByName(WORKSPACE).admit();
    const [turn, found] = await Promise.all([
      env.SESSION.getByName(CONVERSATION).findTurn(),
      env.DB.batch([env.DB.prepare(FIND_CONVERSATION).bind(WORKSPACE, CONVERSATION)]),
    ]);
    return { turn, data: found[0]?.results };
  },
  "/ask": async (env, request) => {
    const [{ message }] = await Promise.all([request.json<{ message: string }>(), env.GATE.getByName(WORKSPACE).admit()]);
    return env.SESSION.getByName(crypto.randomUUID()).ask(message);
  },
  "/ask-completion": async (env, request) => {
    const [{ messages }] = await Promise.all([request.json<{ messages: [{ content: string }] }>(), env.GATE.getByName(WORKSPACE).admit()]);
    return env.SESSION.getByName(crypto.randomUUID()).ask(messages[0].content);
  },
  "/ask-model": async (env, request) => {
    const [{ message }] = await Promise.all([request.json<{ message: string }>(), env.GATE.getByName(WORKSPACE).admit()]);
    return env.SESSION.getByName(crypto.randomUUID()).ask(message, true);
  },
  "/seed": async ({ DB: db, SESSION }) => {
    await SESSION.getByName(CONVERSATION).keepTurn(TEXT.repeat(12));
    await db.batch([
      db.prepare(INSERT_WORKSPACE).bind(WORKSPACE),
      ...Array.from({ length: AGENTS_SEEDED }, (_, at) => db.prepare(INSERT_AGENT).bind(at === 0 ? AGENT : crypto.randomUUID(), WORKSPACE)),
      db.prepare(INSERT_SOURCE).bind(crypto.randomUUID(), WORKSPACE, AGENT),
      db.prepare(INSERT_CONVERSATION).bind(CONVERSATION, WORKSPACE, AGENT, 0),
      ...Array.from({ length: MESSAGES_SEEDED }, (_, at) =>
        db
          .prepare(INSERT_MESSAGE)
          .bind(
            at === 1 ? MESSAGE : crypto.randomUUID(),
            WORKSPACE,
            CONVERSATION,
            at % 2 ? "assistant" : "user",
            "visitor",
            TEXT,
            null,
            at,
          ),
      ),
    ]);
    return { seeded: true };
  },
};

export default {
  async fetch(request, env) {
    const handler = ROUTES[new URL(request.url).pathname];
    if (!handler) return new Response(null, { status: 404 });
    const response = Response.json(await handler(env, request));
    console.log(LOG_LINE);
    return response;
  },
} satisfies ExportedHandler<FloorEnv>;
