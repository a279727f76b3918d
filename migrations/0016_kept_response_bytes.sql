ALTER TABLE `workspaces` ADD `kept_response_bytes` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE TRIGGER kept_responses_counted AFTER UPDATE OF response_body ON idempotency_records
WHEN NEW.response_body IS NOT OLD.response_body BEGIN
  UPDATE workspaces
     SET kept_response_bytes = kept_response_bytes + coalesce(length(NEW.response_body), 0) - coalesce(length(OLD.response_body), 0)
   WHERE id = NEW.workspace_id;
END;
--> statement-breakpoint
CREATE TRIGGER kept_responses_uncounted AFTER DELETE ON idempotency_records WHEN OLD.response_body IS NOT NULL BEGIN
  UPDATE workspaces SET kept_response_bytes = kept_response_bytes - length(OLD.response_body) WHERE id = OLD.workspace_id;
END;
--> statement-breakpoint
UPDATE workspaces SET kept_response_bytes =
  (SELECT coalesce(sum(length(response_body)), 0) FROM idempotency_records WHERE workspace_id = workspaces.id);
