CREATE TABLE `analytics_spans` (
	`workspace_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`day` integer NOT NULL,
	`handoff_reasons` text DEFAULT '{}' NOT NULL,
	`channels` text DEFAULT '{}' NOT NULL,
	`first_responses` text DEFAULT '{}' NOT NULL,
	`resolutions` text DEFAULT '{}' NOT NULL,
	PRIMARY KEY(`workspace_id`, `agent_id`, `day`)
);
--> statement-breakpoint
-- A span holds as long as it exists: it goes with the first change of what it adds up, and the next overview adds it up again.
CREATE TRIGGER analytics_spans_outdated AFTER UPDATE OF handoff_reasons, channels, first_responses, resolutions ON analytics_days
WHEN NEW.handoff_reasons <> OLD.handoff_reasons OR NEW.channels <> OLD.channels OR NEW.first_responses <> OLD.first_responses
  OR NEW.resolutions <> OLD.resolutions BEGIN
  DELETE FROM analytics_spans WHERE workspace_id = NEW.workspace_id AND agent_id = NEW.agent_id AND day = NEW.day / 16 * 16;
END;
