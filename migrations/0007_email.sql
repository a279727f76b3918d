CREATE TABLE `email_arrivals` (
	`workspace_id` text NOT NULL,
	`mail_key` text NOT NULL,
	`sender_key` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `mail_key`)
);
--> statement-breakpoint
CREATE INDEX `email_arrivals_sender` ON `email_arrivals` (`workspace_id`,`sender_key`,`created_at`);--> statement-breakpoint
CREATE INDEX `email_arrivals_created` ON `email_arrivals` (`created_at`);--> statement-breakpoint
CREATE TABLE `email_outbox` (
	`message_id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`conversation_id` text NOT NULL,
	`status` text NOT NULL,
	`attempt_count` integer DEFAULT 0 NOT NULL,
	`next_attempt_at` integer NOT NULL,
	`lease_until` integer,
	`error` text,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `email_outbox_conversation` ON `email_outbox` (`workspace_id`,`conversation_id`);--> statement-breakpoint
CREATE INDEX `email_outbox_due` ON `email_outbox` (`next_attempt_at`) WHERE status = 'pending';--> statement-breakpoint
CREATE TABLE `email_threads` (
	`conversation_id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`address` text NOT NULL,
	`subject` text NOT NULL,
	`last_message_id` text,
	`earlier_ids` text DEFAULT '[]' NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `email_threads_workspace` ON `email_threads` (`workspace_id`,`conversation_id`);