-- Whoever answers a conversation that came by email, answers by email: no writer can forget it.
CREATE TRIGGER messages_mailed AFTER INSERT ON messages WHEN NEW.role IN ('assistant', 'human')
  AND EXISTS (SELECT 1 FROM email_threads WHERE conversation_id = NEW.conversation_id) BEGIN
  INSERT INTO email_outbox (message_id, workspace_id, conversation_id, status, next_attempt_at, created_at)
    VALUES (NEW.id, NEW.workspace_id, NEW.conversation_id, 'pending', NEW.created_at, NEW.created_at)
    ON CONFLICT DO NOTHING;
END;
