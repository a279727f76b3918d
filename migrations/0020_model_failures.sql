ALTER TABLE `handoffs` ADD `failure` text;--> statement-breakpoint
CREATE INDEX `handoffs_failed` ON `handoffs` (`requested_at`) WHERE failure IS NOT NULL;