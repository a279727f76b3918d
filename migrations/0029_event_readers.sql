ALTER TABLE `workspaces` ADD `events_read_at` integer;--> statement-breakpoint
CREATE INDEX `events_committed` ON `events` (`workspace_id`);