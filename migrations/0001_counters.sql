-- Counts are kept, not counted: each is changed by the statement that changes its rows, once however often it is repeated.

CREATE TRIGGER agents_counted AFTER INSERT ON agents BEGIN
  UPDATE workspaces SET agents_count = agents_count + 1 WHERE id = NEW.workspace_id;
END;
--> statement-breakpoint
CREATE TRIGGER agents_uncounted AFTER DELETE ON agents BEGIN
  UPDATE workspaces SET agents_count = agents_count - 1 WHERE id = OLD.workspace_id;
END;
--> statement-breakpoint
CREATE TRIGGER sources_counted AFTER INSERT ON sources BEGIN
  UPDATE agents SET sources_count = sources_count + 1 WHERE id = NEW.agent_id;
  UPDATE workspaces SET sources_count = sources_count + 1, pages_count = pages_count + NEW.pages_indexed WHERE id = NEW.workspace_id;
END;
--> statement-breakpoint
CREATE TRIGGER sources_uncounted AFTER DELETE ON sources BEGIN
  UPDATE agents SET sources_count = sources_count - 1 WHERE id = OLD.agent_id;
  UPDATE workspaces SET sources_count = sources_count - 1, pages_count = pages_count - OLD.pages_indexed WHERE id = OLD.workspace_id;
END;
--> statement-breakpoint
CREATE TRIGGER sources_pages_counted AFTER UPDATE OF pages_indexed ON sources WHEN NEW.pages_indexed <> OLD.pages_indexed BEGIN
  UPDATE workspaces SET pages_count = pages_count + NEW.pages_indexed - OLD.pages_indexed WHERE id = NEW.workspace_id;
END;
--> statement-breakpoint
CREATE TRIGGER answers_counted AFTER INSERT ON answers BEGIN
  UPDATE agents SET answers_count = answers_count + 1 WHERE id = NEW.agent_id;
END;
--> statement-breakpoint
CREATE TRIGGER answers_uncounted AFTER DELETE ON answers BEGIN
  UPDATE agents SET answers_count = answers_count - 1 WHERE id = OLD.agent_id;
END;
--> statement-breakpoint
CREATE TRIGGER messages_counted AFTER INSERT ON messages BEGIN
  UPDATE conversations
     SET message_count = message_count + 1, last_message_preview = substr(NEW.content, 1, 200),
         last_message_at = max(last_message_at, NEW.created_at), updated_at = max(updated_at, NEW.created_at),
         idle_at = max(last_message_at, NEW.created_at)
           + 60000 * (SELECT inactivity_minutes FROM agents WHERE agents.id = conversations.agent_id),
         first_ai_reply_at = coalesce(first_ai_reply_at, iif(NEW.role = 'assistant', NEW.created_at, NULL))
   WHERE id = NEW.conversation_id;
END;
--> statement-breakpoint
CREATE TRIGGER messages_quota_used AFTER INSERT ON messages WHEN NEW.quota_period IS NOT NULL BEGIN
  INSERT INTO usage_periods (workspace_id, period, messages) VALUES (NEW.workspace_id, NEW.quota_period, 1)
    ON CONFLICT (workspace_id, period) DO UPDATE SET messages = messages + 1;
END;
--> statement-breakpoint
CREATE TRIGGER messages_quota_returned AFTER UPDATE OF quota_period ON messages WHEN OLD.quota_period IS NOT NULL AND NEW.quota_period IS NULL BEGIN
  UPDATE usage_periods SET messages = messages - 1 WHERE workspace_id = OLD.workspace_id AND period = OLD.quota_period;
END;
--> statement-breakpoint
CREATE TRIGGER workspaces_counted AFTER INSERT ON workspace_directory BEGIN
  INSERT INTO shards (shard, workspaces_count) VALUES (NEW.shard, 1)
    ON CONFLICT (shard) DO UPDATE SET workspaces_count = workspaces_count + 1;
END;
--> statement-breakpoint
CREATE TRIGGER workspaces_uncounted AFTER DELETE ON workspace_directory BEGIN
  UPDATE shards SET workspaces_count = workspaces_count - 1 WHERE shard = OLD.shard;
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
CREATE TRIGGER leads_counted AFTER INSERT ON leads BEGIN
  INSERT INTO lead_counts (workspace_id, agent_id, count) VALUES (NEW.workspace_id, NEW.agent_id, 1)
    ON CONFLICT (workspace_id, agent_id) DO UPDATE SET count = count + 1;
END;
--> statement-breakpoint
CREATE TRIGGER leads_uncounted AFTER DELETE ON leads BEGIN
  UPDATE lead_counts SET count = count - 1 WHERE workspace_id = OLD.workspace_id AND agent_id = OLD.agent_id;
END;
