CREATE TABLE `notes` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`conversation_id` text NOT NULL,
	`author_id` text,
	`author_name` text,
	`content` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `notes_conversation` ON `notes` (`workspace_id`,`conversation_id`,`created_at`,`id`);--> statement-breakpoint
ALTER TABLE `conversations` ADD `assignee_id` text;--> statement-breakpoint
ALTER TABLE `conversations` ADD `assignee_name` text;--> statement-breakpoint
ALTER TABLE `conversations` ADD `unread_count` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `conversations_assigned` ON `conversations` (`workspace_id`,`assignee_id`,`status`,`updated_at`,`id`,`agent_id`,`channel`) WHERE assignee_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX `conversations_unread` ON `conversations` (`workspace_id`,`status`,`updated_at`,`id`,`agent_id`,`channel`) WHERE unread_count > 0;--> statement-breakpoint
-- As before, and it counts what waits for the team to read. The message that hands a conversation off comes after the visitor's.
DROP TRIGGER messages_counted;
--> statement-breakpoint
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
