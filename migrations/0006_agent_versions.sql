-- The versions of agents' settings, and what is counted for each. The settings of existing agents become their first version.

CREATE TABLE `agent_version_counts` (
	`workspace_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`version` integer NOT NULL,
	`ai_replies` integer DEFAULT 0 NOT NULL,
	`handoff_replies` integer DEFAULT 0 NOT NULL,
	`rated_up` integer DEFAULT 0 NOT NULL,
	`rated_down` integer DEFAULT 0 NOT NULL,
	`conversations` integer DEFAULT 0 NOT NULL,
	`handed_off` integer DEFAULT 0 NOT NULL,
	`ai_resolved` integer DEFAULT 0 NOT NULL,
	`csat_sum` integer DEFAULT 0 NOT NULL,
	`csat_count` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`workspace_id`, `agent_id`, `version`)
);
--> statement-breakpoint
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
ALTER TABLE `evaluations` ADD `version` integer;
--> statement-breakpoint
ALTER TABLE `messages` ADD `agent_version` integer;
--> statement-breakpoint
-- The first version of an agent has the id of the agent.
INSERT INTO agent_versions (id, workspace_id, agent_id, number, settings, created_at)
  SELECT id, workspace_id, id, 1, json_object('language', language, 'instructions', instructions, 'welcomeMessage', welcome_message,
      'handoffMessage', handoff_message, 'confidenceThreshold', confidence_threshold, 'model', model, 'tools', json(tools),
      'languages', json(languages)), updated_at
    FROM agents;
--> statement-breakpoint
-- Counts an answer for the version that wrote it and, with the first answer of a conversation, the conversation for the version with which
-- it started. The draft and the playground do not count.
CREATE TRIGGER version_answers_counted AFTER INSERT ON messages WHEN NEW.role = 'assistant' AND NEW.agent_version > 0 BEGIN
  INSERT INTO agent_version_counts (workspace_id, agent_id, version, ai_replies, handoff_replies, conversations)
    SELECT workspace_id, agent_id, version, sum(replied), sum(handed_off), sum(begun)
      FROM (SELECT workspace_id, agent_id, NEW.agent_version AS version, 1 AS replied, NEW.needs_human AS handed_off, 0 AS begun
              FROM conversations WHERE id = NEW.conversation_id AND channel <> 'playground'
            UNION ALL
            SELECT workspace_id, agent_id, agent_version, 0, 0, 1
              FROM conversations WHERE id = NEW.conversation_id AND channel <> 'playground' AND agent_version > 0
               AND (first_ai_reply_at IS NULL OR (latest_message_id IS NEW.id AND first_ai_reply_at = NEW.created_at)))
     GROUP BY workspace_id, agent_id, version
    ON CONFLICT DO UPDATE SET ai_replies = ai_replies + excluded.ai_replies, handoff_replies = handoff_replies + excluded.handoff_replies,
      conversations = conversations + excluded.conversations;
END;
--> statement-breakpoint
-- Counts a rating for the version that wrote the answer.
CREATE TRIGGER version_rated AFTER INSERT ON message_feedback BEGIN
  UPDATE agent_version_counts SET rated_up = rated_up + (NEW.rating = 'up'), rated_down = rated_down + (NEW.rating = 'down')
   WHERE workspace_id = NEW.workspace_id AND agent_id = NEW.agent_id
     AND version = (SELECT agent_version FROM messages WHERE id = NEW.message_id)
     AND EXISTS (SELECT 1 FROM conversations WHERE id = NEW.conversation_id AND channel <> 'playground');
END;
--> statement-breakpoint
-- Counts a rating that changes.
CREATE TRIGGER version_rated_again AFTER UPDATE OF rating ON message_feedback WHEN NEW.rating <> OLD.rating BEGIN
  UPDATE agent_version_counts
     SET rated_up = rated_up + (NEW.rating = 'up') - (OLD.rating = 'up'), rated_down = rated_down + (NEW.rating = 'down') - (OLD.rating = 'down')
   WHERE workspace_id = NEW.workspace_id AND agent_id = NEW.agent_id
     AND version = (SELECT agent_version FROM messages WHERE id = NEW.message_id)
     AND EXISTS (SELECT 1 FROM conversations WHERE id = NEW.conversation_id AND channel <> 'playground');
END;
--> statement-breakpoint
-- Counts a conversation with its first hand-off, if the agent wrote in it.
CREATE TRIGGER version_handed_off AFTER INSERT ON handoffs
WHEN NOT EXISTS (SELECT 1 FROM handoffs other WHERE other.workspace_id = NEW.workspace_id
  AND other.conversation_id = NEW.conversation_id AND other.id <> NEW.id) BEGIN
  UPDATE agent_version_counts SET handed_off = handed_off + 1
   WHERE (workspace_id, agent_id, version) IN (SELECT workspace_id, agent_id, agent_version FROM conversations
     WHERE id = NEW.conversation_id AND channel <> 'playground' AND first_ai_reply_at IS NOT NULL);
END;
--> statement-breakpoint
-- Counts a conversation that the agent resolves.
CREATE TRIGGER version_ai_resolved AFTER UPDATE OF ai_resolved_at ON conversations
WHEN OLD.ai_resolved_at IS NULL AND NEW.ai_resolved_at IS NOT NULL AND NEW.channel <> 'playground' BEGIN
  UPDATE agent_version_counts SET ai_resolved = ai_resolved + 1
   WHERE workspace_id = NEW.workspace_id AND agent_id = NEW.agent_id AND version = NEW.agent_version;
END;
--> statement-breakpoint
-- Counts the satisfaction score of a conversation.
CREATE TRIGGER version_csat AFTER UPDATE OF csat_score ON conversations
WHEN NEW.csat_score IS NOT OLD.csat_score AND NEW.channel <> 'playground' BEGIN
  UPDATE agent_version_counts
     SET csat_sum = csat_sum + coalesce(NEW.csat_score, 0) - coalesce(OLD.csat_score, 0),
         csat_count = csat_count + (NEW.csat_score IS NOT NULL) - (OLD.csat_score IS NOT NULL)
   WHERE workspace_id = NEW.workspace_id AND agent_id = NEW.agent_id AND version = NEW.agent_version;
END;
--> statement-breakpoint
-- Deletes the counts of a version that is not kept any more.
CREATE TRIGGER version_counts_deleted AFTER DELETE ON agent_versions WHEN OLD.number > 0 BEGIN
  DELETE FROM agent_version_counts WHERE workspace_id = OLD.workspace_id AND agent_id = OLD.agent_id AND version = OLD.number;
END;
