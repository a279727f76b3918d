-- Triggers keep counters, daily rollups and bounds in the same transaction as the rows that they describe, ordered by table. A day is
-- a whole number of days since 1970-01-01 UTC: milliseconds / 86400000. src/analytics/definitions.ts defines what analytics count, and
-- on which day. Analytics do not change when a person is erased, but the wording of their unanswered questions is deleted.

-- workspace_directory

-- Counts the workspaces of a shard: the next workspace is created in the shard with the fewest.
CREATE TRIGGER workspaces_counted AFTER INSERT ON workspace_directory BEGIN
  INSERT INTO shards (shard, workspaces_count) VALUES (NEW.shard, 1)
    ON CONFLICT (shard) DO UPDATE SET workspaces_count = workspaces_count + 1;
END;
--> statement-breakpoint
-- Takes a deleted workspace off the count of its shard.
CREATE TRIGGER workspaces_uncounted AFTER DELETE ON workspace_directory BEGIN
  UPDATE shards SET workspaces_count = workspaces_count - 1 WHERE shard = OLD.shard;
END;
--> statement-breakpoint

-- agents

-- Keeps `workspaces.agents_count`.
CREATE TRIGGER agents_counted AFTER INSERT ON agents BEGIN
  UPDATE workspaces SET agents_count = agents_count + 1 WHERE id = NEW.workspace_id;
END;
--> statement-breakpoint
-- Takes a deleted agent off `workspaces.agents_count`.
CREATE TRIGGER agents_uncounted AFTER DELETE ON agents BEGIN
  UPDATE workspaces SET agents_count = agents_count - 1 WHERE id = OLD.workspace_id;
END;
--> statement-breakpoint

-- sources

-- Keeps `sources_count` of the agent and the workspace, and `workspaces.pages_count`.
CREATE TRIGGER sources_counted AFTER INSERT ON sources BEGIN
  UPDATE agents SET sources_count = sources_count + 1 WHERE id = NEW.agent_id;
  UPDATE workspaces SET sources_count = sources_count + 1, pages_count = pages_count + NEW.pages_indexed WHERE id = NEW.workspace_id;
END;
--> statement-breakpoint
-- Keeps `workspaces.pages_count` when a source is indexed again.
CREATE TRIGGER sources_pages_counted AFTER UPDATE OF pages_indexed ON sources WHEN NEW.pages_indexed <> OLD.pages_indexed BEGIN
  UPDATE workspaces SET pages_count = pages_count + NEW.pages_indexed - OLD.pages_indexed WHERE id = NEW.workspace_id;
END;
--> statement-breakpoint
-- Takes a deleted source and its pages off the counts.
CREATE TRIGGER sources_uncounted AFTER DELETE ON sources BEGIN
  UPDATE agents SET sources_count = sources_count - 1 WHERE id = OLD.agent_id;
  UPDATE workspaces SET sources_count = sources_count - 1, pages_count = pages_count - OLD.pages_indexed WHERE id = OLD.workspace_id;
END;
--> statement-breakpoint
-- Keeps `agents.text_bytes`, the size of the text that all sources of an agent hold.
CREATE TRIGGER sources_text_counted AFTER INSERT ON sources WHEN NEW.text_bytes <> 0 BEGIN
  UPDATE agents SET text_bytes = text_bytes + NEW.text_bytes WHERE id = NEW.agent_id;
END;
--> statement-breakpoint
-- Keeps `agents.text_bytes` when the text of a source changes.
CREATE TRIGGER sources_text_recounted AFTER UPDATE OF text_bytes ON sources WHEN NEW.text_bytes <> OLD.text_bytes BEGIN
  UPDATE agents SET text_bytes = text_bytes + NEW.text_bytes - OLD.text_bytes WHERE id = NEW.agent_id;
END;
--> statement-breakpoint
-- Takes the text of a deleted source off `agents.text_bytes`.
CREATE TRIGGER sources_text_uncounted AFTER DELETE ON sources WHEN OLD.text_bytes <> 0 BEGIN
  UPDATE agents SET text_bytes = text_bytes - OLD.text_bytes WHERE id = OLD.agent_id;
END;
--> statement-breakpoint

-- answers

-- Keeps `agents.answers_count`.
CREATE TRIGGER answers_counted AFTER INSERT ON answers BEGIN
  UPDATE agents SET answers_count = answers_count + 1 WHERE id = NEW.agent_id;
END;
--> statement-breakpoint
-- Takes a deleted curated answer off `agents.answers_count`.
CREATE TRIGGER answers_uncounted AFTER DELETE ON answers BEGIN
  UPDATE agents SET answers_count = answers_count - 1 WHERE id = OLD.agent_id;
END;
--> statement-breakpoint

-- answer_drafts

-- Keeps 200 drafts an agent: the pending ones first, and of those the newest.
CREATE TRIGGER answer_drafts_kept AFTER INSERT ON answer_drafts BEGIN
  DELETE FROM answer_drafts
   WHERE id IN (SELECT id FROM answer_drafts WHERE workspace_id = NEW.workspace_id AND agent_id = NEW.agent_id
     ORDER BY status = 'pending' DESC, id DESC LIMIT -1 OFFSET 200);
