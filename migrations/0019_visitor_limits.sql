CREATE TABLE `visitor_counts` (
	`workspace_id` text NOT NULL,
	`flow` text NOT NULL,
	`starts_at` integer NOT NULL,
	`sender` text NOT NULL,
	`count` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`workspace_id`, `flow`, `starts_at`, `sender`)
);
--> statement-breakpoint
CREATE INDEX `visitor_counts_start` ON `visitor_counts` (`starts_at`);--> statement-breakpoint
ALTER TABLE `agents` ADD `tokens_ended_at` integer;--> statement-breakpoint
ALTER TABLE `agents` ADD `turnstile_site_key` text;--> statement-breakpoint
ALTER TABLE `agents` ADD `turnstile_secret` text;--> statement-breakpoint
ALTER TABLE `visitors` ADD `tokens_ended_at` integer;