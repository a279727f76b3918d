CREATE TABLE `lead_counts` (
	`workspace_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`count` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`workspace_id`, `agent_id`)
);
--> statement-breakpoint
ALTER TABLE `leads` ADD `indexed_at` integer;--> statement-breakpoint
CREATE INDEX `leads_unindexed` ON `leads` (`created_at`) WHERE indexed_at IS NULL;