END;
--> statement-breakpoint

-- conversations

-- Keeps `conversation_counts`, and `conversation_spans`: the counts by status of 1 and of 32 days, by last activity.
CREATE TRIGGER conversations_counted AFTER INSERT ON conversations BEGIN
  INSERT INTO conversation_counts (workspace_id, agent_id, channel, open, ai_handled, needs_human, human_active, resolved)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.channel,
        NEW.status = 'open', NEW.status = 'ai_handled', NEW.status = 'needs_human', NEW.status = 'human_active', NEW.status = 'resolved')
    ON CONFLICT DO UPDATE SET
        open = open + excluded.open, ai_handled = ai_handled + excluded.ai_handled,
        needs_human = needs_human + excluded.needs_human, human_active = human_active + excluded.human_active,
        resolved = resolved + excluded.resolved;
  INSERT INTO conversation_spans (workspace_id, days, day, agent_id, channel, open, ai_handled, needs_human, human_active, resolved)
    SELECT NEW.workspace_id, value, NEW.updated_at / 86400000 / value * value, NEW.agent_id, NEW.channel,
        NEW.status = 'open', NEW.status = 'ai_handled', NEW.status = 'needs_human', NEW.status = 'human_active', NEW.status = 'resolved'
      FROM json_each('[1,32]') WHERE true
    ON CONFLICT DO UPDATE SET
        open = open + excluded.open, ai_handled = ai_handled + excluded.ai_handled,
        needs_human = needs_human + excluded.needs_human, human_active = human_active + excluded.human_active,
        resolved = resolved + excluded.resolved;
END;
--> statement-breakpoint
-- Moves a conversation to its new status in `conversation_counts`.
CREATE TRIGGER conversations_recounted AFTER UPDATE OF status ON conversations WHEN NEW.status <> OLD.status BEGIN
  UPDATE conversation_counts
     SET open = open + (NEW.status = 'open') - (OLD.status = 'open'),
         ai_handled = ai_handled + (NEW.status = 'ai_handled') - (OLD.status = 'ai_handled'),
         needs_human = needs_human + (NEW.status = 'needs_human') - (OLD.status = 'needs_human'),
         human_active = human_active + (NEW.status = 'human_active') - (OLD.status = 'human_active'),
         resolved = resolved + (NEW.status = 'resolved') - (OLD.status = 'resolved')
   WHERE workspace_id = NEW.workspace_id AND agent_id = NEW.agent_id AND channel = NEW.channel;
END;
--> statement-breakpoint
-- Takes a deleted conversation out of `conversation_counts` and `conversation_spans`.
CREATE TRIGGER conversations_uncounted AFTER DELETE ON conversations BEGIN
  UPDATE conversation_counts
     SET open = open - (OLD.status = 'open'), ai_handled = ai_handled - (OLD.status = 'ai_handled'),
         needs_human = needs_human - (OLD.status = 'needs_human'), human_active = human_active - (OLD.status = 'human_active'),
         resolved = resolved - (OLD.status = 'resolved')
   WHERE workspace_id = OLD.workspace_id AND agent_id = OLD.agent_id AND channel = OLD.channel;
  UPDATE conversation_spans
     SET open = open - (OLD.status = 'open'), ai_handled = ai_handled - (OLD.status = 'ai_handled'),
         needs_human = needs_human - (OLD.status = 'needs_human'), human_active = human_active - (OLD.status = 'human_active'),
         resolved = resolved - (OLD.status = 'resolved')
   WHERE workspace_id = OLD.workspace_id AND (days, day) IN (SELECT value, OLD.updated_at / 86400000 / value * value FROM json_each('[1,32]'))
     AND agent_id = OLD.agent_id AND channel = OLD.channel;
END;
--> statement-breakpoint
-- Moves a conversation to the day of its last activity in `conversation_spans`.
CREATE TRIGGER conversation_spans_moved AFTER UPDATE OF updated_at ON conversations
WHEN NEW.updated_at / 86400000 <> OLD.updated_at / 86400000 BEGIN
  UPDATE conversation_spans
     SET open = open - (OLD.status = 'open'), ai_handled = ai_handled - (OLD.status = 'ai_handled'),
         needs_human = needs_human - (OLD.status = 'needs_human'), human_active = human_active - (OLD.status = 'human_active'),
         resolved = resolved - (OLD.status = 'resolved')
   WHERE workspace_id = OLD.workspace_id AND (days, day) IN (SELECT value, OLD.updated_at / 86400000 / value * value FROM json_each('[1,32]'))
     AND agent_id = OLD.agent_id AND channel = OLD.channel;
  INSERT INTO conversation_spans (workspace_id, days, day, agent_id, channel, open, ai_handled, needs_human, human_active, resolved)
    SELECT NEW.workspace_id, value, NEW.updated_at / 86400000 / value * value, NEW.agent_id, NEW.channel,
        NEW.status = 'open', NEW.status = 'ai_handled', NEW.status = 'needs_human', NEW.status = 'human_active', NEW.status = 'resolved'
      FROM json_each('[1,32]') WHERE true
    ON CONFLICT DO UPDATE SET
        open = open + excluded.open, ai_handled = ai_handled + excluded.ai_handled,
        needs_human = needs_human + excluded.needs_human, human_active = human_active + excluded.human_active,
        resolved = resolved + excluded.resolved;
