ALTER TABLE `agents` ADD `text_bytes` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `sources` ADD `text_bytes` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
-- The text of an agent is kept, not summed. What was read before counts from its next sync on.
CREATE TRIGGER sources_text_counted AFTER INSERT ON sources WHEN NEW.text_bytes <> 0 BEGIN
  UPDATE agents SET text_bytes = text_bytes + NEW.text_bytes WHERE id = NEW.agent_id;
END;
--> statement-breakpoint
CREATE TRIGGER sources_text_uncounted AFTER DELETE ON sources WHEN OLD.text_bytes <> 0 BEGIN
  UPDATE agents SET text_bytes = text_bytes - OLD.text_bytes WHERE id = OLD.agent_id;
END;
--> statement-breakpoint
CREATE TRIGGER sources_text_recounted AFTER UPDATE OF text_bytes ON sources WHEN NEW.text_bytes <> OLD.text_bytes BEGIN
  UPDATE agents SET text_bytes = text_bytes + NEW.text_bytes - OLD.text_bytes WHERE id = NEW.agent_id;
END;
