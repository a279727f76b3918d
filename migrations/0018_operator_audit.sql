CREATE TABLE `operator_audit` (
	`id` text PRIMARY KEY NOT NULL,
	`actor` text NOT NULL,
	`operation` text NOT NULL,
	`workspace_id` text,
	`target_id` text,
	`fields` text DEFAULT '[]' NOT NULL,
	`request_id` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `operator_audit_workspace` ON `operator_audit` (`workspace_id`,`id`);