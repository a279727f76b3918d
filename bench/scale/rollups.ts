import type { DatabaseSync } from "node:sqlite";
import { CONVERSATION_STATUSES } from "../../src/platform/db/columns.ts";

/*
 * What the triggers (migrations/0001_triggers.sql) would have kept of a workspace whose rows were written without them. Only
 * of what the bench's histories hold: nothing in them is reopened, erased or older than a year.
 */

const STATUSES = CONVERSATION_STATUSES.join(", ");
const BY_STATUS = CONVERSATION_STATUSES.map((status) => `sum(status = '${status}')`).join(", ");

const COUNTS = [
  `INSERT INTO conversation_counts (workspace_id, agent_id, channel, ${STATUSES})
    SELECT workspace_id, agent_id, channel, ${BY_STATUS} FROM conversations WHERE workspace_id = ? GROUP BY agent_id, channel`,
  `INSERT INTO lead_counts (workspace_id, agent_id, count)
    SELECT workspace_id, agent_id, count(*) FROM leads WHERE workspace_id = ? GROUP BY agent_id`,
  `INSERT INTO conversation_spans (workspace_id, days, day, agent_id, channel, ${STATUSES})
    SELECT workspace_id, span.value, updated_at / 86400000 / span.value * span.value AS start, agent_id, channel, ${BY_STATUS}
      FROM json_each('[1,32]') AS span CROSS JOIN conversations WHERE workspace_id = ? GROUP BY span.value, start, agent_id, channel`,
  `INSERT INTO lead_days (workspace_id, day, agent_id, count)
    SELECT workspace_id, created_at / 86400000 AS day, agent_id, count(*) FROM leads WHERE workspace_id = ? GROUP BY day, agent_id`,
  `INSERT INTO usage_periods (workspace_id, period, messages)
    SELECT workspace_id, quota_period, count(*) FROM messages WHERE workspace_id = ? AND quota_period IS NOT NULL GROUP BY quota_period`,
];

/** Whole numbers go the way of every change, a day's sum at once: the trigger of `analytics_changes` adds them up. */
const SUMS = [
  `INSERT INTO analytics_changes (workspace_id, agent_id, day, conversations, with_agent, ai_resolved, resolved, csat_sum, csat_count)
    SELECT workspace_id, agent_id, created_at / 86400000 AS day, count(*), count(first_ai_reply_at), count(ai_resolved_at),
        count(resolved_at), sum(csat_score), count(csat_score)
      FROM conversations WHERE workspace_id = ? GROUP BY agent_id, day`,
  `INSERT INTO analytics_changes (workspace_id, agent_id, day, ai_resolutions)
    SELECT workspace_id, agent_id, ai_resolved_at / 86400000 AS day, count(*)
      FROM conversations WHERE workspace_id = ? AND ai_resolved_at IS NOT NULL GROUP BY agent_id, day`,
  `INSERT INTO analytics_changes (workspace_id, agent_id, day, messages, ai_replies, human_replies)
    SELECT c.workspace_id, c.agent_id, m.created_at / 86400000 AS day, count(*), sum(m.role = 'assistant'), sum(m.role = 'human')
      FROM messages m CROSS JOIN conversations c ON c.id = m.conversation_id WHERE m.workspace_id = ? GROUP BY c.agent_id, day`,
  `INSERT INTO analytics_changes (workspace_id, agent_id, day, leads)
    SELECT workspace_id, agent_id, created_at / 86400000 AS day, count(*) FROM leads WHERE workspace_id = ? GROUP BY agent_id, day`,
  `INSERT INTO analytics_changes (workspace_id, agent_id, day, handoffs, unanswered)
    SELECT workspace_id, agent_id, requested_at / 86400000 AS day, count(*), sum(reason = 'missing_knowledge')
      FROM handoffs WHERE workspace_id = ? GROUP BY agent_id, day`,
  `INSERT INTO analytics_changes (workspace_id, agent_id, day, handed_off)
    SELECT c.workspace_id, c.agent_id, c.created_at / 86400000 AS day, count(*)
      FROM handoffs h CROSS JOIN conversations c ON c.id = h.conversation_id WHERE h.workspace_id = ? GROUP BY c.agent_id, day`,
];

const bucketOf = (ms: string) => `CAST(CAST(ln(max(${ms}, 1)) * 11 AS INTEGER) AS TEXT)`;
const FIRST_REPLY = "min(coalesce(first_ai_reply_at, first_human_reply_at), coalesce(first_human_reply_at, first_ai_reply_at))";

/** The counters within a day: each column of `analytics_days`, with what counts in it, by name. */
const COUNTERS: Record<string, { from: string; atMs: string; name: string }> = {
  channels: { from: "conversations", atMs: "created_at", name: "channel" },
  first_responses: { from: "conversations", atMs: "created_at", name: bucketOf(`${FIRST_REPLY} - created_at`) },
  resolutions: { from: "conversations", atMs: "created_at", name: bucketOf("resolved_at - created_at") },
  handoff_reasons: { from: "handoffs", atMs: "requested_at", name: "reason" },
};

const QUESTIONS = [
  `INSERT INTO unanswered_question_days (workspace_id, agent_id, question_key, day, asked_until)
    SELECT workspace_id, whose, question_key, day, sum(asked) OVER (PARTITION BY whose, question_key ORDER BY day)
      FROM (SELECT workspace_id, whose.value AS whose, question_key, requested_at / 86400000 AS day, count(*) AS asked
              FROM handoffs, json_each(json_array(agent_id, '')) AS whose
             WHERE workspace_id = ? AND question_key IS NOT NULL GROUP BY whose.value, question_key, day)`,
  `INSERT INTO unanswered_questions (workspace_id, agent_id, question_key, question, asked, last_asked_at)
    SELECT workspace_id, whose.value AS whose, question_key, question_key, count(*), max(requested_at)
      FROM handoffs, json_each(json_array(agent_id, '')) AS whose
     WHERE workspace_id = ? AND question_key IS NOT NULL GROUP BY whose.value, question_key`,
];

/** Counts a workspace's rows into all that triggers keep. The triggers must be in place again. */
export function rollUp(db: DatabaseSync, workspaceId: string): void {
  db.exec("BEGIN");
  for (const statement of [...COUNTS, ...SUMS, ...QUESTIONS]) db.prepare(statement).run(workspaceId);
  for (const [column, { from, atMs, name }] of Object.entries(COUNTERS)) {
    db.exec("CREATE TEMP TABLE counted (agent_id, day, name, n, PRIMARY KEY (agent_id, day, name)) WITHOUT ROWID");
    db.prepare(
      `INSERT INTO counted SELECT agent_id, ${atMs} / 86400000 AS day, ${name} AS name, count(*)
         FROM ${from} WHERE workspace_id = ? AND ${name} IS NOT NULL GROUP BY agent_id, day, 3`,
    ).run(workspaceId);
    db.exec("INSERT INTO counted SELECT '', day, name, sum(n) FROM counted GROUP BY day, name");
    db.prepare(
      `UPDATE analytics_days SET ${column} = coalesce((SELECT json_group_object(name, n) FROM counted
          WHERE counted.agent_id = analytics_days.agent_id AND counted.day = analytics_days.day), '{}')
        WHERE workspace_id = ?`,
    ).run(workspaceId);
    db.exec("DROP TABLE counted");
  }
  db.exec("COMMIT");
}
