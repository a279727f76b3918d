-- The visitor's first message without a reply begins the time in which the assignee is to reply, and a reply of the team ends it.
DROP TRIGGER messages_unanswered;
--> statement-breakpoint
CREATE TRIGGER messages_unanswered AFTER INSERT ON messages WHEN NEW.role IN ('user', 'human') BEGIN
  UPDATE conversations SET unanswered_since = CASE NEW.role WHEN 'user' THEN coalesce(unanswered_since, NEW.created_at) END
   WHERE id = NEW.conversation_id AND assignee_id IS NOT NULL
     AND (unanswered_since IS NOT NULL OR (NEW.role = 'user' AND status IN ('needs_human', 'human_active')));
END;
--> statement-breakpoint
-- A conversation that is reopened leaves a member who was removed and a team that was deleted.
CREATE TRIGGER conversations_reopened AFTER UPDATE OF status ON conversations WHEN OLD.status = 'resolved' AND NEW.status <> 'resolved' BEGIN
  UPDATE conversations SET assignee_id = NULL, assignee_name = NULL
   WHERE id = NEW.id AND EXISTS (
     SELECT 1 FROM members m WHERE m.workspace_id = NEW.workspace_id AND m.id = NEW.assignee_id AND m.status = 'removed');
  UPDATE conversations SET team_id = NULL
   WHERE id = NEW.id AND team_id IS NOT NULL AND NOT EXISTS (
     SELECT 1 FROM teams t WHERE t.workspace_id = NEW.workspace_id AND t.id = NEW.team_id);
END;
--> statement-breakpoint
DROP TRIGGER conversations_returned;
--> statement-breakpoint
-- The assignee of a conversation that comes to the team again has yet to reply.
CREATE TRIGGER conversations_returned AFTER UPDATE OF status ON conversations
WHEN NEW.status IN ('needs_human', 'human_active') AND OLD.status NOT IN ('needs_human', 'human_active') AND NEW.assignee_id IS NOT NULL BEGIN
  UPDATE conversations SET unanswered_since = CAST(unixepoch('subsec') * 1000 AS INTEGER)
   WHERE id = NEW.id AND assignee_id IS NOT NULL AND 'user' = (
     SELECT role FROM messages m WHERE m.workspace_id = NEW.workspace_id AND m.conversation_id = NEW.id AND m.role IN ('user', 'human')
      ORDER BY m.created_at DESC, m.id DESC LIMIT 1);
END;
--> statement-breakpoint
-- When a snooze ends, the time in which the assignee is to reply begins again.
CREATE TRIGGER conversations_unsnoozed AFTER UPDATE OF snoozed_until ON conversations
WHEN OLD.snoozed_until IS NOT NULL AND NEW.snoozed_until IS NULL AND NEW.unanswered_since IS NOT NULL BEGIN
  UPDATE conversations SET unanswered_since = max(unanswered_since, min(OLD.snoozed_until, CAST(unixepoch('subsec') * 1000 AS INTEGER)))
   WHERE id = NEW.id;
END;
