-- The business hours of the team, and agents that never hand off, or always do so for some words.

ALTER TABLE `agents` ADD `handoff` text DEFAULT 'on' NOT NULL;--> statement-breakpoint
ALTER TABLE `agents` ADD `handoff_off_messages` text DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE `agents` ADD `handoff_words` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE `handoffs` ADD `opens_at` integer;--> statement-breakpoint
ALTER TABLE `workspaces` ADD `business_hours` text DEFAULT '{}' NOT NULL;--> statement-breakpoint
-- The versions of agents up to now hand off.
UPDATE agent_versions
   SET settings = json_set(settings, '$.handoff', 'on', '$.handoffOffMessages', json('{}'), '$.handoffWords', json('[]'))
 WHERE number > 0;
