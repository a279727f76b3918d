CREATE TABLE `applications` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`member_id` text NOT NULL,
	`grant_id` text NOT NULL,
	`grant_record` text NOT NULL,
	`metadata` text,
	`name` text NOT NULL,
	`host` text NOT NULL,
	`scopes` text DEFAULT '[]' NOT NULL,
	`tokens` text DEFAULT '[]' NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `applications_workspace` ON `applications` (`workspace_id`,`member_id`,`id`);--> statement-breakpoint
CREATE INDEX `applications_expires` ON `applications` (`expires_at`);--> statement-breakpoint
CREATE TABLE `oauth_records` (
	`key` text PRIMARY KEY NOT NULL,
	`value` text NOT NULL,
	`expires_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `oauth_records_expires` ON `oauth_records` (`expires_at`);