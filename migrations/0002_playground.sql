-- Reports leave conversations in the playground out: the team tries its agents there. Each trigger replaces the one of
-- 0001_triggers.sql with its name. The monthly quota and the totals of lists count these conversations as before.

DROP TRIGGER analytics_conversations;
--> statement-breakpoint
-- Adds a conversation without a message to the analytics of its day; `messages_counted` adds the others.
CREATE TRIGGER analytics_conversations AFTER INSERT ON conversations WHEN NEW.latest_message_id IS NULL AND NEW.channel <> 'playground' BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, conversations, channel, csat_sum, csat_count)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.created_at / 86400000, 1, NEW.channel, NEW.csat_score, NEW.csat_score IS NOT NULL);
END;
--> statement-breakpoint
DROP TRIGGER analytics_first_human_reply;
--> statement-breakpoint
-- Adds the time until the first reply where a person gave it.
CREATE TRIGGER analytics_first_human_reply AFTER UPDATE OF first_human_reply_at ON conversations
WHEN OLD.first_human_reply_at IS NULL AND NEW.first_human_reply_at IS NOT NULL AND NEW.first_ai_reply_at IS NULL
  AND NEW.channel <> 'playground' BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, first_response_ms)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.created_at / 86400000, NEW.first_human_reply_at - NEW.created_at);
END;
--> statement-breakpoint
DROP TRIGGER analytics_csat;
--> statement-breakpoint
-- Keeps the sum and the number of satisfaction scores.
CREATE TRIGGER analytics_csat AFTER UPDATE OF csat_score ON conversations
WHEN NEW.csat_score IS NOT OLD.csat_score AND NEW.channel <> 'playground' BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, csat_sum, csat_count)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.created_at / 86400000, coalesce(NEW.csat_score, 0) - coalesce(OLD.csat_score, 0),
      (NEW.csat_score IS NOT NULL) - (OLD.csat_score IS NOT NULL));
END;
--> statement-breakpoint
DROP TRIGGER analytics_resolved;
--> statement-breakpoint
-- Adds the first resolution of a conversation, with the time it took.
CREATE TRIGGER analytics_resolved AFTER UPDATE OF status ON conversations
WHEN NEW.status = 'resolved' AND OLD.status <> 'resolved' AND NEW.reopened_count = 0 AND NEW.channel <> 'playground' BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, resolved, resolution_ms)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.created_at / 86400000, 1, NEW.resolved_at - NEW.created_at);
END;
--> statement-breakpoint
DROP TRIGGER analytics_reopened;
--> statement-breakpoint
-- Adds a conversation that is reopened for the first time.
CREATE TRIGGER analytics_reopened AFTER UPDATE OF status ON conversations
WHEN OLD.status = 'resolved' AND NEW.status <> 'resolved' AND NEW.reopened_count = 1 AND NEW.channel <> 'playground' BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, reopened)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.created_at / 86400000, 1);
END;
--> statement-breakpoint
DROP TRIGGER analytics_ai_resolved;
--> statement-breakpoint
-- Adds a resolution by the agent to the day of the conversation and to the day of the resolution.
CREATE TRIGGER analytics_ai_resolved AFTER UPDATE OF ai_resolved_at ON conversations
WHEN OLD.ai_resolved_at IS NULL AND NEW.ai_resolved_at IS NOT NULL AND NEW.channel <> 'playground' BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, ai_resolved)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.created_at / 86400000, 1);
  INSERT INTO analytics_changes (workspace_id, agent_id, day, ai_resolutions)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.ai_resolved_at / 86400000, 1);
END;
--> statement-breakpoint
DROP TRIGGER analytics_ai_resolution_undone;
--> statement-breakpoint
-- Takes back a resolution by the agent when the conversation is reopened within seven days.
CREATE TRIGGER analytics_ai_resolution_undone AFTER UPDATE OF status ON conversations
WHEN OLD.status = 'resolved' AND NEW.status <> 'resolved' AND OLD.ai_resolved_at = OLD.resolved_at
  AND NEW.updated_at - OLD.resolved_at < 7 * 86400000 AND NEW.channel <> 'playground' BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, ai_resolutions_undone)
    VALUES (NEW.workspace_id, NEW.agent_id, OLD.ai_resolved_at / 86400000, 1);
END;
--> statement-breakpoint
DROP TRIGGER messages_counted;
--> statement-breakpoint
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
        FROM conversations WHERE id = NEW.conversation_id AND channel <> 'playground');
  INSERT INTO analytics_changes (workspace_id, agent_id, day, with_agent, first_response_ms)
    SELECT workspace_id, agent_id, created_at / 86400000, 1, iif(first_human_reply_at IS NULL, NEW.created_at - created_at, NULL)
      FROM conversations
     WHERE id = NEW.conversation_id AND channel <> 'playground' AND NEW.role = 'assistant'
       AND created_at / 86400000 <> NEW.created_at / 86400000
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
DROP TRIGGER feedback_counted;
--> statement-breakpoint
-- Keeps `feedback_days`, the counts of ratings by day, and adds a rating to the analytics of its day.
CREATE TRIGGER feedback_counted AFTER INSERT ON message_feedback BEGIN
  INSERT INTO feedback_days (workspace_id, day, agent_id, up, down)
    VALUES (NEW.workspace_id, NEW.created_at / 86400000, NEW.agent_id, NEW.rating = 'up', NEW.rating = 'down')
    ON CONFLICT DO UPDATE SET up = up + excluded.up, down = down + excluded.down;
  INSERT INTO analytics_changes (workspace_id, agent_id, day, rated_up, rated_down)
    SELECT NEW.workspace_id, NEW.agent_id, NEW.created_at / 86400000, NEW.rating = 'up', NEW.rating = 'down'
      FROM conversations WHERE id = NEW.conversation_id AND channel <> 'playground';
END;
--> statement-breakpoint
DROP TRIGGER feedback_recounted;
--> statement-breakpoint
-- Keeps both when a rating changes.
CREATE TRIGGER feedback_recounted AFTER UPDATE OF rating ON message_feedback WHEN NEW.rating <> OLD.rating BEGIN
  UPDATE feedback_days
     SET up = up + (NEW.rating = 'up') - (OLD.rating = 'up'), down = down + (NEW.rating = 'down') - (OLD.rating = 'down')
   WHERE workspace_id = NEW.workspace_id AND day = NEW.created_at / 86400000 AND agent_id = NEW.agent_id;
  INSERT INTO analytics_changes (workspace_id, agent_id, day, rated_up, rated_down)
    SELECT NEW.workspace_id, NEW.agent_id, NEW.created_at / 86400000,
        (NEW.rating = 'up') - (OLD.rating = 'up'), (NEW.rating = 'down') - (OLD.rating = 'down')
      FROM conversations WHERE id = NEW.conversation_id AND channel <> 'playground';
END;
