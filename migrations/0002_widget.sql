ALTER TABLE `conversations` ADD `begun_by` text;--> statement-breakpoint
ALTER TABLE `visitors` ADD `merged_into` text;--> statement-breakpoint
CREATE INDEX `visitors_merged` ON `visitors` (`workspace_id`,`merged_into`) WHERE merged_into IS NOT NULL;