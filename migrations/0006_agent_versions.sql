-- The versions of agents' settings. The settings of existing agents become their first version.

CREATE TABLE `agent_versions` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`number` integer NOT NULL,
	`settings` text DEFAULT '{}' NOT NULL,
	`base` integer,
	`changed` text DEFAULT '[]' NOT NULL,
	`note` text,
	`author` text,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `agent_versions_agent` ON `agent_versions` (`workspace_id`,`agent_id`,`number`);
--> statement-breakpoint
ALTER TABLE `agents` ADD `version` integer DEFAULT 1 NOT NULL;
--> statement-breakpoint
ALTER TABLE `agents` ADD `rollout_version` integer;
--> statement-breakpoint
ALTER TABLE `agents` ADD `rollout_share` real;
--> statement-breakpoint
ALTER TABLE `conversations` ADD `agent_version` integer;
--> statement-breakpoint
ALTER TABLE `messages` ADD `agent_version` integer;
--> statement-breakpoint
-- The first version of an agent has the id of the agent.
INSERT INTO agent_versions (id, workspace_id, agent_id, number, settings, created_at)
  SELECT id, workspace_id, id, 1, json_object('language', language, 'instructions', instructions, 'welcomeMessage', welcome_message,
      'handoffMessage', handoff_message, 'confidenceThreshold', confidence_threshold, 'model', model, 'tools', json(tools),
      'languages', json(languages)), updated_at
    FROM agents;