END;
--> statement-breakpoint
-- Moves a conversation to its new status within its day in `conversation_spans`.
CREATE TRIGGER conversation_spans_recounted AFTER UPDATE OF status ON conversations
WHEN NEW.status <> OLD.status AND NEW.updated_at / 86400000 = OLD.updated_at / 86400000 BEGIN
  UPDATE conversation_spans
     SET open = open + (NEW.status = 'open') - (OLD.status = 'open'),
         ai_handled = ai_handled + (NEW.status = 'ai_handled') - (OLD.status = 'ai_handled'),
         needs_human = needs_human + (NEW.status = 'needs_human') - (OLD.status = 'needs_human'),
         human_active = human_active + (NEW.status = 'human_active') - (OLD.status = 'human_active'),
         resolved = resolved + (NEW.status = 'resolved') - (OLD.status = 'resolved')
   WHERE workspace_id = NEW.workspace_id AND (days, day) IN (SELECT value, NEW.updated_at / 86400000 / value * value FROM json_each('[1,32]'))
     AND agent_id = NEW.agent_id AND channel = NEW.channel;
END;
--> statement-breakpoint
-- Adds a conversation without a message to the analytics of its day; `messages_counted` adds the others.
CREATE TRIGGER analytics_conversations AFTER INSERT ON conversations WHEN NEW.latest_message_id IS NULL BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, conversations, channel, csat_sum, csat_count)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.created_at / 86400000, 1, NEW.channel, NEW.csat_score, NEW.csat_score IS NOT NULL);
END;
--> statement-breakpoint
-- Adds the time until the first reply where a person gave it.
CREATE TRIGGER analytics_first_human_reply AFTER UPDATE OF first_human_reply_at ON conversations
WHEN OLD.first_human_reply_at IS NULL AND NEW.first_human_reply_at IS NOT NULL AND NEW.first_ai_reply_at IS NULL BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, first_response_ms)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.created_at / 86400000, NEW.first_human_reply_at - NEW.created_at);
END;
--> statement-breakpoint
-- Keeps the sum and the number of satisfaction scores.
CREATE TRIGGER analytics_csat AFTER UPDATE OF csat_score ON conversations WHEN NEW.csat_score IS NOT OLD.csat_score BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, csat_sum, csat_count)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.created_at / 86400000, coalesce(NEW.csat_score, 0) - coalesce(OLD.csat_score, 0),
      (NEW.csat_score IS NOT NULL) - (OLD.csat_score IS NOT NULL));
END;
--> statement-breakpoint
-- Adds the first resolution of a conversation, with the time it took.
CREATE TRIGGER analytics_resolved AFTER UPDATE OF status ON conversations
WHEN NEW.status = 'resolved' AND OLD.status <> 'resolved' AND NEW.reopened_count = 0 BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, resolved, resolution_ms)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.created_at / 86400000, 1, NEW.resolved_at - NEW.created_at);
END;
--> statement-breakpoint
-- Adds a conversation that is reopened for the first time.
CREATE TRIGGER analytics_reopened AFTER UPDATE OF status ON conversations
WHEN OLD.status = 'resolved' AND NEW.status <> 'resolved' AND NEW.reopened_count = 1 BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, reopened)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.created_at / 86400000, 1);
END;
--> statement-breakpoint
-- Marks a conversation as resolved by the agent: it answered, no person replied, and nothing was handed off.
CREATE TRIGGER analytics_ai_resolving AFTER UPDATE OF status ON conversations
WHEN NEW.status = 'resolved' AND OLD.status <> 'resolved' AND NEW.ai_resolved_at IS NULL AND NEW.first_ai_reply_at IS NOT NULL
  AND NEW.first_human_reply_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM handoffs WHERE workspace_id = NEW.workspace_id AND conversation_id = NEW.id) BEGIN
  UPDATE conversations SET ai_resolved_at = NEW.resolved_at WHERE id = NEW.id;
END;
--> statement-breakpoint
-- Adds a resolution by the agent to the day of the conversation and to the day of the resolution.
CREATE TRIGGER analytics_ai_resolved AFTER UPDATE OF ai_resolved_at ON conversations
WHEN OLD.ai_resolved_at IS NULL AND NEW.ai_resolved_at IS NOT NULL BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, ai_resolved)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.created_at / 86400000, 1);
  INSERT INTO analytics_changes (workspace_id, agent_id, day, ai_resolutions)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.ai_resolved_at / 86400000, 1);
END;
--> statement-breakpoint
-- Takes back a resolution by the agent when the conversation is reopened within seven days.
CREATE TRIGGER analytics_ai_resolution_undone AFTER UPDATE OF status ON conversations
WHEN OLD.status = 'resolved' AND NEW.status <> 'resolved' AND OLD.ai_resolved_at = OLD.resolved_at
  AND NEW.updated_at - OLD.resolved_at < 7 * 86400000 BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, ai_resolutions_undone)
    VALUES (NEW.workspace_id, NEW.agent_id, OLD.ai_resolved_at / 86400000, 1);
