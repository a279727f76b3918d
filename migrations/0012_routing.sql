-- Teams, the rules that route hand-offs, and the priority of conversations.

CREATE TABLE `routing_rules` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`name` text NOT NULL,
	`position` integer NOT NULL,
	`conditions` text DEFAULT '{}' NOT NULL,
	`actions` text DEFAULT '{}' NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `routing_rules_workspace` ON `routing_rules` (`workspace_id`,`id`);--> statement-breakpoint
CREATE TABLE `teams` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`name` text NOT NULL,
	`member_ids` text DEFAULT '[]' NOT NULL,
	`conversations_per_member` integer NOT NULL,
	`unassign_after_minutes` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `teams_workspace` ON `teams` (`workspace_id`,`id`);--> statement-breakpoint
ALTER TABLE `conversations` ADD `team_id` text;--> statement-breakpoint
ALTER TABLE `conversations` ADD `priority` text DEFAULT 'normal' NOT NULL;--> statement-breakpoint
ALTER TABLE `conversations` ADD `queued_at` integer;--> statement-breakpoint
ALTER TABLE `conversations` ADD `passed_over_id` text;--> statement-breakpoint
ALTER TABLE `conversations` ADD `unanswered_since` integer;--> statement-breakpoint
CREATE INDEX `conversations_unassigned` ON `conversations` (`workspace_id`,`status`,`updated_at`,`id`,`agent_id`,`channel`,`team_id`,`priority`) WHERE assignee_id IS NULL AND status IN ('needs_human', 'human_active');--> statement-breakpoint
CREATE INDEX `conversations_team` ON `conversations` (`workspace_id`,`team_id`,`status`,`updated_at`,`id`,`agent_id`,`channel`) WHERE team_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX `conversations_priority` ON `conversations` (`workspace_id`,`priority`,`status`,`updated_at`,`id`,`agent_id`,`channel`) WHERE priority <> 'normal';--> statement-breakpoint
CREATE INDEX `conversations_queued` ON `conversations` (`workspace_id`,`queued_at`,`id`,`team_id`,`priority`,`passed_over_id`) WHERE queued_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX `conversations_unanswered` ON `conversations` (`workspace_id`,`unanswered_since`) WHERE unanswered_since IS NOT NULL;--> statement-breakpoint
ALTER TABLE `members` ADD `last_assigned_at` integer;--> statement-breakpoint
-- A member who is removed leaves the teams.
CREATE TRIGGER members_leave_teams AFTER UPDATE OF status ON members WHEN NEW.status = 'removed' AND OLD.status <> 'removed' BEGIN
  UPDATE teams
     SET member_ids = (SELECT json_group_array(value) FROM json_each(member_ids) WHERE value <> NEW.id), updated_at = NEW.updated_at
   WHERE workspace_id = NEW.workspace_id AND EXISTS (SELECT 1 FROM json_each(member_ids) WHERE value = NEW.id);
END;
--> statement-breakpoint
-- A conversation with an assignee waits for nobody else. Its visitor waits for the assignee from now on, unless the team wrote last.
CREATE TRIGGER conversations_assigned AFTER UPDATE OF assignee_id ON conversations WHEN NEW.assignee_id IS NOT OLD.assignee_id BEGIN
  UPDATE conversations
     SET queued_at = CASE WHEN assignee_id IS NULL THEN queued_at END,
         passed_over_id = CASE WHEN assignee_id IS NULL THEN passed_over_id END,
         unanswered_since = CASE WHEN assignee_id IS NOT NULL AND status IN ('needs_human', 'human_active') AND 'user' = (
           SELECT role FROM messages m WHERE m.workspace_id = NEW.workspace_id AND m.conversation_id = NEW.id AND m.role IN ('user', 'human')
            ORDER BY m.created_at DESC, m.id DESC LIMIT 1) THEN CAST(unixepoch('subsec') * 1000 AS INTEGER) END
   WHERE id = NEW.id;
  UPDATE members
     SET last_assigned_at = max(
           CAST(unixepoch('subsec') * 1000 AS INTEGER),
           coalesce(1 + (SELECT max(last_assigned_at) FROM members WHERE workspace_id = NEW.workspace_id), 0))
   WHERE id = NEW.assignee_id AND workspace_id = NEW.workspace_id;
END;
--> statement-breakpoint
-- A conversation that the team does not have waits for none of its members.
CREATE TRIGGER conversations_left_team AFTER UPDATE OF status ON conversations
WHEN NEW.status NOT IN ('needs_human', 'human_active') AND (NEW.queued_at IS NOT NULL OR NEW.unanswered_since IS NOT NULL) BEGIN
  UPDATE conversations SET queued_at = NULL, unanswered_since = NULL WHERE id = NEW.id;
END;
--> statement-breakpoint
-- The assignee of a conversation that comes to the team again has yet to reply.
CREATE TRIGGER conversations_returned AFTER UPDATE OF status ON conversations
WHEN NEW.status IN ('needs_human', 'human_active') AND OLD.status NOT IN ('needs_human', 'human_active') AND NEW.assignee_id IS NOT NULL BEGIN
  UPDATE conversations SET unanswered_since = CAST(unixepoch('subsec') * 1000 AS INTEGER) WHERE id = NEW.id AND 'user' = (
    SELECT role FROM messages m WHERE m.workspace_id = NEW.workspace_id AND m.conversation_id = NEW.id AND m.role IN ('user', 'human')
     ORDER BY m.created_at DESC, m.id DESC LIMIT 1);
END;
--> statement-breakpoint
-- The visitor's last message begins the time in which the assignee is to reply, and a reply of the team ends it.
CREATE TRIGGER messages_unanswered AFTER INSERT ON messages WHEN NEW.role IN ('user', 'human') BEGIN
  UPDATE conversations SET unanswered_since = CASE NEW.role WHEN 'user' THEN NEW.created_at END
   WHERE id = NEW.conversation_id AND assignee_id IS NOT NULL
     AND (unanswered_since IS NOT NULL OR (NEW.role = 'user' AND status IN ('needs_human', 'human_active')));
END;
