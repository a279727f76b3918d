CREATE TABLE `answer_drafts` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`conversation_id` text NOT NULL,
	`message_id` text NOT NULL,
	`question` text NOT NULL,
	`answer` text NOT NULL,
	`status` text NOT NULL,
	`answer_id` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `answer_drafts_agent` ON `answer_drafts` (`workspace_id`,`agent_id`,`id`);--> statement-breakpoint
CREATE INDEX `answer_drafts_conversation` ON `answer_drafts` (`workspace_id`,`conversation_id`);--> statement-breakpoint
CREATE INDEX `handoffs_question` ON `handoffs` (`workspace_id`,`agent_id`,`question_key`,`requested_at`,`conversation_id`,`trigger_message_id`) WHERE question_key IS NOT NULL;
--> statement-breakpoint
-- Of each agent 200 drafts are kept: those that wait before those that were decided, and the latest of them.
CREATE TRIGGER answer_drafts_kept AFTER INSERT ON answer_drafts BEGIN
  DELETE FROM answer_drafts
   WHERE id IN (SELECT id FROM answer_drafts WHERE workspace_id = NEW.workspace_id AND agent_id = NEW.agent_id
     ORDER BY status = 'pending' DESC, id DESC LIMIT -1 OFFSET 200);
END;
