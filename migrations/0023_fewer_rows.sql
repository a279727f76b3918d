-- A question writes fewer rows: conversations are counted in a column for each status, so that a conversation that changes its
-- status changes one row of each counter instead of two; what a message changes in its conversation can be written with
-- the conversation (see recordAnswer in src/conversations/store.ts); what an answer counts on its day is added at once; and
-- visitors without an identifier or an email address are in no index of these.
ALTER TABLE `conversations` ADD `latest_message_id` text;
--> statement-breakpoint
DROP INDEX `visitors_external`;
--> statement-breakpoint
CREATE INDEX `visitors_external` ON `visitors` (`workspace_id`,`external_id`) WHERE external_id IS NOT NULL;
--> statement-breakpoint
DROP INDEX `visitors_email`;
--> statement-breakpoint
CREATE INDEX `visitors_email` ON `visitors` (`workspace_id`,`email_key`) WHERE email_key IS NOT NULL;
--> statement-breakpoint
DROP TRIGGER conversations_counted;
--> statement-breakpoint
DROP TRIGGER conversations_uncounted;
--> statement-breakpoint
DROP TRIGGER conversations_recounted;
--> statement-breakpoint
DROP TRIGGER conversation_spans_counted;
--> statement-breakpoint
DROP TRIGGER conversation_spans_uncounted;
--> statement-breakpoint
DROP TRIGGER conversation_spans_recounted;
--> statement-breakpoint
DROP TRIGGER messages_counted;
--> statement-breakpoint
DROP TRIGGER analytics_messages;
--> statement-breakpoint
DROP TRIGGER analytics_first_ai_reply;
--> statement-breakpoint
DROP TRIGGER analytics_conversations;
--> statement-breakpoint
CREATE TABLE `__new_conversation_counts` (
	`workspace_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`channel` text NOT NULL,
	`open` integer DEFAULT 0 NOT NULL,
	`ai_handled` integer DEFAULT 0 NOT NULL,
	`needs_human` integer DEFAULT 0 NOT NULL,
	`human_active` integer DEFAULT 0 NOT NULL,
	`resolved` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`workspace_id`, `agent_id`, `channel`)
);
--> statement-breakpoint
INSERT INTO `__new_conversation_counts` (workspace_id, agent_id, channel, open, ai_handled, needs_human, human_active, resolved)
  SELECT workspace_id, agent_id, channel, sum(iif(status = 'open', count, 0)), sum(iif(status = 'ai_handled', count, 0)), sum(iif(status = 'needs_human', count, 0)), sum(iif(status = 'human_active', count, 0)), sum(iif(status = 'resolved', count, 0))
    FROM `conversation_counts` GROUP BY workspace_id, agent_id, channel;
--> statement-breakpoint
DROP TABLE `conversation_counts`;
--> statement-breakpoint
ALTER TABLE `__new_conversation_counts` RENAME TO `conversation_counts`;
--> statement-breakpoint
CREATE TABLE `__new_conversation_spans` (
	`workspace_id` text NOT NULL,
	`days` integer NOT NULL,
	`day` integer NOT NULL,
	`agent_id` text NOT NULL,
	`channel` text NOT NULL,
	`open` integer DEFAULT 0 NOT NULL,
	`ai_handled` integer DEFAULT 0 NOT NULL,
	`needs_human` integer DEFAULT 0 NOT NULL,
	`human_active` integer DEFAULT 0 NOT NULL,
	`resolved` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`workspace_id`, `days`, `day`, `agent_id`, `channel`)
);
--> statement-breakpoint
INSERT INTO `__new_conversation_spans` (workspace_id, days, day, agent_id, channel, open, ai_handled, needs_human, human_active, resolved)
  SELECT workspace_id, days, day, agent_id, channel, sum(iif(status = 'open', count, 0)), sum(iif(status = 'ai_handled', count, 0)), sum(iif(status = 'needs_human', count, 0)), sum(iif(status = 'human_active', count, 0)), sum(iif(status = 'resolved', count, 0))
    FROM `conversation_spans` GROUP BY workspace_id, days, day, agent_id, channel;
--> statement-breakpoint
DROP TABLE `conversation_spans`;
--> statement-breakpoint
ALTER TABLE `__new_conversation_spans` RENAME TO `conversation_spans`;
--> statement-breakpoint
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
-- Most messages come on the day of the one before and leave the status as it is, and cost nothing here.
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
-- A conversation that names its last message was written with it, and is counted with that.
CREATE TRIGGER analytics_conversations AFTER INSERT ON conversations WHEN NEW.latest_message_id IS NULL BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, conversations, channel, csat_sum, csat_count)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.created_at / 86400000, 1, NEW.channel, NEW.csat_score, NEW.csat_score IS NOT NULL);
END;
--> statement-breakpoint
-- A message counts on its day, a conversation that begins with it and an agent's first answer on the day of the conversation:
-- mostly one and the same. A conversation that names the message as its last one has been changed by the writer already.
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
         first_ai_reply_at = coalesce(first_ai_reply_at, iif(NEW.role = 'assistant', NEW.created_at, NULL))
   WHERE id = NEW.conversation_id AND latest_message_id IS NOT NEW.id;
END;
