CREATE TABLE `analytics_changes` (
	`workspace_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`day` integer NOT NULL,
	`messages` integer,
	`ai_replies` integer,
	`human_replies` integer,
	`leads` integer,
	`handoffs` integer,
	`unanswered` integer,
	`ai_resolutions` integer,
	`ai_resolutions_undone` integer,
	`conversations` integer,
	`with_agent` integer,
	`handed_off` integer,
	`ai_resolved` integer,
	`resolved` integer,
	`reopened` integer,
	`csat_sum` integer,
	`csat_count` integer,
	`handoff_reason` text,
	`channel` text,
	`first_response_ms` integer,
	`resolution_ms` integer
);
--> statement-breakpoint
CREATE TABLE `analytics_days` (
	`workspace_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`day` integer NOT NULL,
	`messages` integer DEFAULT 0 NOT NULL,
	`ai_replies` integer DEFAULT 0 NOT NULL,
	`human_replies` integer DEFAULT 0 NOT NULL,
	`leads` integer DEFAULT 0 NOT NULL,
	`handoffs` integer DEFAULT 0 NOT NULL,
	`unanswered` integer DEFAULT 0 NOT NULL,
	`ai_resolutions` integer DEFAULT 0 NOT NULL,
	`ai_resolutions_undone` integer DEFAULT 0 NOT NULL,
	`conversations` integer DEFAULT 0 NOT NULL,
	`with_agent` integer DEFAULT 0 NOT NULL,
	`handed_off` integer DEFAULT 0 NOT NULL,
	`ai_resolved` integer DEFAULT 0 NOT NULL,
	`resolved` integer DEFAULT 0 NOT NULL,
	`reopened` integer DEFAULT 0 NOT NULL,
	`csat_sum` integer DEFAULT 0 NOT NULL,
	`csat_count` integer DEFAULT 0 NOT NULL,
	`handoff_reasons` text DEFAULT '{}' NOT NULL,
	`channels` text DEFAULT '{}' NOT NULL,
	`first_responses` text DEFAULT '{}' NOT NULL,
	`resolutions` text DEFAULT '{}' NOT NULL,
	PRIMARY KEY(`workspace_id`, `agent_id`, `day`)
);
--> statement-breakpoint
CREATE TABLE `unanswered_questions` (
	`workspace_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`question_key` text NOT NULL,
	`question` text NOT NULL,
	`asked` integer DEFAULT 0 NOT NULL,
	`days` text DEFAULT '{}' NOT NULL,
	`last_asked_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `agent_id`, `question_key`)
);
--> statement-breakpoint
CREATE INDEX `unanswered_questions_asked` ON `unanswered_questions` (`workspace_id`,`agent_id`,`asked`);--> statement-breakpoint
CREATE INDEX `unanswered_questions_latest` ON `unanswered_questions` (`workspace_id`,`agent_id`,`last_asked_at`);--> statement-breakpoint
ALTER TABLE `conversations` ADD `first_ai_reply_at` integer;--> statement-breakpoint
ALTER TABLE `conversations` ADD `ai_resolved_at` integer;--> statement-breakpoint
ALTER TABLE `handoffs` ADD `question_key` text;