-- The time from a hand-off to the first reply of the team.

ALTER TABLE `analytics_changes` ADD `team_reply_ms` integer;
--> statement-breakpoint
ALTER TABLE `analytics_days` ADD `team_replies` text DEFAULT '{}' NOT NULL;
--> statement-breakpoint
ALTER TABLE `analytics_spans` ADD `team_replies` text DEFAULT '{}' NOT NULL;
--> statement-breakpoint
ALTER TABLE `handoffs` ADD `replied_at` integer;
--> statement-breakpoint
-- The first replies to these came before they were recorded.
UPDATE handoffs SET replied_at = accepted_at WHERE status = 'accepted';
--> statement-breakpoint
-- Records the team's first reply to an open hand-off.
CREATE TRIGGER handoffs_replied AFTER INSERT ON messages WHEN NEW.role = 'human' BEGIN
  UPDATE handoffs SET replied_at = NEW.created_at
   WHERE conversation_id = NEW.conversation_id AND status <> 'resolved' AND replied_at IS NULL;
END;
--> statement-breakpoint
-- Adds the time that a hand-off waited for the team to the day of the hand-off.
CREATE TRIGGER analytics_team_replied AFTER UPDATE OF replied_at ON handoffs WHEN OLD.replied_at IS NULL AND NEW.replied_at IS NOT NULL BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, team_reply_ms)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.requested_at / 86400000, NEW.replied_at - NEW.requested_at);
END;
--> statement-breakpoint
DROP TRIGGER analytics_days_kept;
--> statement-breakpoint
-- Adds a change to the daily rollups of its agent and, with an empty agent id, of the workspace. A statement inserts a change
-- into `analytics_changes`, which stays empty: it exists for this trigger. A duration is counted in the bucket
-- CAST(ln(ms) * 11), so the middle of a bucket is within 4.7 % of every duration in it.
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
             coalesce(json_extract(resolutions, '$."' || CAST(ln(max(NEW.resolution_ms, 1)) * 11 AS INTEGER) || '"'), 0) + 1)),
         team_replies = iif(NEW.team_reply_ms IS NULL, team_replies,
           json_set(team_replies, '$."' || CAST(ln(max(NEW.team_reply_ms, 1)) * 11 AS INTEGER) || '"',
             coalesce(json_extract(team_replies, '$."' || CAST(ln(max(NEW.team_reply_ms, 1)) * 11 AS INTEGER) || '"'), 0) + 1))
   WHERE workspace_id = NEW.workspace_id AND agent_id IN (NEW.agent_id, '') AND day = NEW.day;
  -- The row itself is not inserted, and the statement goes on with the next one.
  SELECT RAISE(IGNORE);
END;
--> statement-breakpoint
DROP TRIGGER analytics_spans_outdated;
--> statement-breakpoint
-- Deletes the histograms of a span of 16 days when one of its days changes; the next overview adds them up again.
CREATE TRIGGER analytics_spans_outdated AFTER UPDATE OF handoff_reasons, channels, first_responses, resolutions, team_replies ON analytics_days
WHEN NEW.handoff_reasons <> OLD.handoff_reasons OR NEW.channels <> OLD.channels OR NEW.first_responses <> OLD.first_responses
  OR NEW.resolutions <> OLD.resolutions OR NEW.team_replies <> OLD.team_replies BEGIN
  DELETE FROM analytics_spans WHERE workspace_id = NEW.workspace_id AND agent_id = NEW.agent_id AND day = NEW.day / 16 * 16;
END;
