ALTER TABLE `api_keys` ADD `secret_id` text;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `outdated_use_at` integer;