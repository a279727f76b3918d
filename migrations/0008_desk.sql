CREATE TABLE `saved_replies` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`name` text NOT NULL,
	`content` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `saved_replies_workspace` ON `saved_replies` (`workspace_id`,`id`);--> statement-breakpoint
ALTER TABLE `conversations` ADD `snoozed_until` integer;--> statement-breakpoint
CREATE INDEX `conversations_snoozed` ON `conversations` (`workspace_id`,`status`,`updated_at`,`id`,`agent_id`,`channel`,`snoozed_until`) WHERE snoozed_until IS NOT NULL;--> statement-breakpoint

-- A conversation is no longer snoozed once its visitor writes.
CREATE TRIGGER messages_unsnoozed AFTER INSERT ON messages WHEN NEW.role = 'user' BEGIN
  UPDATE conversations SET snoozed_until = NULL WHERE id = NEW.conversation_id AND snoozed_until IS NOT NULL;
END;