END;
--> statement-breakpoint

-- messages

-- Keeps the message count, the preview, the times and the unread count of the conversation, and adds the message to the analytics
-- of its day. The first message of a conversation also adds the conversation, and the first answer adds the time until it. A writer
-- that has set the columns of the conversation itself marks this by `latest_message_id` (`recordAnswer` in src/conversations/store.ts).
CREATE TRIGGER messages_counted AFTER INSERT ON messages BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, messages, ai_replies, human_replies, conversations, channel, with_agent,
      first_response_ms)
    SELECT workspace_id, agent_id, NEW.created_at / 86400000, 1, NEW.role = 'assistant', NEW.role = 'human', begins, iif(begins, channel, NULL),
        is_first AND is_same_day, iif(is_first AND is_same_day AND first_human_reply_at IS NULL, NEW.created_at - created_at, NULL)
      FROM (SELECT *, latest_message_id IS NEW.id AND message_count = 1 AS begins, created_at / 86400000 = NEW.created_at / 86400000 AS is_same_day,
          NEW.role = 'assistant' AND (first_ai_reply_at IS NULL OR (latest_message_id IS NEW.id AND first_ai_reply_at = NEW.created_at)) AS is_first
        FROM conversations WHERE id = NEW.conversation_id);
  INSERT INTO analytics_changes (workspace_id, agent_id, day, with_agent, first_response_ms)
    SELECT workspace_id, agent_id, created_at / 86400000, 1, iif(first_human_reply_at IS NULL, NEW.created_at - created_at, NULL)
      FROM conversations
     WHERE id = NEW.conversation_id AND NEW.role = 'assistant' AND created_at / 86400000 <> NEW.created_at / 86400000
       AND (first_ai_reply_at IS NULL OR (latest_message_id IS NEW.id AND first_ai_reply_at = NEW.created_at));
  UPDATE conversations
     SET message_count = message_count + 1, last_message_preview = substr(NEW.content, 1, 200), latest_message_id = NEW.id,
         last_message_at = max(last_message_at, NEW.created_at), updated_at = max(updated_at, NEW.created_at),
         idle_at = max(last_message_at, NEW.created_at)
           + 60000 * (SELECT inactivity_minutes FROM agents WHERE agents.id = conversations.agent_id),
         first_ai_reply_at = coalesce(first_ai_reply_at, iif(NEW.role = 'assistant', NEW.created_at, NULL)),
         unread_count = CASE
           WHEN NEW.role = 'human' THEN 0
           WHEN NEW.role = 'user' THEN unread_count + (status IN ('needs_human', 'human_active'))
           WHEN NEW.needs_human THEN max(unread_count, 1)
           ELSE unread_count END
   WHERE id = NEW.conversation_id AND latest_message_id IS NOT NEW.id;
END;
--> statement-breakpoint
-- Keeps `usage_periods`: the messages that count toward the monthly quota.
CREATE TRIGGER messages_quota_used AFTER INSERT ON messages WHEN NEW.quota_period IS NOT NULL BEGIN
  INSERT INTO usage_periods (workspace_id, period, messages) VALUES (NEW.workspace_id, NEW.quota_period, 1)
    ON CONFLICT (workspace_id, period) DO UPDATE SET messages = messages + 1;
END;
--> statement-breakpoint
-- Takes a message off `usage_periods` that counts no longer, since the service failed to answer it.
CREATE TRIGGER messages_quota_returned AFTER UPDATE OF quota_period ON messages WHEN OLD.quota_period IS NOT NULL AND NEW.quota_period IS NULL BEGIN
  UPDATE usage_periods SET messages = messages - 1 WHERE workspace_id = OLD.workspace_id AND period = OLD.quota_period;
END;
--> statement-breakpoint
-- Queues a reply for its email thread.
CREATE TRIGGER messages_mailed AFTER INSERT ON messages WHEN NEW.role IN ('assistant', 'human')
  AND EXISTS (SELECT 1 FROM email_threads WHERE conversation_id = NEW.conversation_id) BEGIN
  INSERT INTO email_outbox (message_id, workspace_id, conversation_id, status, next_attempt_at, created_at)
    VALUES (NEW.id, NEW.workspace_id, NEW.conversation_id, 'pending', NEW.created_at, NEW.created_at)
    ON CONFLICT DO NOTHING;
END;
--> statement-breakpoint

-- handoffs

-- Adds a hand-off and its reason to the analytics of its day.
CREATE TRIGGER analytics_handoffs AFTER INSERT ON handoffs BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, handoffs, unanswered, handoff_reason)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.requested_at / 86400000, 1, NEW.reason = 'missing_knowledge', NEW.reason);
END;
--> statement-breakpoint
-- Adds the conversation with its first hand-off.
CREATE TRIGGER analytics_handed_off AFTER INSERT ON handoffs
WHEN NOT EXISTS (SELECT 1 FROM handoffs other WHERE other.workspace_id = NEW.workspace_id
  AND other.conversation_id = NEW.conversation_id AND other.id <> NEW.id) BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, handed_off)
    SELECT workspace_id, agent_id, created_at / 86400000, 1 FROM conversations WHERE id = NEW.conversation_id;
