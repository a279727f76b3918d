ALTER TABLE `usage_periods` ADD `redactions` text DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE `workspaces` ADD `redaction` text DEFAULT '{}' NOT NULL;