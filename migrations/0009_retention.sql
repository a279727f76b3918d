ALTER TABLE `workspaces` ADD `retention` text DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE `workspaces` ADD `prune_at` integer;--> statement-breakpoint
CREATE INDEX `workspaces_prune` ON `workspaces` (`prune_at`) WHERE prune_at IS NOT NULL;