END;
--> statement-breakpoint
-- Counts an unanswered question for its agent and, with an empty agent id, for the workspace. `unanswered_question_days` holds
-- running totals by day, so that a range of days is the difference of two rows. Questions older than 366 days are deleted.
CREATE TRIGGER unanswered_questions_kept AFTER INSERT ON handoffs WHEN NEW.question_key IS NOT NULL BEGIN
  DELETE FROM unanswered_question_days
   WHERE rowid IN (SELECT d.rowid FROM unanswered_questions q CROSS JOIN unanswered_question_days d
      ON d.workspace_id = q.workspace_id AND d.agent_id = q.agent_id AND d.question_key = q.question_key
     WHERE q.workspace_id = NEW.workspace_id AND q.agent_id IN (NEW.agent_id, '') AND q.last_asked_at < NEW.requested_at - 366 * 86400000);
  DELETE FROM unanswered_questions
   WHERE workspace_id = NEW.workspace_id AND agent_id IN (NEW.agent_id, '') AND last_asked_at < NEW.requested_at - 366 * 86400000;
  INSERT INTO unanswered_questions (workspace_id, agent_id, question_key, question, last_asked_at)
    SELECT NEW.workspace_id, value, NEW.question_key, NEW.question_key, NEW.requested_at
      FROM json_each(json_array(NEW.agent_id, '')) WHERE true
    ON CONFLICT DO NOTHING;
  INSERT INTO unanswered_question_days (workspace_id, agent_id, question_key, day, asked_until)
    SELECT NEW.workspace_id, value, NEW.question_key, NEW.requested_at / 86400000, coalesce((SELECT d.asked_until FROM unanswered_question_days d
        WHERE d.workspace_id = NEW.workspace_id AND d.agent_id = value AND d.question_key = NEW.question_key
          AND d.day < NEW.requested_at / 86400000 ORDER BY d.day DESC LIMIT 1), 0)
      FROM json_each(json_array(NEW.agent_id, '')) WHERE true
    ON CONFLICT DO NOTHING;
  UPDATE unanswered_question_days SET asked_until = asked_until + 1
   WHERE workspace_id = NEW.workspace_id AND agent_id IN (NEW.agent_id, '') AND question_key = NEW.question_key
     AND day >= NEW.requested_at / 86400000;
  DELETE FROM unanswered_question_days
   WHERE workspace_id = NEW.workspace_id AND agent_id IN (NEW.agent_id, '') AND question_key = NEW.question_key
     AND day < NEW.requested_at / 86400000 - 366
     AND day < (SELECT max(d.day) FROM unanswered_question_days d WHERE d.workspace_id = NEW.workspace_id
       AND d.agent_id = unanswered_question_days.agent_id AND d.question_key = NEW.question_key
       AND d.day <= NEW.requested_at / 86400000 - 366);
  UPDATE unanswered_questions
     SET question = coalesce(NEW.summary, NEW.question_key), last_asked_at = max(last_asked_at, NEW.requested_at)
   WHERE workspace_id = NEW.workspace_id AND agent_id IN (NEW.agent_id, '') AND question_key = NEW.question_key;
  UPDATE unanswered_questions
     SET asked = coalesce((SELECT d.asked_until FROM unanswered_question_days d WHERE d.workspace_id = unanswered_questions.workspace_id
           AND d.agent_id = unanswered_questions.agent_id AND d.question_key = unanswered_questions.question_key
           ORDER BY d.day DESC LIMIT 1), 0)
       - coalesce((SELECT d.asked_until FROM unanswered_question_days d WHERE d.workspace_id = unanswered_questions.workspace_id
           AND d.agent_id = unanswered_questions.agent_id AND d.question_key = unanswered_questions.question_key
           AND d.day <= unanswered_questions.last_asked_at / 86400000 - 366 ORDER BY d.day DESC LIMIT 1), 0)
   WHERE workspace_id = NEW.workspace_id AND agent_id IN (NEW.agent_id, '') AND question_key = NEW.question_key;
