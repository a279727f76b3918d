CREATE TABLE `attachments` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`conversation_id` text,
	`message_id` text,
	`owner` text NOT NULL,
	`name` text NOT NULL,
	`type` text NOT NULL,
	`size` integer NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer
);
--> statement-breakpoint
CREATE INDEX `attachments_workspace` ON `attachments` (`workspace_id`,`id`);--> statement-breakpoint
CREATE INDEX `attachments_conversation` ON `attachments` (`workspace_id`,`conversation_id`,`id`) WHERE conversation_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX `attachments_unused` ON `attachments` (`workspace_id`,`expires_at`) WHERE expires_at IS NOT NULL;--> statement-breakpoint
ALTER TABLE `messages` ADD `attachments` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE `workspaces` ADD `attachment_bytes` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
-- Keeps `workspaces.attachment_bytes`, which bounds the files of a workspace.
CREATE TRIGGER attachments_counted AFTER INSERT ON attachments BEGIN
  UPDATE workspaces SET attachment_bytes = attachment_bytes + 512 + NEW.size WHERE id = NEW.workspace_id;
END;
--> statement-breakpoint
-- Takes a deleted file off `workspaces.attachment_bytes`.
CREATE TRIGGER attachments_uncounted AFTER DELETE ON attachments BEGIN
  UPDATE workspaces SET attachment_bytes = attachment_bytes - 512 - OLD.size WHERE id = OLD.workspace_id;
END;
