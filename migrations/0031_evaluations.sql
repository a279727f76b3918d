CREATE TABLE `evaluation_cases` (
	`workspace_id` text NOT NULL,
	`evaluation_id` text NOT NULL,
	`position` integer NOT NULL,
	`question` text NOT NULL,
	`previous` text DEFAULT '[]' NOT NULL,
	`expect` text DEFAULT '{}' NOT NULL,
	`verdict` text,
	`answer` text,
	`confidence` real,
	`source_found` integer,
	`trace` text DEFAULT '{}' NOT NULL,
	PRIMARY KEY(`workspace_id`, `evaluation_id`, `position`)
);
--> statement-breakpoint
CREATE TABLE `evaluations` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`name` text,
	`status` text NOT NULL,
	`cases_count` integer NOT NULL,
	`verdicts` text DEFAULT '{}' NOT NULL,
	`error` text,
	`lease_until` integer,
	`lease_id` text,
	`started_at` integer,
	`completed_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `evaluations_agent` ON `evaluations` (`workspace_id`,`agent_id`,`id`);--> statement-breakpoint
CREATE INDEX `evaluations_unfinished` ON `evaluations` (`workspace_id`,`updated_at`) WHERE status IN ('pending', 'running');