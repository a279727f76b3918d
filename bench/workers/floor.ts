import { DurableObject } from "cloudflare:workers";

/*
 * What the platform alone can do: the hops, the D1 batches and the tables (our own migrations) of the service's
 * operations, without framework, validation, key check or query builder. The bench divides the service's speed by it.
 */

interface FloorEnv {
  DB: D1Database;
  GATE: DurableObjectNamespace<FloorGate>;
  INDEX: DurableObjectNamespace<FloorIndex>;
  SESSION: DurableObjectNamespace<FloorSession>;
  /** The address of the model, which only the bench of streams sets. */
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
 * One line a request, as the service writes. A console.log costs about 50 µs here whatever it prints, because Miniflare reads
 * it through a pipe; without it in the floor too, the bench would measure that pipe and not the service.
 */
const LOG_LINE = JSON.stringify({ event: "request", operation: "floor", status: 200 });

/** The ids of the rows that `POST /seed` creates. */
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
/** With the counts of its first message, which the triggers then leave out. */
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

type Statement = readonly [sql: string, ...values: unknown[]];

function batch(db: D1Database, statements: readonly Statement[]): Promise<D1Result[]> {
  return db.batch(statements.map(([sql, ...values]) => db.prepare(sql).bind(...values)));
}

/** Admits a request from memory. */
export class FloorGate extends DurableObject<FloorEnv> {
  private accepted = 0;

  admit(): Admitted {
    this.accepted++;
    const scopes = ["agents:read", "chat:write", "conversations:read", "knowledge:read", "knowledge:write"];
    return { workspaceId: WORKSPACE, plan: "enterprise", scopes, remaining: 1e9 - this.accepted, resetAtMs: Date.now() + 60_000 };
  }
}

/** Searches its own SQLite by one full-text query, in as much text as the service's seeded source has. */
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

  /** Reads what has changed in D1, and then finds ids. */
  async searchConversations(query: string): Promise<{ id: number }[]> {
    const sinceMs = Date.now() - 60_000;
    await batch(this.env.DB, [
      [LIST_CHANGED, WORKSPACE, sinceMs],
      [COUNT_CHANGED, WORKSPACE, sinceMs],
    ]);
    return this.ctx.storage.sql.exec<{ id: number }>("SELECT rowid AS id FROM chunks WHERE chunks MATCH ? LIMIT 20", query).toArray();
  }

  putAnswer(id: string, question: string, answer: string): void {
    this.ctx.storage.sql.exec("INSERT INTO answers VALUES (?, ?, ?)", id, question, answer);
  }
}

/** Answers a question: writes its own storage, calls the index beside the first batch, and then sends the second batch. */
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
      batch(db, [
        [FIND_AGENT, WORKSPACE, AGENT],
        [FIND_CONVERSATION, WORKSPACE, conversationId],
        [BEGIN_CONVERSATION, conversationId, WORKSPACE, AGENT, message, nowMs, questionId],
        [INSERT_MESSAGE, questionId, WORKSPACE, conversationId, "user", "visitor", message, period, nowMs],
      ]),
    ]);
    const answer = isModelAsked ? await this.askModel(message) : (passages[0]?.content.slice(0, 200) ?? "");
    await batch(db, [
      [RECORD_ANSWER, conversationId, answer, nowMs + 1, answerId],
      [INSERT_MESSAGE, answerId, WORKSPACE, conversationId, "assistant", "agent", answer, null, nowMs + 1],
      [FIND_CONVERSATION, WORKSPACE, conversationId],
    ]);
    return { answer, conversation_id: conversationId, message_id: answerId };
  }

  /** Reads the model's stream to its end, and returns its text. */
  private async askModel(message: string): Promise<string> {
    const body = JSON.stringify({ model: this.env.MODEL, stream: true, messages: [{ role: "user", content: message }] });
    const response = await fetch(this.env.MODEL_URL!, { method: "POST", body });
    const lines = (await response.text()).split("\n\n").filter((line) => line.startsWith("data: {"));
    return lines.map((line) => (JSON.parse(line.slice(6)) as ModelChunk).choices[0]?.delta.content ?? "").join("");
  }
}

type Body = Record<string, string>;
type Handler = (env: FloorEnv, request: Request) => Promise<unknown>;

/** Asks the gate while it reads the body. */
async function admit({ GATE }: FloorEnv, request: Request): Promise<Body> {
  const [body] = await Promise.all([request.body ? request.json<Body>() : {}, GATE.getByName(WORKSPACE).admit()]);
  return body;
}

/** Reads in one batch. */
function reads(...statements: Statement[]): Handler {
  return async (env, request) => {
    await admit(env, request);
    const [first, ...more] = await batch(env.DB, statements);
    return { data: first?.results, more: more.map(({ results }) => results) };
  };
}

/** Writes in one batch. */
function writes(statements: (body: Body, id: string, nowMs: number) => Statement[]): Handler {
  return async (env, request) => {
    const body = await admit(env, request);
    const results = await batch(env.DB, statements(body, crypto.randomUUID(), Date.now()));
    return results.find(({ results }) => results.length > 0)?.results[0];
  };
}

