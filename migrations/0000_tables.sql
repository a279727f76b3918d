CREATE TABLE `agents` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`name` text NOT NULL,
	`slug` text NOT NULL,
	`description` text,
	`status` text NOT NULL,
	`language` text NOT NULL,
	`instructions` text,
	`welcome_message` text NOT NULL,
	`handoff_message` text NOT NULL,
	`confidence_threshold` real NOT NULL,
	`inactivity_minutes` integer NOT NULL,
	`model` text,
	`tools` text DEFAULT '[]' NOT NULL,
	`allowed_origins` text DEFAULT '[]' NOT NULL,
	`email_address` text,
	`identity_secret` text,
	`previous_identity_secret` text,
	`previous_identity_secret_until` integer,
	`tokens_ended_at` integer,
	`turnstile_site_key` text,
	`turnstile_secret` text,
	`appearance` text DEFAULT '{}' NOT NULL,
	`contact_form` text,
	`languages` text DEFAULT '{}' NOT NULL,
	`hosted_page` text DEFAULT '{}' NOT NULL,
	`sources_count` integer DEFAULT 0 NOT NULL,
	`answers_count` integer DEFAULT 0 NOT NULL,
	`text_bytes` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `agents_workspace` ON `agents` (`workspace_id`,`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `agents_workspace_slug` ON `agents` (`workspace_id`,`slug`);--> statement-breakpoint
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
	`rated_up` integer,
	`rated_down` integer,
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
	`rated_up` integer DEFAULT 0 NOT NULL,
	`rated_down` integer DEFAULT 0 NOT NULL,
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
CREATE TABLE `analytics_spans` (
	`workspace_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`day` integer NOT NULL,
	`handoff_reasons` text DEFAULT '{}' NOT NULL,
	`channels` text DEFAULT '{}' NOT NULL,
	`first_responses` text DEFAULT '{}' NOT NULL,
	`resolutions` text DEFAULT '{}' NOT NULL,
	PRIMARY KEY(`workspace_id`, `agent_id`, `day`)
);
--> statement-breakpoint
CREATE TABLE `answer_drafts` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`conversation_id` text NOT NULL,
	`message_id` text NOT NULL,
	`question` text NOT NULL,
	`answer` text NOT NULL,
	`status` text NOT NULL,
	`answer_id` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `answer_drafts_agent` ON `answer_drafts` (`workspace_id`,`agent_id`,`id`);--> statement-breakpoint
CREATE INDEX `answer_drafts_conversation` ON `answer_drafts` (`workspace_id`,`conversation_id`);--> statement-breakpoint
CREATE TABLE `answers` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`question` text NOT NULL,
	`answer` text NOT NULL,
	`indexed_at` integer,
	`metadata` text DEFAULT '{}' NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `answers_agent` ON `answers` (`workspace_id`,`agent_id`,`id`);--> statement-breakpoint
