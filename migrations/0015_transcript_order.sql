DROP INDEX `messages_conversation`;--> statement-breakpoint
CREATE INDEX `messages_transcript` ON `messages` (`workspace_id`,`conversation_id`,`created_at`,`id`);