END;
--> statement-breakpoint
-- Takes a deleted hand-off out of the counts, and deletes the question's own words: the erased person may have written them.
CREATE TRIGGER unanswered_questions_erased AFTER DELETE ON handoffs WHEN OLD.question_key IS NOT NULL BEGIN
  UPDATE unanswered_questions SET question = question_key
   WHERE workspace_id = OLD.workspace_id AND agent_id IN (OLD.agent_id, '') AND question_key = OLD.question_key;
  -- A day that is no longer kept took its questions along.
  UPDATE unanswered_question_days SET asked_until = asked_until - 1
   WHERE workspace_id = OLD.workspace_id AND agent_id IN (OLD.agent_id, '') AND question_key = OLD.question_key
     AND day >= OLD.requested_at / 86400000
     AND EXISTS (SELECT 1 FROM unanswered_question_days d WHERE d.workspace_id = OLD.workspace_id AND d.agent_id = OLD.agent_id
       AND d.question_key = OLD.question_key AND d.day = OLD.requested_at / 86400000);
  UPDATE unanswered_questions
     SET asked = coalesce((SELECT d.asked_until FROM unanswered_question_days d WHERE d.workspace_id = unanswered_questions.workspace_id
           AND d.agent_id = unanswered_questions.agent_id AND d.question_key = unanswered_questions.question_key
           ORDER BY d.day DESC LIMIT 1), 0)
       - coalesce((SELECT d.asked_until FROM unanswered_question_days d WHERE d.workspace_id = unanswered_questions.workspace_id
           AND d.agent_id = unanswered_questions.agent_id AND d.question_key = unanswered_questions.question_key
           AND d.day <= unanswered_questions.last_asked_at / 86400000 - 366 ORDER BY d.day DESC LIMIT 1), 0)
   WHERE workspace_id = OLD.workspace_id AND agent_id IN (OLD.agent_id, '') AND question_key = OLD.question_key;
  DELETE FROM unanswered_question_days
   WHERE rowid IN (SELECT d.rowid FROM unanswered_questions q CROSS JOIN unanswered_question_days d
      ON d.workspace_id = q.workspace_id AND d.agent_id = q.agent_id AND d.question_key = q.question_key
     WHERE q.workspace_id = OLD.workspace_id AND q.agent_id IN (OLD.agent_id, '') AND q.question_key = OLD.question_key AND q.asked <= 0);
  DELETE FROM unanswered_questions
   WHERE workspace_id = OLD.workspace_id AND agent_id IN (OLD.agent_id, '') AND question_key = OLD.question_key AND asked <= 0;
END;
--> statement-breakpoint

-- message_feedback

-- Keeps `feedback_days`, the counts of ratings by day, and adds a rating to the analytics of its day.
CREATE TRIGGER feedback_counted AFTER INSERT ON message_feedback BEGIN
  INSERT INTO feedback_days (workspace_id, day, agent_id, up, down)
    VALUES (NEW.workspace_id, NEW.created_at / 86400000, NEW.agent_id, NEW.rating = 'up', NEW.rating = 'down')
    ON CONFLICT DO UPDATE SET up = up + excluded.up, down = down + excluded.down;
  INSERT INTO analytics_changes (workspace_id, agent_id, day, rated_up, rated_down)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.created_at / 86400000, NEW.rating = 'up', NEW.rating = 'down');
END;
--> statement-breakpoint
-- Keeps both when a rating changes.
CREATE TRIGGER feedback_recounted AFTER UPDATE OF rating ON message_feedback WHEN NEW.rating <> OLD.rating BEGIN
  UPDATE feedback_days
     SET up = up + (NEW.rating = 'up') - (OLD.rating = 'up'), down = down + (NEW.rating = 'down') - (OLD.rating = 'down')
   WHERE workspace_id = NEW.workspace_id AND day = NEW.created_at / 86400000 AND agent_id = NEW.agent_id;
  INSERT INTO analytics_changes (workspace_id, agent_id, day, rated_up, rated_down)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.created_at / 86400000,
      (NEW.rating = 'up') - (OLD.rating = 'up'), (NEW.rating = 'down') - (OLD.rating = 'down'));
END;
--> statement-breakpoint
-- Takes a deleted rating out of `feedback_days`. Analytics keep it: reports do not change when a person is erased.
CREATE TRIGGER feedback_uncounted AFTER DELETE ON message_feedback BEGIN
  UPDATE feedback_days SET up = up - (OLD.rating = 'up'), down = down - (OLD.rating = 'down')
   WHERE workspace_id = OLD.workspace_id AND day = OLD.created_at / 86400000 AND agent_id = OLD.agent_id;
END;
--> statement-breakpoint

-- leads

-- Keeps `lead_counts` and `lead_days`, and adds a lead to the analytics of its day.
CREATE TRIGGER leads_counted AFTER INSERT ON leads BEGIN
  INSERT INTO lead_counts (workspace_id, agent_id, count) VALUES (NEW.workspace_id, NEW.agent_id, 1)
    ON CONFLICT (workspace_id, agent_id) DO UPDATE SET count = count + 1;
  INSERT INTO lead_days (workspace_id, day, agent_id, count) VALUES (NEW.workspace_id, NEW.created_at / 86400000, NEW.agent_id, 1)
    ON CONFLICT DO UPDATE SET count = count + 1;
  INSERT INTO analytics_changes (workspace_id, agent_id, day, leads)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.created_at / 86400000, 1);
END;
--> statement-breakpoint
-- Takes a deleted lead out of `lead_counts` and `lead_days`. Analytics keep it.
CREATE TRIGGER leads_uncounted AFTER DELETE ON leads BEGIN
  UPDATE lead_counts SET count = count - 1 WHERE workspace_id = OLD.workspace_id AND agent_id = OLD.agent_id;
  UPDATE lead_days SET count = count - 1
   WHERE workspace_id = OLD.workspace_id AND day = OLD.created_at / 86400000 AND agent_id = OLD.agent_id;
END;
--> statement-breakpoint

-- idempotency_records

