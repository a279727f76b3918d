-- Counts by time, so that no filter by time and no range of analytics costs more the more a workspace holds: conversations
-- by days and by 32 days of their last activity, leads by days, and of each unanswered question how often it had been asked
-- by the end of a day. Days are whole days since 1970-01-01, UTC: milliseconds / 86400000.

CREATE TABLE `conversation_spans` (
	`workspace_id` text NOT NULL,
	`days` integer NOT NULL,
	`day` integer NOT NULL,
	`agent_id` text NOT NULL,
	`status` text NOT NULL,
	`channel` text NOT NULL,
	`count` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`workspace_id`, `days`, `day`, `agent_id`, `status`, `channel`)
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
CREATE TABLE `unanswered_question_days` (
	`workspace_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`question_key` text NOT NULL,
	`day` integer NOT NULL,
	`asked_until` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`workspace_id`, `agent_id`, `question_key`, `day`)
);
--> statement-breakpoint
-- What is there already.
INSERT INTO conversation_spans (workspace_id, days, day, agent_id, status, channel, count)
  SELECT workspace_id, span.value, updated_at / 86400000 / span.value * span.value AS start, agent_id, status, channel, count(*)
    FROM json_each('[1,32]') AS span CROSS JOIN conversations GROUP BY workspace_id, span.value, start, agent_id, status, channel;
--> statement-breakpoint
INSERT INTO lead_days (workspace_id, day, agent_id, count)
  SELECT workspace_id, created_at / 86400000 AS day, agent_id, count(*) FROM leads GROUP BY workspace_id, day, agent_id;
--> statement-breakpoint
INSERT INTO unanswered_question_days (workspace_id, agent_id, question_key, day, asked_until)
  SELECT workspace_id, agent_id, question_key, CAST(key AS INTEGER) AS day,
      sum(value) OVER (PARTITION BY workspace_id, agent_id, question_key ORDER BY CAST(key AS INTEGER))
    FROM unanswered_questions, json_each(days);
--> statement-breakpoint
DROP TRIGGER unanswered_questions_kept;
--> statement-breakpoint
DROP TRIGGER unanswered_questions_erased;
--> statement-breakpoint
ALTER TABLE `unanswered_questions` DROP COLUMN `days`;
--> statement-breakpoint
CREATE TRIGGER conversation_spans_counted AFTER INSERT ON conversations BEGIN
  INSERT INTO conversation_spans (workspace_id, days, day, agent_id, status, channel, count)
    SELECT NEW.workspace_id, value, NEW.updated_at / 86400000 / value * value, NEW.agent_id, NEW.status, NEW.channel, 1
      FROM json_each('[1,32]') WHERE true
    ON CONFLICT DO UPDATE SET count = count + 1;
END;
--> statement-breakpoint
CREATE TRIGGER conversation_spans_uncounted AFTER DELETE ON conversations BEGIN
  UPDATE conversation_spans SET count = count - 1
   WHERE workspace_id = OLD.workspace_id AND (days, day) IN (SELECT value, OLD.updated_at / 86400000 / value * value FROM json_each('[1,32]'))
     AND agent_id = OLD.agent_id AND status = OLD.status AND channel = OLD.channel;
END;
--> statement-breakpoint
-- Most messages come on the day of the one before and leave the status as it is, and cost nothing here.
CREATE TRIGGER conversation_spans_recounted AFTER UPDATE OF status, updated_at ON conversations
WHEN NEW.status <> OLD.status OR NEW.updated_at / 86400000 <> OLD.updated_at / 86400000 BEGIN
  UPDATE conversation_spans SET count = count - 1
   WHERE workspace_id = OLD.workspace_id AND (days, day) IN (SELECT value, OLD.updated_at / 86400000 / value * value FROM json_each('[1,32]'))
     AND agent_id = OLD.agent_id AND status = OLD.status AND channel = OLD.channel;
  INSERT INTO conversation_spans (workspace_id, days, day, agent_id, status, channel, count)
    SELECT NEW.workspace_id, value, NEW.updated_at / 86400000 / value * value, NEW.agent_id, NEW.status, NEW.channel, 1
      FROM json_each('[1,32]') WHERE true
    ON CONFLICT DO UPDATE SET count = count + 1;
END;
--> statement-breakpoint
CREATE TRIGGER lead_days_counted AFTER INSERT ON leads BEGIN
  INSERT INTO lead_days (workspace_id, day, agent_id, count) VALUES (NEW.workspace_id, NEW.created_at / 86400000, NEW.agent_id, 1)
    ON CONFLICT DO UPDATE SET count = count + 1;
END;
--> statement-breakpoint
CREATE TRIGGER lead_days_uncounted AFTER DELETE ON leads BEGIN
  UPDATE lead_days SET count = count - 1
   WHERE workspace_id = OLD.workspace_id AND day = OLD.created_at / 86400000 AND agent_id = OLD.agent_id;
END;
--> statement-breakpoint
-- A question is kept for a year after it was last asked, and of its days those of the year before that and the one before these.
CREATE TRIGGER unanswered_questions_kept AFTER INSERT ON handoffs WHEN NEW.question_key IS NOT NULL BEGIN
  DELETE FROM unanswered_question_days
   WHERE rowid IN (SELECT d.rowid FROM unanswered_questions q CROSS JOIN unanswered_question_days d
      ON d.workspace_id = q.workspace_id AND d.agent_id = q.agent_id AND d.question_key = q.question_key
     WHERE q.workspace_id = NEW.workspace_id AND q.agent_id IN (NEW.agent_id, '') AND q.last_asked_at < NEW.requested_at - 366 * 86400000);
  DELETE FROM unanswered_questions
   WHERE workspace_id = NEW.workspace_id AND agent_id IN (NEW.agent_id, '') AND last_asked_at < NEW.requested_at - 366 * 86400000;
  INSERT INTO unanswered_questions (workspace_id, agent_id, question_key, question, last_asked_at)
    SELECT NEW.workspace_id, value, NEW.question_key, NEW.question_key, NEW.requested_at
      FROM json_each(json_array(NEW.agent_id, '')) WHERE true
    ON CONFLICT DO NOTHING;
  INSERT INTO unanswered_question_days (workspace_id, agent_id, question_key, day, asked_until)
    SELECT NEW.workspace_id, value, NEW.question_key, NEW.requested_at / 86400000, coalesce((SELECT d.asked_until FROM unanswered_question_days d
        WHERE d.workspace_id = NEW.workspace_id AND d.agent_id = value AND d.question_key = NEW.question_key
          AND d.day < NEW.requested_at / 86400000 ORDER BY d.day DESC LIMIT 1), 0)
      FROM json_each(json_array(NEW.agent_id, '')) WHERE true
    ON CONFLICT DO NOTHING;
  UPDATE unanswered_question_days SET asked_until = asked_until + 1
   WHERE workspace_id = NEW.workspace_id AND agent_id IN (NEW.agent_id, '') AND question_key = NEW.question_key
     AND day >= NEW.requested_at / 86400000;
  DELETE FROM unanswered_question_days
   WHERE workspace_id = NEW.workspace_id AND agent_id IN (NEW.agent_id, '') AND question_key = NEW.question_key
     AND day < NEW.requested_at / 86400000 - 366
     AND day < (SELECT max(d.day) FROM unanswered_question_days d WHERE d.workspace_id = NEW.workspace_id
       AND d.agent_id = unanswered_question_days.agent_id AND d.question_key = NEW.question_key
       AND d.day <= NEW.requested_at / 86400000 - 366);
  UPDATE unanswered_questions
     SET question = coalesce(NEW.summary, NEW.question_key), last_asked_at = max(last_asked_at, NEW.requested_at)
   WHERE workspace_id = NEW.workspace_id AND agent_id IN (NEW.agent_id, '') AND question_key = NEW.question_key;
  UPDATE unanswered_questions
     SET asked = coalesce((SELECT d.asked_until FROM unanswered_question_days d WHERE d.workspace_id = unanswered_questions.workspace_id
           AND d.agent_id = unanswered_questions.agent_id AND d.question_key = unanswered_questions.question_key
           ORDER BY d.day DESC LIMIT 1), 0)
       - coalesce((SELECT d.asked_until FROM unanswered_question_days d WHERE d.workspace_id = unanswered_questions.workspace_id
           AND d.agent_id = unanswered_questions.agent_id AND d.question_key = unanswered_questions.question_key
           AND d.day <= unanswered_questions.last_asked_at / 86400000 - 366 ORDER BY d.day DESC LIMIT 1), 0)
   WHERE workspace_id = NEW.workspace_id AND agent_id IN (NEW.agent_id, '') AND question_key = NEW.question_key;
END;
--> statement-breakpoint
-- Who is erased takes along what they asked: the question itself, or, where others asked it too, its wording.
CREATE TRIGGER unanswered_questions_erased AFTER DELETE ON handoffs WHEN OLD.question_key IS NOT NULL BEGIN
  UPDATE unanswered_questions SET question = question_key
   WHERE workspace_id = OLD.workspace_id AND agent_id IN (OLD.agent_id, '') AND question_key = OLD.question_key;
  -- A day that is no longer kept took its questions along.
  UPDATE unanswered_question_days SET asked_until = asked_until - 1
   WHERE workspace_id = OLD.workspace_id AND agent_id IN (OLD.agent_id, '') AND question_key = OLD.question_key
     AND day >= OLD.requested_at / 86400000
     AND EXISTS (SELECT 1 FROM unanswered_question_days d WHERE d.workspace_id = OLD.workspace_id AND d.agent_id = OLD.agent_id
       AND d.question_key = OLD.question_key AND d.day = OLD.requested_at / 86400000);
  UPDATE unanswered_questions
     SET asked = coalesce((SELECT d.asked_until FROM unanswered_question_days d WHERE d.workspace_id = unanswered_questions.workspace_id
           AND d.agent_id = unanswered_questions.agent_id AND d.question_key = unanswered_questions.question_key
           ORDER BY d.day DESC LIMIT 1), 0)
       - coalesce((SELECT d.asked_until FROM unanswered_question_days d WHERE d.workspace_id = unanswered_questions.workspace_id
           AND d.agent_id = unanswered_questions.agent_id AND d.question_key = unanswered_questions.question_key
           AND d.day <= unanswered_questions.last_asked_at / 86400000 - 366 ORDER BY d.day DESC LIMIT 1), 0)
   WHERE workspace_id = OLD.workspace_id AND agent_id IN (OLD.agent_id, '') AND question_key = OLD.question_key;
  DELETE FROM unanswered_question_days
   WHERE rowid IN (SELECT d.rowid FROM unanswered_questions q CROSS JOIN unanswered_question_days d
      ON d.workspace_id = q.workspace_id AND d.agent_id = q.agent_id AND d.question_key = q.question_key
     WHERE q.workspace_id = OLD.workspace_id AND q.agent_id IN (OLD.agent_id, '') AND q.question_key = OLD.question_key AND q.asked <= 0);
  DELETE FROM unanswered_questions
   WHERE workspace_id = OLD.workspace_id AND agent_id IN (OLD.agent_id, '') AND question_key = OLD.question_key AND asked <= 0;
END;
--> statement-breakpoint
-- Pages without a status merge the ranges of all statuses: see conversations/list-store.ts.
DROP INDEX `conversations_by_activity`;
--> statement-breakpoint
DROP INDEX `conversations_by_agent`;
--> statement-breakpoint
DROP INDEX `conversations_by_channel`;
--> statement-breakpoint
DROP INDEX `conversations_by_agent_channel`;
