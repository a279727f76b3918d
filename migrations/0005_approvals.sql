CREATE TABLE `approvals` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`conversation_id` text NOT NULL,
	`message_id` text NOT NULL,
	`tool` text NOT NULL,
	`arguments` text DEFAULT '{}' NOT NULL,
	`status` text NOT NULL,
	`reason` text,
	`decided_by_id` text,
	`decided_by_name` text,
	`outcome` text,
	`requested_at` integer NOT NULL,
	`decided_at` integer,
	`expires_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `approvals_conversation` ON `approvals` (`workspace_id`,`conversation_id`,`id`);--> statement-breakpoint
CREATE INDEX `approvals_status` ON `approvals` (`workspace_id`,`status`,`id`);--> statement-breakpoint
CREATE INDEX `approvals_workspace` ON `approvals` (`workspace_id`,`id`);