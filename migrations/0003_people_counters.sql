-- A conversation's activity, its end by idleness, and how many there are of each kind.

DROP TRIGGER messages_counted;
--> statement-breakpoint
CREATE TRIGGER messages_counted AFTER INSERT ON messages BEGIN
  UPDATE conversations
     SET message_count = message_count + 1, last_message_preview = substr(NEW.content, 1, 200),
         last_message_at = max(last_message_at, NEW.created_at), updated_at = max(updated_at, NEW.created_at),
         idle_at = max(last_message_at, NEW.created_at)
           + 60000 * (SELECT inactivity_minutes FROM agents WHERE agents.id = conversations.agent_id)
   WHERE id = NEW.conversation_id;
END;
--> statement-breakpoint
CREATE TRIGGER conversations_counted AFTER INSERT ON conversations BEGIN
  INSERT INTO conversation_counts (workspace_id, agent_id, status, channel, count)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.status, NEW.channel, 1)
    ON CONFLICT (workspace_id, agent_id, status, channel) DO UPDATE SET count = count + 1;
END;
--> statement-breakpoint
CREATE TRIGGER conversations_uncounted AFTER DELETE ON conversations BEGIN
  UPDATE conversation_counts SET count = count - 1
   WHERE workspace_id = OLD.workspace_id AND agent_id = OLD.agent_id AND status = OLD.status AND channel = OLD.channel;
END;
--> statement-breakpoint
CREATE TRIGGER conversations_recounted AFTER UPDATE OF status ON conversations WHEN NEW.status <> OLD.status BEGIN
  UPDATE conversation_counts SET count = count - 1
   WHERE workspace_id = OLD.workspace_id AND agent_id = OLD.agent_id AND status = OLD.status AND channel = OLD.channel;
  INSERT INTO conversation_counts (workspace_id, agent_id, status, channel, count)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.status, NEW.channel, 1)
    ON CONFLICT (workspace_id, agent_id, status, channel) DO UPDATE SET count = count + 1;
END;
--> statement-breakpoint
INSERT INTO conversation_counts (workspace_id, agent_id, status, channel, count)
  SELECT workspace_id, agent_id, status, channel, count(*) FROM conversations GROUP BY workspace_id, agent_id, status, channel;
