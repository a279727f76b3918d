ALTER TABLE `answers` ADD `metadata` text DEFAULT '{}' NOT NULL;--> statement-breakpoint
CREATE INDEX `answers_metadata` ON `answers` (`workspace_id`,`agent_id`,`metadata`,`id`) WHERE metadata <> '{}';--> statement-breakpoint
ALTER TABLE `sources` ADD `metadata` text DEFAULT '{}' NOT NULL;--> statement-breakpoint
CREATE INDEX `sources_metadata` ON `sources` (`workspace_id`,`agent_id`,`metadata`,`id`) WHERE metadata <> '{}';