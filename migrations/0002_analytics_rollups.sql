-- The rollups of analytics: each change adds to a day as it happens, once however often it is repeated. What counts on which
-- day is written down in src/analytics/definitions.ts. Days are whole days since 1970-01-01, UTC: milliseconds / 86400000.
-- Nothing is taken off when records are erased: the numbers of the past hold nothing of a person. Questions do, and go.

-- What the triggers below write to: each adds to the day of one agent and of all agents together (''); the table itself stays
-- empty. A duration falls into the bucket CAST(ln(ms) * 11), eleven for each factor of e, so a bucket's middle is within 4.7 %
-- of all that is in it.
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
-- Conversations, and what becomes of them: on the day on which they began.
CREATE TRIGGER analytics_conversations AFTER INSERT ON conversations BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, conversations, channel, csat_sum, csat_count)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.created_at / 86400000, 1, NEW.channel, NEW.csat_score, NEW.csat_score IS NOT NULL);
END;
--> statement-breakpoint
CREATE TRIGGER analytics_csat AFTER UPDATE OF csat_score ON conversations WHEN NEW.csat_score IS NOT OLD.csat_score BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, csat_sum, csat_count)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.created_at / 86400000, coalesce(NEW.csat_score, 0) - coalesce(OLD.csat_score, 0),
      (NEW.csat_score IS NOT NULL) - (OLD.csat_score IS NOT NULL));
END;
--> statement-breakpoint
CREATE TRIGGER analytics_first_ai_reply AFTER UPDATE OF first_ai_reply_at ON conversations
WHEN OLD.first_ai_reply_at IS NULL AND NEW.first_ai_reply_at IS NOT NULL BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, with_agent, first_response_ms)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.created_at / 86400000, 1,
      iif(NEW.first_human_reply_at IS NULL, NEW.first_ai_reply_at - NEW.created_at, NULL));
END;
--> statement-breakpoint
CREATE TRIGGER analytics_first_human_reply AFTER UPDATE OF first_human_reply_at ON conversations
WHEN OLD.first_human_reply_at IS NULL AND NEW.first_human_reply_at IS NOT NULL AND NEW.first_ai_reply_at IS NULL BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, first_response_ms)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.created_at / 86400000, NEW.first_human_reply_at - NEW.created_at);
END;
--> statement-breakpoint
-- A conversation that was never reopened is resolved for the first time.
CREATE TRIGGER analytics_resolved AFTER UPDATE OF status ON conversations
WHEN NEW.status = 'resolved' AND OLD.status <> 'resolved' AND NEW.reopened_count = 0 BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, resolved, resolution_ms)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.created_at / 86400000, 1, NEW.resolved_at - NEW.created_at);
END;
--> statement-breakpoint
CREATE TRIGGER analytics_ai_resolving AFTER UPDATE OF status ON conversations
WHEN NEW.status = 'resolved' AND OLD.status <> 'resolved' AND NEW.ai_resolved_at IS NULL AND NEW.first_ai_reply_at IS NOT NULL
  AND NEW.first_human_reply_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM handoffs WHERE workspace_id = NEW.workspace_id AND conversation_id = NEW.id) BEGIN
  UPDATE conversations SET ai_resolved_at = NEW.resolved_at WHERE id = NEW.id;
END;
--> statement-breakpoint
-- Counted twice: for its conversation, and on its own day, from which its seven days run.
CREATE TRIGGER analytics_ai_resolved AFTER UPDATE OF ai_resolved_at ON conversations
WHEN OLD.ai_resolved_at IS NULL AND NEW.ai_resolved_at IS NOT NULL BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, ai_resolved)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.created_at / 86400000, 1);
  INSERT INTO analytics_changes (workspace_id, agent_id, day, ai_resolutions)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.ai_resolved_at / 86400000, 1);
END;
--> statement-breakpoint
CREATE TRIGGER analytics_reopened AFTER UPDATE OF status ON conversations
WHEN OLD.status = 'resolved' AND NEW.status <> 'resolved' AND NEW.reopened_count = 1 BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, reopened)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.created_at / 86400000, 1);
END;
--> statement-breakpoint
CREATE TRIGGER analytics_ai_resolution_undone AFTER UPDATE OF status ON conversations
WHEN OLD.status = 'resolved' AND NEW.status <> 'resolved' AND OLD.ai_resolved_at = OLD.resolved_at
  AND NEW.updated_at - OLD.resolved_at < 7 * 86400000 BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, ai_resolutions_undone)
    VALUES (NEW.workspace_id, NEW.agent_id, OLD.ai_resolved_at / 86400000, 1);
