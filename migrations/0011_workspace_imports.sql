CREATE TABLE `workspace_imports` (
	`workspace_id` text PRIMARY KEY NOT NULL,
	`export_id` text NOT NULL,
	`workspace` text,
	`recounted_at` integer,
	`checked` text,
	`created_at` integer NOT NULL,
	`completed_at` integer
);
