CREATE TABLE `sweep_backoffs` (
	`task` text NOT NULL,
	`key` text NOT NULL,
	`failures` integer NOT NULL,
	`retry_at` integer NOT NULL,
	PRIMARY KEY(`task`, `key`)
);
--> statement-breakpoint
CREATE INDEX `sweep_backoffs_retry` ON `sweep_backoffs` (`retry_at`);--> statement-breakpoint
DROP INDEX `privacy_erasures_created`;--> statement-breakpoint
DROP INDEX `privacy_erasures_workspace`;--> statement-breakpoint
CREATE INDEX `privacy_erasures_workspace` ON `privacy_erasures` (`workspace_id`,`created_at`);--> statement-breakpoint
DROP INDEX `webhook_erasures_created`;--> statement-breakpoint
DROP INDEX `webhook_erasures_workspace`;--> statement-breakpoint
CREATE INDEX `webhook_erasures_workspace` ON `webhook_erasures` (`workspace_id`,`created_at`);--> statement-breakpoint
DROP INDEX `answers_unindexed`;--> statement-breakpoint
CREATE INDEX `answers_unindexed` ON `answers` (`workspace_id`,`created_at`) WHERE indexed_at IS NULL;--> statement-breakpoint
DROP INDEX `conversations_idle`;--> statement-breakpoint
CREATE INDEX `conversations_idle` ON `conversations` (`workspace_id`,`idle_at`) WHERE status = 'ai_handled';--> statement-breakpoint
DROP INDEX `deliveries_due`;--> statement-breakpoint
CREATE INDEX `deliveries_due` ON `deliveries` (`workspace_id`,`next_attempt_at`) WHERE status = 'pending';--> statement-breakpoint
DROP INDEX `email_outbox_due`;--> statement-breakpoint
CREATE INDEX `email_outbox_due` ON `email_outbox` (`workspace_id`,`next_attempt_at`) WHERE status = 'pending';--> statement-breakpoint
DROP INDEX `leads_unindexed`;--> statement-breakpoint
CREATE INDEX `leads_unindexed` ON `leads` (`workspace_id`,`created_at`) WHERE indexed_at IS NULL;--> statement-breakpoint
DROP INDEX `sources_unfinished`;--> statement-breakpoint
DROP INDEX `sources_due`;--> statement-breakpoint
CREATE INDEX `sources_unfinished` ON `sources` (`workspace_id`,`updated_at`) WHERE status IN ('pending', 'processing');--> statement-breakpoint
CREATE INDEX `sources_due` ON `sources` (`workspace_id`,`next_sync_at`) WHERE next_sync_at IS NOT NULL;--> statement-breakpoint
DROP INDEX `workspaces_deleted`;--> statement-breakpoint
CREATE INDEX `workspaces_deleted` ON `workspaces` (`id`,`deleted_at`) WHERE deleted_at IS NOT NULL;