END;
--> statement-breakpoint
-- What happens: on its own day.
CREATE TRIGGER analytics_messages AFTER INSERT ON messages BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, messages, ai_replies, human_replies)
    SELECT workspace_id, agent_id, NEW.created_at / 86400000, 1, NEW.role = 'assistant', NEW.role = 'human'
      FROM conversations WHERE id = NEW.conversation_id;
END;
--> statement-breakpoint
CREATE TRIGGER analytics_leads AFTER INSERT ON leads BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, leads)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.created_at / 86400000, 1);
END;
--> statement-breakpoint
CREATE TRIGGER analytics_handoffs AFTER INSERT ON handoffs BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, handoffs, unanswered, handoff_reason)
    VALUES (NEW.workspace_id, NEW.agent_id, NEW.requested_at / 86400000, 1, NEW.reason = 'missing_knowledge', NEW.reason);
END;
--> statement-breakpoint
CREATE TRIGGER analytics_handed_off AFTER INSERT ON handoffs
WHEN NOT EXISTS (SELECT 1 FROM handoffs other WHERE other.workspace_id = NEW.workspace_id
  AND other.conversation_id = NEW.conversation_id AND other.id <> NEW.id) BEGIN
  INSERT INTO analytics_changes (workspace_id, agent_id, day, handed_off)
    SELECT workspace_id, agent_id, created_at / 86400000, 1 FROM conversations WHERE id = NEW.conversation_id;
END;
--> statement-breakpoint
-- A question is kept for a year after it was last asked, and of its days those of the year before that.
CREATE TRIGGER unanswered_questions_kept AFTER INSERT ON handoffs WHEN NEW.question_key IS NOT NULL BEGIN
  DELETE FROM unanswered_questions
   WHERE workspace_id = NEW.workspace_id AND agent_id IN (NEW.agent_id, '') AND last_asked_at < NEW.requested_at - 366 * 86400000;
  INSERT INTO unanswered_questions (workspace_id, agent_id, question_key, question, last_asked_at)
    SELECT NEW.workspace_id, value, NEW.question_key, NEW.question_key, NEW.requested_at
      FROM json_each(json_array(NEW.agent_id, '')) WHERE true
    ON CONFLICT DO NOTHING;
  UPDATE unanswered_questions
     SET question = coalesce(NEW.summary, NEW.question_key), last_asked_at = max(last_asked_at, NEW.requested_at),
         asked = asked + 1 - (SELECT coalesce(sum(value), 0) FROM json_each(days)
           WHERE CAST(key AS INTEGER) <= NEW.requested_at / 86400000 - 366),
         days = (SELECT json_group_object(key, value) FROM (
           SELECT CAST(NEW.requested_at / 86400000 AS TEXT) AS key,
             coalesce(json_extract(days, '$."' || (NEW.requested_at / 86400000) || '"'), 0) + 1 AS value
           UNION ALL
           SELECT key, value FROM json_each(days)
            WHERE CAST(key AS INTEGER) > NEW.requested_at / 86400000 - 366 AND CAST(key AS INTEGER) <> NEW.requested_at / 86400000))
   WHERE workspace_id = NEW.workspace_id AND agent_id IN (NEW.agent_id, '') AND question_key = NEW.question_key;
END;
--> statement-breakpoint
-- Who is erased takes along what they asked: the question itself, or, where others asked it too, its wording.
CREATE TRIGGER unanswered_questions_erased AFTER DELETE ON handoffs WHEN OLD.question_key IS NOT NULL BEGIN
  UPDATE unanswered_questions
     SET question = question_key, asked = asked - 1,
         days = json_set(days, '$."' || (OLD.requested_at / 86400000) || '"',
           json_extract(days, '$."' || (OLD.requested_at / 86400000) || '"') - 1)
   WHERE workspace_id = OLD.workspace_id AND agent_id IN (OLD.agent_id, '') AND question_key = OLD.question_key
     AND json_extract(days, '$."' || (OLD.requested_at / 86400000) || '"') > 0;
  DELETE FROM unanswered_questions
   WHERE workspace_id = OLD.workspace_id AND agent_id IN (OLD.agent_id, '') AND question_key = OLD.question_key AND asked <= 0;
END;
