-- The members of teams with their sessions, how they sign in, and the audit log of a workspace.

CREATE TABLE `member_sessions` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`member_id` text NOT NULL,
	`hash` text NOT NULL,
	`method` text NOT NULL,
	`client` text,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `member_sessions_workspace` ON `member_sessions` (`workspace_id`,`member_id`,`id`);--> statement-breakpoint
CREATE INDEX `member_sessions_expires` ON `member_sessions` (`expires_at`);--> statement-breakpoint
CREATE TABLE `members` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`name` text NOT NULL,
	`email` text NOT NULL,
	`role` text NOT NULL,
	`scopes` text DEFAULT '[]' NOT NULL,
	`status` text NOT NULL,
	`availability` text NOT NULL,
	`oidc_issuer` text,
	`oidc_subject` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `members_workspace` ON `members` (`workspace_id`,`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `members_email` ON `members` (`workspace_id`,`email`);--> statement-breakpoint
CREATE TABLE `sign_in_settings` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`methods` text DEFAULT '[]' NOT NULL,
	`oidc_issuer` text,
	`oidc_client_id` text,
	`oidc_client_secret` text,
	`domains` text DEFAULT '[]' NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `sign_in_settings_workspace` ON `sign_in_settings` (`workspace_id`);--> statement-breakpoint
ALTER TABLE `audit_log` ADD `target_id` text;--> statement-breakpoint
CREATE INDEX `audit_log_oldest` ON `audit_log` (`workspace_id`,`id`) WHERE expires_at IS NOT NULL;--> statement-breakpoint
ALTER TABLE `workspaces` ADD `audit_entries_count` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
UPDATE workspaces SET audit_entries_count = (SELECT count(*) FROM audit_log WHERE workspace_id = workspaces.id);
--> statement-breakpoint
-- Counts the entries of the audit log, and deletes the oldest one that is not kept for ever if there are too many.
CREATE TRIGGER audit_entry_added AFTER INSERT ON audit_log BEGIN
  UPDATE workspaces SET audit_entries_count = audit_entries_count + 1 WHERE id = NEW.workspace_id;
  DELETE FROM audit_log
   WHERE id = (SELECT min(id) FROM audit_log WHERE workspace_id = NEW.workspace_id AND expires_at IS NOT NULL)
     AND (SELECT audit_entries_count FROM workspaces WHERE id = NEW.workspace_id) > 20000;
END;
--> statement-breakpoint
CREATE TRIGGER audit_entry_deleted AFTER DELETE ON audit_log BEGIN
  UPDATE workspaces SET audit_entries_count = audit_entries_count - 1 WHERE id = OLD.workspace_id;
END;