-- Keeps `workspaces.kept_response_bytes`, which bounds the stored responses and the records of a workspace: a record has 512 bytes.
CREATE TRIGGER kept_records_counted AFTER INSERT ON idempotency_records BEGIN
  UPDATE workspaces SET kept_response_bytes = kept_response_bytes + 512 WHERE id = NEW.workspace_id;
END;
--> statement-breakpoint
-- Adds a stored response.
CREATE TRIGGER kept_responses_counted AFTER UPDATE OF response_body ON idempotency_records
WHEN NEW.response_body IS NOT OLD.response_body BEGIN
  UPDATE workspaces
     SET kept_response_bytes = kept_response_bytes + coalesce(length(NEW.response_body), 0) - coalesce(length(OLD.response_body), 0)
   WHERE id = NEW.workspace_id;
END;
--> statement-breakpoint
-- Takes a deleted record and its response off `workspaces.kept_response_bytes`.
CREATE TRIGGER kept_responses_uncounted AFTER DELETE ON idempotency_records BEGIN
  UPDATE workspaces SET kept_response_bytes = kept_response_bytes - 512 - coalesce(length(OLD.response_body), 0) WHERE id = OLD.workspace_id;
END;
--> statement-breakpoint

-- events

-- Bounds an event's payload to 64 KB: halves the longest text until it fits, and marks the record as truncated. A record that
-- does not fit even so keeps its id alone.
CREATE TRIGGER events_cut AFTER INSERT ON events WHEN octet_length(NEW.payload) > 65535 BEGIN
  UPDATE events
     SET payload = coalesce((
       WITH RECURSIVE cut (body, longest, round) AS (
         SELECT json_set(NEW.payload, '$.data.truncated', json('true')), NULL, 0
         UNION ALL
         SELECT iif(longest IS NULL, body, json_replace(body, longest, substr(body ->> longest, 1, length(body ->> longest) / 2))),
                iif(longest IS NULL, (SELECT fullkey FROM json_tree(body, '$.data') WHERE type = 'text'
                  ORDER BY octet_length(json_quote(atom)) DESC LIMIT 1), NULL),
                round + 1
           FROM cut WHERE octet_length(body) > 65535 AND round < 400
       )
       SELECT body FROM cut WHERE octet_length(body) <= 65535 LIMIT 1
     ), json_set(NEW.payload, '$.data', json_object('id', NEW.payload ->> '$.data.id', 'truncated', json('true'))))
   WHERE id = NEW.id;
END;
--> statement-breakpoint

-- deliveries

-- Keeps the counts of deliveries by status of their endpoint, and the deliveries of the day in `visitor_counts`.
CREATE TRIGGER deliveries_counted AFTER INSERT ON deliveries BEGIN
  UPDATE webhook_endpoints
     SET pending_count = pending_count + (NEW.status = 'pending'), succeeded_count = succeeded_count + (NEW.status = 'succeeded'),
         failed_count = failed_count + (NEW.status = 'failed')
   WHERE id = NEW.webhook_id;
  INSERT INTO visitor_counts (workspace_id, flow, starts_at, sender, count)
    VALUES (NEW.workspace_id, 'deliveries', NEW.created_at / 86400000 * 86400000, '', 1)
    ON CONFLICT DO UPDATE SET count = count + 1;
END;
--> statement-breakpoint
-- Keeps the counts of the endpoint when a delivery changes its status.
CREATE TRIGGER deliveries_recounted AFTER UPDATE OF status ON deliveries WHEN NEW.status <> OLD.status BEGIN
  UPDATE webhook_endpoints
     SET pending_count = pending_count + (NEW.status = 'pending') - (OLD.status = 'pending'),
         succeeded_count = succeeded_count + (NEW.status = 'succeeded') - (OLD.status = 'succeeded'),
         failed_count = failed_count + (NEW.status = 'failed') - (OLD.status = 'failed')
   WHERE id = NEW.webhook_id;
END;
--> statement-breakpoint
-- Takes a deleted delivery off the counts of its endpoint.
CREATE TRIGGER deliveries_uncounted AFTER DELETE ON deliveries BEGIN
  UPDATE webhook_endpoints
     SET pending_count = pending_count - (OLD.status = 'pending'), succeeded_count = succeeded_count - (OLD.status = 'succeeded'),
         failed_count = failed_count - (OLD.status = 'failed')
   WHERE id = OLD.webhook_id;
END;
--> statement-breakpoint

-- delivery_attempts

-- Keeps `workspaces.delivery_log_bytes`, which bounds the delivery log of a workspace: an attempt has the bytes of the response's body,
-- those of the address, and 200 for its other columns.
CREATE TRIGGER delivery_log_counted AFTER INSERT ON delivery_attempts BEGIN
  UPDATE workspaces
     SET delivery_log_bytes = delivery_log_bytes + 200 + octet_length(NEW.url) + coalesce(octet_length(NEW.response_body), 0)
   WHERE id = NEW.workspace_id;
