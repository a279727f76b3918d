CREATE TABLE `feedback_days` (
	`workspace_id` text NOT NULL,
	`day` integer NOT NULL,
	`agent_id` text NOT NULL,
	`up` integer DEFAULT 0 NOT NULL,
	`down` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`workspace_id`, `day`, `agent_id`)
);
--> statement-breakpoint
CREATE INDEX `message_feedback_rated` ON `message_feedback` (`workspace_id`,`rating`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `message_feedback_agent` ON `message_feedback` (`workspace_id`,`agent_id`,`rating`,`created_at`,`id`);--> statement-breakpoint
INSERT INTO feedback_days (workspace_id, day, agent_id, up, down)
  SELECT workspace_id, created_at / 86400000 AS of_day, agent_id, sum(rating = 'up'), sum(rating = 'down')
    FROM message_feedback GROUP BY workspace_id, of_day, agent_id;
--> statement-breakpoint
CREATE TRIGGER feedback_days_counted AFTER INSERT ON message_feedback BEGIN
  INSERT INTO feedback_days (workspace_id, day, agent_id, up, down)
    VALUES (NEW.workspace_id, NEW.created_at / 86400000, NEW.agent_id, NEW.rating = 'up', NEW.rating = 'down')
    ON CONFLICT DO UPDATE SET up = up + excluded.up, down = down + excluded.down;
END;
--> statement-breakpoint
CREATE TRIGGER feedback_days_recounted AFTER UPDATE OF rating ON message_feedback WHEN NEW.rating <> OLD.rating BEGIN
  UPDATE feedback_days
     SET up = up + (NEW.rating = 'up') - (OLD.rating = 'up'), down = down + (NEW.rating = 'down') - (OLD.rating = 'down')
   WHERE workspace_id = NEW.workspace_id AND day = NEW.created_at / 86400000 AND agent_id = NEW.agent_id;
END;
--> statement-breakpoint
CREATE TRIGGER feedback_days_uncounted AFTER DELETE ON message_feedback BEGIN
  UPDATE feedback_days SET up = up - (OLD.rating = 'up'), down = down - (OLD.rating = 'down')
   WHERE workspace_id = OLD.workspace_id AND day = OLD.created_at / 86400000 AND agent_id = OLD.agent_id;
END;
