DROP INDEX `events_committed`;--> statement-breakpoint
ALTER TABLE `events` ADD `sequence` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
-- Events have been read in the order of their rowids: they keep it, each with its time or the next number after the one before.
UPDATE `events` SET `sequence` = `ordered`.`sequence` FROM (
	SELECT `id`, `number` + max(`created_at` - `number`) OVER (PARTITION BY `workspace_id` ORDER BY `number`) AS `sequence`
	FROM (SELECT `id`, `workspace_id`, `created_at`, row_number() OVER (PARTITION BY `workspace_id` ORDER BY rowid) AS `number` FROM `events`)
) AS `ordered` WHERE `events`.`id` = `ordered`.`id`;--> statement-breakpoint
CREATE INDEX `events_sequence` ON `events` (`workspace_id`,`sequence`);
