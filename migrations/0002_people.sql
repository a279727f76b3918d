CREATE TABLE `conversation_counts` (
	`workspace_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`status` text NOT NULL,
	`channel` text NOT NULL,
	`count` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`workspace_id`, `agent_id`, `status`, `channel`)
);
--> statement-breakpoint
DROP INDEX `conversations_activity`;--> statement-breakpoint
DROP INDEX `conversations_agent`;--> statement-breakpoint
DROP INDEX `conversations_status`;--> statement-breakpoint
DROP INDEX `conversations_channel`;--> statement-breakpoint
DROP INDEX `conversations_idle`;--> statement-breakpoint
ALTER TABLE `conversations` ADD `idle_at` integer;--> statement-breakpoint
CREATE INDEX `conversations_by_activity` ON `conversations` (`workspace_id`,`updated_at`,`id`);--> statement-breakpoint
CREATE INDEX `conversations_by_agent` ON `conversations` (`workspace_id`,`agent_id`,`updated_at`,`id`);--> statement-breakpoint
CREATE INDEX `conversations_by_status` ON `conversations` (`workspace_id`,`status`,`updated_at`,`id`);--> statement-breakpoint
CREATE INDEX `conversations_by_channel` ON `conversations` (`workspace_id`,`channel`,`updated_at`,`id`);--> statement-breakpoint
CREATE INDEX `conversations_by_agent_status` ON `conversations` (`workspace_id`,`agent_id`,`status`,`updated_at`,`id`);--> statement-breakpoint
CREATE INDEX `conversations_by_agent_channel` ON `conversations` (`workspace_id`,`agent_id`,`channel`,`updated_at`,`id`);--> statement-breakpoint
CREATE INDEX `conversations_by_status_channel` ON `conversations` (`workspace_id`,`status`,`channel`,`updated_at`,`id`);--> statement-breakpoint
CREATE INDEX `conversations_by_all` ON `conversations` (`workspace_id`,`agent_id`,`status`,`channel`,`updated_at`,`id`);--> statement-breakpoint
CREATE INDEX `conversations_idle` ON `conversations` (`idle_at`) WHERE status = 'ai_handled';