/** Asks a session of its own. */
function asks(messageOf: (body: Body) => string, isModelAsked = false): Handler {
  return async (env, request) => {
    const body = await admit(env, request);
    return env.SESSION.getByName(crypto.randomUUID()).ask(messageOf(body), isModelAsked);
  };
}

const AGENT_FOUND: Statement = [FIND_AGENT, WORKSPACE, AGENT];
const CONVERSATION_FOUND: Statement = [FIND_CONVERSATION, WORKSPACE, CONVERSATION];
const MATCH = "sentence OR length";

const ROUTES: Record<string, Handler> = {
  "/rpc": (env) => env.GATE.getByName(WORKSPACE).admit(),
  "/rpc-read/agents": reads([LIST_AGENTS, WORKSPACE], [FIND_WORKSPACE, WORKSPACE]),
  "/rpc-read/agent": reads(AGENT_FOUND),
  "/rpc-read/usage": reads([FIND_WORKSPACE, WORKSPACE], [FIND_USAGE, WORKSPACE, "2026-11"]),
  "/rpc-read/sources": reads(AGENT_FOUND, [LIST_SOURCES, WORKSPACE, AGENT]),
  "/rpc-read/conversation": reads(CONVERSATION_FOUND, [LIST_MESSAGES, WORKSPACE, CONVERSATION]),
  "/rpc-read/gaps": reads(
    AGENT_FOUND,
    [LIST_UNANSWERED, WORKSPACE, AGENT],
    [LIST_RATED_DOWN, WORKSPACE, AGENT],
    [LIST_CURATED, WORKSPACE, AGENT],
  ),
  "/rpc-index-read": async (env, request) => {
    await admit(env, request);
    const hits = await env.INDEX.getByName(AGENT).searchConversations(MATCH);
    const found = await batch(env.DB, [
      CONVERSATION_FOUND,
      [LIST_VISITORS, CONVERSATION],
      [LIST_HANDOFFS, WORKSPACE, CONVERSATION],
      [FIND_CONTENT, MESSAGE],
      [FIND_NOTE_CONTENT, MESSAGE],
    ]);
    return { data: found.map(({ results }) => results), hits };
  },
  "/rpc-read-search": async (env, request) => {
    await admit(env, request);
    const [data] = await Promise.all([env.INDEX.getByName(AGENT).search(MATCH), batch(env.DB, [AGENT_FOUND])]);
    return { data };
  },
  "/rpc-write-rpc": async (env, request) => {
    const { question = "", answer = "" } = await admit(env, request);
    const id = crypto.randomUUID();
    await batch(env.DB, [[INSERT_ANSWER, id, WORKSPACE, AGENT, question, answer, Date.now()]]);
    await env.INDEX.getByName(AGENT).putAnswer(id, question, answer);
    return { id, question, answer };
  },
  "/rpc-write/rating": writes(({ rating }, id, nowMs) => [[SET_FEEDBACK, id, WORKSPACE, AGENT, CONVERSATION, MESSAGE, rating, nowMs]]),
  "/rpc-write/note": writes(({ content }, id, nowMs) => [
    [INSERT_NOTE, id, WORKSPACE, CONVERSATION, content, nowMs],
    [COUNT_NOTE, WORKSPACE],
    [RAISE_CONVERSATION, CONVERSATION, nowMs],
  ]),
  "/rpc-write/assignee": writes((_body, _id, nowMs) => [
    [ASSIGN_CONVERSATION, CONVERSATION, "grace", "Grace Hopper", nowMs],
    CONVERSATION_FOUND,
  ]),
  "/rpc-read-session": async (env, request) => {
    await admit(env, request);
    const [turn, found] = await Promise.all([env.SESSION.getByName(CONVERSATION).findTurn(), batch(env.DB, [CONVERSATION_FOUND])]);
    return { turn, data: found[0]?.results };
  },
  "/ask": asks(({ message = "" }) => message),
  "/ask-completion": asks(({ messages }) => (messages as unknown as [{ content: string }])[0].content),
  "/ask-model": asks(({ message = "" }) => message, true),
  "/seed": async ({ DB: db, SESSION }) => {
    await SESSION.getByName(CONVERSATION).keepTurn(TEXT.repeat(12));
    const idAt = (at: number, which: number, known: string) => (at === which ? known : crypto.randomUUID());
    await batch(db, [
      [INSERT_WORKSPACE, WORKSPACE],
      ...Array.from({ length: AGENTS_SEEDED }, (_, at): Statement => [INSERT_AGENT, idAt(at, 0, AGENT), WORKSPACE]),
      [INSERT_SOURCE, crypto.randomUUID(), WORKSPACE, AGENT],
      [INSERT_CONVERSATION, CONVERSATION, WORKSPACE, AGENT, 0],
      ...Array.from({ length: MESSAGES_SEEDED }, (_, at): Statement => {
        const role = at % 2 ? "assistant" : "user";
        return [INSERT_MESSAGE, idAt(at, 1, MESSAGE), WORKSPACE, CONVERSATION, role, "visitor", TEXT, null, at];
      }),
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