END;
--> statement-breakpoint
-- Takes a body that is deleted off `workspaces.delivery_log_bytes`.
CREATE TRIGGER delivery_log_recounted AFTER UPDATE OF response_body ON delivery_attempts
WHEN NEW.response_body IS NOT OLD.response_body BEGIN
  UPDATE workspaces
     SET delivery_log_bytes = delivery_log_bytes + coalesce(octet_length(NEW.response_body), 0) - coalesce(octet_length(OLD.response_body), 0)
   WHERE id = NEW.workspace_id;
END;
--> statement-breakpoint
-- Takes a deleted attempt off `workspaces.delivery_log_bytes`.
CREATE TRIGGER delivery_log_uncounted AFTER DELETE ON delivery_attempts BEGIN
  UPDATE workspaces
     SET delivery_log_bytes = delivery_log_bytes - 200 - octet_length(OLD.url) - coalesce(octet_length(OLD.response_body), 0)
   WHERE id = OLD.workspace_id;
END;
--> statement-breakpoint

-- analytics_changes

-- Adds a change to the daily rollups of its agent and, with an empty agent id, of the workspace. A statement inserts a change
-- into `analytics_changes`, which stays empty: it exists for this trigger. A duration is counted in the bucket
-- CAST(ln(ms) * 11), so the middle of a bucket is within 4.7 % of every duration in it.
CREATE TRIGGER analytics_days_kept BEFORE INSERT ON analytics_changes BEGIN
  INSERT INTO analytics_days (workspace_id, agent_id, day)
    SELECT NEW.workspace_id, value, NEW.day FROM json_each(json_array(NEW.agent_id, '')) WHERE true
    ON CONFLICT DO NOTHING;
  UPDATE analytics_days
     SET messages = messages + coalesce(NEW.messages, 0),
         ai_replies = ai_replies + coalesce(NEW.ai_replies, 0),
         human_replies = human_replies + coalesce(NEW.human_replies, 0),
         leads = leads + coalesce(NEW.leads, 0),
         handoffs = handoffs + coalesce(NEW.handoffs, 0),
         unanswered = unanswered + coalesce(NEW.unanswered, 0),
         rated_up = rated_up + coalesce(NEW.rated_up, 0),
         rated_down = rated_down + coalesce(NEW.rated_down, 0),
         ai_resolutions = ai_resolutions + coalesce(NEW.ai_resolutions, 0),
         ai_resolutions_undone = ai_resolutions_undone + coalesce(NEW.ai_resolutions_undone, 0),
         conversations = conversations + coalesce(NEW.conversations, 0),
         with_agent = with_agent + coalesce(NEW.with_agent, 0),
         handed_off = handed_off + coalesce(NEW.handed_off, 0),
         ai_resolved = ai_resolved + coalesce(NEW.ai_resolved, 0),
         resolved = resolved + coalesce(NEW.resolved, 0),
         reopened = reopened + coalesce(NEW.reopened, 0),
         csat_sum = csat_sum + coalesce(NEW.csat_sum, 0),
         csat_count = csat_count + coalesce(NEW.csat_count, 0),
         handoff_reasons = iif(NEW.handoff_reason IS NULL, handoff_reasons, json_set(handoff_reasons, '$.' || NEW.handoff_reason,
           coalesce(json_extract(handoff_reasons, '$.' || NEW.handoff_reason), 0) + 1)),
         channels = iif(NEW.channel IS NULL, channels, json_set(channels, '$.' || NEW.channel,
           coalesce(json_extract(channels, '$.' || NEW.channel), 0) + 1)),
         first_responses = iif(NEW.first_response_ms IS NULL, first_responses,
           json_set(first_responses, '$."' || CAST(ln(max(NEW.first_response_ms, 1)) * 11 AS INTEGER) || '"',
             coalesce(json_extract(first_responses, '$."' || CAST(ln(max(NEW.first_response_ms, 1)) * 11 AS INTEGER) || '"'), 0) + 1)),
         resolutions = iif(NEW.resolution_ms IS NULL, resolutions,
           json_set(resolutions, '$."' || CAST(ln(max(NEW.resolution_ms, 1)) * 11 AS INTEGER) || '"',
             coalesce(json_extract(resolutions, '$."' || CAST(ln(max(NEW.resolution_ms, 1)) * 11 AS INTEGER) || '"'), 0) + 1))
   WHERE workspace_id = NEW.workspace_id AND agent_id IN (NEW.agent_id, '') AND day = NEW.day;
  -- The row itself is not inserted, and the statement goes on with the next one.
  SELECT RAISE(IGNORE);
END;
--> statement-breakpoint

-- analytics_days

-- Deletes the histograms of a span of 16 days when one of its days changes; the next overview adds them up again.
CREATE TRIGGER analytics_spans_outdated AFTER UPDATE OF handoff_reasons, channels, first_responses, resolutions ON analytics_days
WHEN NEW.handoff_reasons <> OLD.handoff_reasons OR NEW.channels <> OLD.channels OR NEW.first_responses <> OLD.first_responses
  OR NEW.resolutions <> OLD.resolutions BEGIN
  DELETE FROM analytics_spans WHERE workspace_id = NEW.workspace_id AND agent_id = NEW.agent_id AND day = NEW.day / 16 * 16;
END;