CREATE INDEX `answers_metadata` ON `answers` (`workspace_id`,`agent_id`,`metadata`,`id`) WHERE metadata <> '{}';--> statement-breakpoint
CREATE INDEX `answers_unindexed` ON `answers` (`workspace_id`,`created_at`) WHERE indexed_at IS NULL;--> statement-breakpoint
CREATE TABLE `api_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`name` text NOT NULL,
	`prefix` text NOT NULL,
	`hash` text NOT NULL,
	`scopes` text DEFAULT '[]' NOT NULL,
	`created_at` integer NOT NULL,
	`revoked_at` integer,
	`secret_id` text NOT NULL,
	`outdated_use_at` integer
);
--> statement-breakpoint
CREATE INDEX `api_keys_workspace` ON `api_keys` (`workspace_id`,`id`);--> statement-breakpoint
CREATE INDEX `api_keys_revoked` ON `api_keys` (`workspace_id`,`revoked_at`);--> statement-breakpoint
CREATE TABLE `audit_log` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`actor` text NOT NULL,
	`action` text NOT NULL,
	`subject_hash` text,
	`detail` text,
	`created_at` integer NOT NULL,
	`expires_at` integer
);
--> statement-breakpoint
CREATE INDEX `audit_log_workspace` ON `audit_log` (`workspace_id`,`id`);--> statement-breakpoint
CREATE INDEX `audit_log_expires` ON `audit_log` (`expires_at`) WHERE expires_at IS NOT NULL;--> statement-breakpoint
CREATE TABLE `conversation_counts` (
	`workspace_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`channel` text NOT NULL,
	`open` integer DEFAULT 0 NOT NULL,
	`ai_handled` integer DEFAULT 0 NOT NULL,
	`needs_human` integer DEFAULT 0 NOT NULL,
	`human_active` integer DEFAULT 0 NOT NULL,
	`resolved` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`workspace_id`, `agent_id`, `channel`)
);
--> statement-breakpoint
CREATE TABLE `conversation_spans` (
	`workspace_id` text NOT NULL,
	`days` integer NOT NULL,
	`day` integer NOT NULL,
	`agent_id` text NOT NULL,
	`channel` text NOT NULL,
	`open` integer DEFAULT 0 NOT NULL,
	`ai_handled` integer DEFAULT 0 NOT NULL,
	`needs_human` integer DEFAULT 0 NOT NULL,
	`human_active` integer DEFAULT 0 NOT NULL,
	`resolved` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`workspace_id`, `days`, `day`, `agent_id`, `channel`)
);
--> statement-breakpoint
CREATE TABLE `conversations` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`channel` text NOT NULL,
	`status` text NOT NULL,
	`subject` text,
	`tags` text DEFAULT '[]' NOT NULL,
	`assignee_id` text,
	`assignee_name` text,
	`visitor_id` text,
	`begun_by` text,
	`message_count` integer DEFAULT 0 NOT NULL,
	`unread_count` integer DEFAULT 0 NOT NULL,
	`last_message_preview` text,
	`last_message_at` integer NOT NULL,
	`latest_message_id` text,
	`idle_at` integer,
	`csat_score` integer,
	`csat_comment` text,
	`resolved_at` integer,
	`resolved_by` text,
	`first_human_reply_at` integer,
	`reopened_count` integer DEFAULT 0 NOT NULL,
	`context_after` text,
	`first_ai_reply_at` integer,
	`ai_resolved_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `conversations_by_status` ON `conversations` (`workspace_id`,`status`,`updated_at`,`id`);--> statement-breakpoint
CREATE INDEX `conversations_by_agent_status` ON `conversations` (`workspace_id`,`agent_id`,`status`,`updated_at`,`id`);--> statement-breakpoint
CREATE INDEX `conversations_by_status_channel` ON `conversations` (`workspace_id`,`status`,`channel`,`updated_at`,`id`);--> statement-breakpoint
CREATE INDEX `conversations_by_all` ON `conversations` (`workspace_id`,`agent_id`,`status`,`channel`,`updated_at`,`id`);--> statement-breakpoint
CREATE INDEX `conversations_visitor` ON `conversations` (`workspace_id`,`visitor_id`,`id`);--> statement-breakpoint
CREATE INDEX `conversations_export` ON `conversations` (`workspace_id`,`id`) WHERE id > '';--> statement-breakpoint
CREATE INDEX `conversations_idle` ON `conversations` (`workspace_id`,`idle_at`) WHERE status = 'ai_handled';--> statement-breakpoint
CREATE INDEX `conversations_assigned` ON `conversations` (`workspace_id`,`assignee_id`,`status`,`updated_at`,`id`,`agent_id`,`channel`) WHERE assignee_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX `conversations_unread` ON `conversations` (`workspace_id`,`status`,`updated_at`,`id`,`agent_id`,`channel`) WHERE unread_count > 0;--> statement-breakpoint
CREATE TABLE `deliveries` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`webhook_id` text NOT NULL,
	`event_id` text NOT NULL,
	`event_type` text NOT NULL,
	`status` text NOT NULL,
	`trigger` text NOT NULL,
	`attempt_count` integer DEFAULT 0 NOT NULL,
	`next_attempt_at` integer,
	`lease_until` integer,
	`created_at` integer NOT NULL,
	`completed_at` integer
);
--> statement-breakpoint
CREATE INDEX `deliveries_webhook` ON `deliveries` (`workspace_id`,`webhook_id`,`id`);--> statement-breakpoint
CREATE INDEX `deliveries_webhook_status` ON `deliveries` (`workspace_id`,`webhook_id`,`status`,`id`);--> statement-breakpoint
CREATE INDEX `deliveries_event` ON `deliveries` (`workspace_id`,`event_id`);--> statement-breakpoint
CREATE INDEX `deliveries_due` ON `deliveries` (`workspace_id`,`next_attempt_at`) WHERE status = 'pending';--> statement-breakpoint
CREATE TABLE `delivery_attempts` (
	`delivery_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`number` integer NOT NULL,
	`started_at` integer NOT NULL,
	`duration_ms` integer NOT NULL,
	`response_status` integer,
	`response_body` text,
	`conversation_id` text,
	`response_truncated` integer DEFAULT false NOT NULL,
	`error` text,
	`url` text NOT NULL,
	PRIMARY KEY(`delivery_id`, `number`)
);
--> statement-breakpoint
CREATE INDEX `delivery_attempts_workspace` ON `delivery_attempts` (`workspace_id`,`delivery_id`);--> statement-breakpoint
CREATE INDEX `delivery_attempts_answered` ON `delivery_attempts` (`started_at`) WHERE error IS NULL AND response_body IS NOT NULL;--> statement-breakpoint
CREATE TABLE `email_directory` (
	`address` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`agent_id` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `email_directory_workspace` ON `email_directory` (`workspace_id`,`agent_id`);--> statement-breakpoint
CREATE TABLE `email_outbox` (
	`message_id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`conversation_id` text NOT NULL,
	`status` text NOT NULL,
	`attempt_count` integer DEFAULT 0 NOT NULL,
	`next_attempt_at` integer NOT NULL,
	`lease_until` integer,
	`error` text,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `email_outbox_conversation` ON `email_outbox` (`workspace_id`,`conversation_id`);--> statement-breakpoint
CREATE INDEX `email_outbox_due` ON `email_outbox` (`workspace_id`,`next_attempt_at`) WHERE status = 'pending';--> statement-breakpoint
CREATE TABLE `email_threads` (
	`conversation_id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`address` text NOT NULL,
	`subject` text NOT NULL,
	`last_message_id` text,
	`earlier_ids` text DEFAULT '[]' NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `email_threads_workspace` ON `email_threads` (`workspace_id`,`conversation_id`);--> statement-breakpoint
CREATE INDEX `email_threads_address` ON `email_threads` (`workspace_id`,`address`);--> statement-breakpoint
CREATE TABLE `evaluation_cases` (
	`workspace_id` text NOT NULL,
	`evaluation_id` text NOT NULL,
	`position` integer NOT NULL,
	`question` text NOT NULL,
	`previous` text DEFAULT '[]' NOT NULL,
	`expect` text DEFAULT '{}' NOT NULL,
	`verdict` text,
	`answer` text,
	`confidence` real,
	`source_found` integer,
	`trace` text DEFAULT '{}' NOT NULL,
	PRIMARY KEY(`workspace_id`, `evaluation_id`, `position`)
);
--> statement-breakpoint
CREATE TABLE `evaluations` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`name` text,
	`status` text NOT NULL,
	`cases_count` integer NOT NULL,
	`verdicts` text DEFAULT '{}' NOT NULL,
	`error` text,
	`lease_until` integer,
	`lease_id` text,
	`started_at` integer,
	`completed_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `evaluations_agent` ON `evaluations` (`workspace_id`,`agent_id`,`id`);--> statement-breakpoint
CREATE INDEX `evaluations_unfinished` ON `evaluations` (`workspace_id`,`updated_at`) WHERE status IN ('pending', 'running');--> statement-breakpoint
CREATE TABLE `events` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`type` text NOT NULL,
	`payload` text NOT NULL,
	`conversation_id` text,
	`lead_id` text,
	`sequence` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `events_created` ON `events` (`created_at`);--> statement-breakpoint
CREATE INDEX `events_workspace` ON `events` (`workspace_id`,`id`);--> statement-breakpoint
CREATE INDEX `events_conversation` ON `events` (`workspace_id`,`conversation_id`);--> statement-breakpoint
CREATE INDEX `events_lead` ON `events` (`workspace_id`,`lead_id`);--> statement-breakpoint
CREATE INDEX `events_sequence` ON `events` (`workspace_id`,`sequence`);--> statement-breakpoint
CREATE TABLE `feedback_days` (
	`workspace_id` text NOT NULL,
	`day` integer NOT NULL,
	`agent_id` text NOT NULL,
	`up` integer DEFAULT 0 NOT NULL,
	`down` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`workspace_id`, `day`, `agent_id`)
);
--> statement-breakpoint
CREATE TABLE `handoffs` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`conversation_id` text NOT NULL,
	`reason` text NOT NULL,
	`summary` text,
	`trigger_message_id` text,
	`question_key` text,
	`failure` text,
	`status` text NOT NULL,
	`requested_at` integer NOT NULL,
	`accepted_at` integer,
	`resolved_at` integer
);
--> statement-breakpoint
CREATE INDEX `handoffs_conversation` ON `handoffs` (`workspace_id`,`conversation_id`,`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `handoffs_open` ON `handoffs` (`conversation_id`) WHERE status <> 'resolved';--> statement-breakpoint
CREATE INDEX `handoffs_failed` ON `handoffs` (`requested_at`) WHERE failure IS NOT NULL;--> statement-breakpoint
CREATE INDEX `handoffs_question` ON `handoffs` (`workspace_id`,`agent_id`,`question_key`,`requested_at`,`conversation_id`,`trigger_message_id`) WHERE question_key IS NOT NULL;--> statement-breakpoint
CREATE TABLE `idempotency_records` (
	`workspace_id` text NOT NULL,
	`key` text NOT NULL,
	`request_hash` text NOT NULL,
	`response_status` integer,
	`response_body` text,
	`conversation_id` text,
	`lease_until` integer NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `key`)
);
--> statement-breakpoint
CREATE INDEX `idempotency_records_created` ON `idempotency_records` (`created_at`);--> statement-breakpoint
CREATE INDEX `idempotency_records_conversation` ON `idempotency_records` (`workspace_id`,`conversation_id`);--> statement-breakpoint
CREATE TABLE `inbound_emails` (
	`workspace_id` text NOT NULL,
	`mail_key` text NOT NULL,
	`sender_key` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `mail_key`)
);
--> statement-breakpoint
CREATE INDEX `inbound_emails_sender` ON `inbound_emails` (`workspace_id`,`sender_key`,`created_at`);--> statement-breakpoint
CREATE INDEX `inbound_emails_created` ON `inbound_emails` (`created_at`);--> statement-breakpoint
CREATE TABLE `lead_counts` (
	`workspace_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`count` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`workspace_id`, `agent_id`)
);
--> statement-breakpoint
CREATE TABLE `lead_days` (
	`workspace_id` text NOT NULL,
	`day` integer NOT NULL,
	`agent_id` text NOT NULL,
	`count` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`workspace_id`, `day`, `agent_id`)
);
--> statement-breakpoint
CREATE TABLE `leads` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`conversation_id` text,
	`visitor_id` text,
	`name` text,
	`email` text,
	`email_key` text,
	`phone` text,
	`message` text,
	`custom_fields` text DEFAULT '{}' NOT NULL,
	`source_url` text,
	`indexed_at` integer,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `leads_created` ON `leads` (`workspace_id`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `leads_agent` ON `leads` (`workspace_id`,`agent_id`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `leads_email` ON `leads` (`workspace_id`,`email_key`);--> statement-breakpoint
CREATE INDEX `leads_visitor` ON `leads` (`workspace_id`,`visitor_id`);--> statement-breakpoint
CREATE INDEX `leads_unindexed` ON `leads` (`workspace_id`,`created_at`) WHERE indexed_at IS NULL;--> statement-breakpoint
CREATE TABLE `message_feedback` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`conversation_id` text NOT NULL,
	`message_id` text NOT NULL,
	`author` text NOT NULL,
	`rating` text NOT NULL,
	`comment` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `message_feedback_message` ON `message_feedback` (`workspace_id`,`conversation_id`,`message_id`,`author`);--> statement-breakpoint
CREATE INDEX `message_feedback_rated` ON `message_feedback` (`workspace_id`,`rating`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `message_feedback_agent` ON `message_feedback` (`workspace_id`,`agent_id`,`rating`,`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `messages` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`conversation_id` text NOT NULL,
	`role` text NOT NULL,
	`author_type` text NOT NULL,
	`author_id` text,
	`author_name` text,
	`content` text NOT NULL,
	`citations` text DEFAULT '[]' NOT NULL,
	`confidence` real,
	`needs_human` integer DEFAULT false NOT NULL,
	`quota_period` text,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `messages_transcript` ON `messages` (`workspace_id`,`conversation_id`,`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `notes` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`conversation_id` text NOT NULL,
	`author_id` text,
	`author_name` text,
	`content` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `notes_conversation` ON `notes` (`workspace_id`,`conversation_id`,`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `operator_audit` (
	`id` text PRIMARY KEY NOT NULL,
	`actor` text NOT NULL,
	`operation` text NOT NULL,
	`workspace_id` text,
	`target_id` text,
	`fields` text DEFAULT '[]' NOT NULL,
	`request_id` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `operator_audit_workspace` ON `operator_audit` (`workspace_id`,`id`);--> statement-breakpoint
CREATE TABLE `privacy_erasures` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`identifier` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `privacy_erasures_workspace` ON `privacy_erasures` (`workspace_id`,`created_at`);--> statement-breakpoint
CREATE TABLE `shards` (
	`shard` integer PRIMARY KEY NOT NULL,
	`workspaces_count` integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE `sources` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`type` text NOT NULL,
	`name` text NOT NULL,
	`url` text,
	`key` text,
	`content_hash` text,
	`status` text NOT NULL,
	`schedule` text NOT NULL,
	`max_pages` integer NOT NULL,
	`pages_found` integer DEFAULT 0 NOT NULL,
	`pages_indexed` integer DEFAULT 0 NOT NULL,
	`pages_failed` integer DEFAULT 0 NOT NULL,
	`pages_skipped` integer DEFAULT 0 NOT NULL,
	`chunks_count` integer DEFAULT 0 NOT NULL,
	`text_bytes` integer DEFAULT 0 NOT NULL,
	`error_code` text,
	`error_message` text,
	`last_synced_at` integer,
	`next_sync_at` integer,
	`sync_number` integer DEFAULT 0 NOT NULL,
	`lease_until` integer,
	`lease_id` text,
	`metadata` text DEFAULT '{}' NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `sources_agent` ON `sources` (`workspace_id`,`agent_id`,`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `sources_key` ON `sources` (`agent_id`,`key`) WHERE key IS NOT NULL;--> statement-breakpoint
CREATE INDEX `sources_metadata` ON `sources` (`workspace_id`,`agent_id`,`metadata`,`id`) WHERE metadata <> '{}';--> statement-breakpoint
CREATE INDEX `sources_unfinished` ON `sources` (`workspace_id`,`updated_at`) WHERE status IN ('pending', 'processing');--> statement-breakpoint
CREATE INDEX `sources_due` ON `sources` (`workspace_id`,`next_sync_at`) WHERE next_sync_at IS NOT NULL;--> statement-breakpoint
CREATE TABLE `sweep_backoffs` (
	`task` text NOT NULL,
	`key` text NOT NULL,
	`failures` integer NOT NULL,
	`retry_at` integer NOT NULL,
	PRIMARY KEY(`task`, `key`)
);
--> statement-breakpoint
CREATE INDEX `sweep_backoffs_retry` ON `sweep_backoffs` (`retry_at`);--> statement-breakpoint
CREATE TABLE `unanswered_question_days` (
	`workspace_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`question_key` text NOT NULL,
	`day` integer NOT NULL,
	`asked_until` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`workspace_id`, `agent_id`, `question_key`, `day`)
);
--> statement-breakpoint
CREATE TABLE `unanswered_questions` (
	`workspace_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`question_key` text NOT NULL,
	`question` text NOT NULL,
	`asked` integer DEFAULT 0 NOT NULL,
	`last_asked_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `agent_id`, `question_key`)
);
--> statement-breakpoint
CREATE INDEX `unanswered_questions_asked` ON `unanswered_questions` (`workspace_id`,`agent_id`,`asked`);--> statement-breakpoint
CREATE INDEX `unanswered_questions_latest` ON `unanswered_questions` (`workspace_id`,`agent_id`,`last_asked_at`);--> statement-breakpoint
CREATE TABLE `usage_periods` (
	`workspace_id` text NOT NULL,
	`period` text NOT NULL,
	`messages` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`workspace_id`, `period`)
);
--> statement-breakpoint
CREATE TABLE `visitor_counts` (
	`workspace_id` text NOT NULL,
	`flow` text NOT NULL,
	`starts_at` integer NOT NULL,
	`sender` text NOT NULL,
	`count` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`workspace_id`, `flow`, `starts_at`, `sender`)
);
--> statement-breakpoint
CREATE INDEX `visitor_counts_start` ON `visitor_counts` (`starts_at`);--> statement-breakpoint
CREATE TABLE `visitors` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`anon_id` text NOT NULL,
	`external_id` text,
	`name` text,
	`email` text,
	`email_key` text,
	`email_verified` integer DEFAULT false NOT NULL,
	`verified` integer DEFAULT false NOT NULL,
	`merged_into` text,
	`tokens_ended_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `visitors_anon` ON `visitors` (`workspace_id`,`anon_id`);--> statement-breakpoint
CREATE INDEX `visitors_external` ON `visitors` (`workspace_id`,`external_id`) WHERE external_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX `visitors_email` ON `visitors` (`workspace_id`,`email_key`) WHERE email_key IS NOT NULL;--> statement-breakpoint
CREATE INDEX `visitors_merged` ON `visitors` (`workspace_id`,`merged_into`) WHERE merged_into IS NOT NULL;--> statement-breakpoint
CREATE TABLE `webhook_endpoints` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`url` text NOT NULL,
	`events` text DEFAULT '[]' NOT NULL,
	`description` text,
	`enabled` integer NOT NULL,
	`disabled_reason` text,
	`disabled_at` integer,
	`failure_streak` integer DEFAULT 0 NOT NULL,
	`failing_since` integer,
	`last_success_at` integer,
	`last_skipped_at` integer,
	`last_duration_ms` integer,
	`secret` text NOT NULL,
	`rotation_id` text,
	`previous_secret` text,
	`previous_secret_until` integer,
	`pending_count` integer DEFAULT 0 NOT NULL,
	`succeeded_count` integer DEFAULT 0 NOT NULL,
	`failed_count` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `webhook_endpoints_workspace` ON `webhook_endpoints` (`workspace_id`,`id`);--> statement-breakpoint
CREATE TABLE `webhook_erasures` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `webhook_erasures_workspace` ON `webhook_erasures` (`workspace_id`,`created_at`);--> statement-breakpoint
CREATE TABLE `workspace_directory` (
	`workspace_id` text PRIMARY KEY NOT NULL,
	`slug` text NOT NULL,
	`shard` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `workspace_directory_slug` ON `workspace_directory` (`slug`);--> statement-breakpoint
CREATE TABLE `workspace_imports` (
	`workspace_id` text PRIMARY KEY NOT NULL,
	`export_id` text NOT NULL,
	`workspace` text,
	`recounted_at` integer,
	`checked` text,
	`created_at` integer NOT NULL,
	`completed_at` integer
);
--> statement-breakpoint
CREATE TABLE `workspaces` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`slug` text NOT NULL,
	`plan` text NOT NULL,
	`limits` text DEFAULT '{}' NOT NULL,
	`retention` text DEFAULT '{}' NOT NULL,
	`prune_at` integer,
	`agents_count` integer DEFAULT 0 NOT NULL,
	`sources_count` integer DEFAULT 0 NOT NULL,
	`pages_count` integer DEFAULT 0 NOT NULL,
	`kept_response_bytes` integer DEFAULT 0 NOT NULL,
	`delivery_log_bytes` integer DEFAULT 0 NOT NULL,
	`events_read_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`jurisdiction` text,
	`deleted_at` integer
);
--> statement-breakpoint
CREATE INDEX `workspaces_deleted` ON `workspaces` (`id`,`deleted_at`) WHERE deleted_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX `workspaces_prune` ON `workspaces` (`prune_at`) WHERE prune_at IS NOT NULL;