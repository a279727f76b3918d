CREATE TABLE `shard_changes` (
	`number` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`shard` text NOT NULL,
	`table_name` text NOT NULL,
	`key` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `shard_changes_row` ON `shard_changes` (`shard`,`table_name`,`key`);--> statement-breakpoint
CREATE TABLE `shard_copies` (
	`source` integer PRIMARY KEY NOT NULL,
	`shards` text NOT NULL,
	`progress` text NOT NULL,
	`batches` integer DEFAULT 0 NOT NULL,
	`started_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `shard_moves` (
	`shard` text PRIMARY KEY NOT NULL,
	`state` text NOT NULL,
	`other` integer NOT NULL,
	`held_until` integer,
	`left_at` integer,
	`erased_at` integer
);
