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
ALTER TABLE `analytics_changes` ADD `rated_up` integer;--> statement-breakpoint
ALTER TABLE `analytics_changes` ADD `rated_down` integer;--> statement-breakpoint
ALTER TABLE `analytics_days` ADD `rated_up` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `analytics_days` ADD `rated_down` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
DROP TRIGGER analytics_days_kept;
--> statement-breakpoint
CREATE TRIGGER analytics_days_kept BEFORE INSERT ON analytics_changes BEGIN
  INSERT INTO analytics_days (workspace_id, agent_id, day)
    SELECT NEW.workspace_id, value, NEW.day FROM json_each(json_array(NEW.agent_id, '')) WHERE true
    ON CONFLICT DO NOTHING;
  UPDATE analytics_days
     SET messages = messages + coalesce(NEW.messages, 0),
         ai_replies = ai_replies + coalesce(NEW.ai_replies, 0),
         human_replies = human_replies + coalesce(NEW.human_replies, 0),
         leads = leads + coalesce(NEW.leads, 0),
         handoffs = handoffs + coalesce(NEW.handoffs, 0),
         unanswered = unanswered + coalesce(NEW.unanswered, 0),
         rated_up = rated_up + coalesce(NEW.rated_up, 0),
         rated_down = rated_down + coalesce(NEW.rated_down, 0),
         ai_resolutions = ai_resolutions + coalesce(NEW.ai_resolutions, 0),
         ai_resolutions_undone = ai_resolutions_undone + coalesce(NEW.ai_resolutions_undone, 0),
         conversations = conversations + coalesce(NEW.conversations, 0),
         with_agent = with_agent + coalesce(NEW.with_agent, 0),
         handed_off = handed_off + coalesce(NEW.handed_off, 0),
         ai_resolved = ai_resolved + coalesce(NEW.ai_resolved, 0),
         resolved = resolved + coalesce(NEW.resolved, 0),
         reopened = reopened + coalesce(NEW.reopened, 0),
         csat_sum = csat_sum + coalesce(NEW.csat_sum, 0),
         csat_count = csat_count + coalesce(NEW.csat_count, 0),
         handoff_reasons = iif(NEW.handoff_reason IS NULL, handoff_reasons, json_set(handoff_reasons, '$.' || NEW.handoff_reason,
           coalesce(json_extract(handoff_reasons, '$.' || NEW.handoff_reason), 0) + 1)),
         channels = iif(NEW.channel IS NULL, channels, json_set(channels, '$.' || NEW.channel,
           coalesce(json_extract(channels, '$.' || NEW.channel), 0) + 1)),
         first_responses = iif(NEW.first_response_ms IS NULL, first_responses,
           json_set(first_responses, '$."' || CAST(ln(max(NEW.first_response_ms, 1)) * 11 AS INTEGER) || '"',
             coalesce(json_extract(first_responses, '$."' || CAST(ln(max(NEW.first_response_ms, 1)) * 11 AS INTEGER) || '"'), 0) + 1)),
         resolutions = iif(NEW.resolution_ms IS NULL, resolutions,
           json_set(resolutions, '$."' || CAST(ln(max(NEW.resolution_ms, 1)) * 11 AS INTEGER) || '"',
             coalesce(json_extract(resolutions, '$."' || CAST(ln(max(NEW.resolution_ms, 1)) * 11 AS INTEGER) || '"'), 0) + 1))
   WHERE workspace_id = NEW.workspace_id AND agent_id IN (NEW.agent_id, '') AND day = NEW.day;
  -- The row itself is not inserted, and the statement goes on with the next one.
  SELECT RAISE(IGNORE);
END;
--> statement-breakpoint
CREATE TRIGGER analytics_feedback AFTER INSERT ON message_feedback BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, rated_up, rated_down)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.created_at / 86400000, NEW.rating = 'up', NEW.rating = 'down');
END;
--> statement-breakpoint
CREATE TRIGGER analytics_feedback_changed AFTER UPDATE OF rating ON message_feedback WHEN NEW.rating <> OLD.rating BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, rated_up, rated_down)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.created_at / 86400000,
      (NEW.rating = 'up') - (OLD.rating = 'up'), (NEW.rating = 'down') - (OLD.rating = 'down'));
END;
